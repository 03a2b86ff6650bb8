"""Routes of our own in the server: what its SDK has no call for, asked of its own adapter."""

from dataclasses import asdict

from langgraph_api._checkpointer import get_checkpointer, get_checkpointer_capabilities
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def capabilities(request: Request) -> JSONResponse:
    found = get_checkpointer_capabilities()
    return JSONResponse(asdict(found) if found else {})


async def prune(request: Request) -> JSONResponse:
    """What the server's other runtimes do for `keep_latest`; the in-memory one refuses it."""
    asked = await request.json()
    checkpointer = await get_checkpointer()
    await checkpointer.aprune(asked["thread_ids"], strategy=asked["strategy"])
    return JSONResponse({})


app = Starlette(
    routes=[
        Route("/wyrd/capabilities", capabilities),
        Route("/wyrd/prune", prune, methods=["POST"]),
    ]
)
