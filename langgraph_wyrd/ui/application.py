"""The Starlette app: its routes, and how an operation is run."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from langgraph_wyrd import errors
from langgraph_wyrd.errors import InvalidInput, WyrdError
from langgraph_wyrd.ui.api import EVENTS_LISTED, OPERATIONS, Call, Operation, checked
from langgraph_wyrd.ui.live import live
from langgraph_wyrd.ui.openapi import document
from langgraph_wyrd.ui.security import Access, Guard, Refused
from langgraph_wyrd.views.json_data import encoded

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver

logger = logging.getLogger("langgraph_wyrd")

STATIC = Path(__file__).parent / "static"
_LONGEST_BODY = 2_000_000  # bytes
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.ThreadNotFound, 404),
    (errors.ItemNotFound, 404),
    (errors.InvalidTransition, 409),
    (errors.AlreadyAnswered, 409),
    (errors.QuestionExpired, 409),
    (errors.EditConflict, 409),
    (errors.ThreadDeleted, 409),
    (errors.ConcurrentRun, 409),
    (errors.WrongUser, 403),
    (errors.ReadOnlyDatabase, 403),
    (errors.InvalidInput, 400),
    (errors.StoreError, 503),
    (errors.WyrdError, 500),
)


def make(
    saver: WyrdSaver, *, token: str | None, read_only: bool | None, hosts: Iterable[str] | None
) -> Starlette:
    """See `langgraph_wyrd.ui.app`."""
    access = Access.of(token, read_only, hosts)
    looked_at: Any = saver  # a user's saver has the same methods
    endpoints = {
        (each.method, each.path): _endpoint(each, looked_at, access) for each in OPERATIONS
    }
    listed = _endpoint(EVENTS_LISTED, looked_at, access)
    endpoints["GET", "/events"] = _events(looked_at, access, listed)
    routes = []
    for root in ("/api", ""):
        for (method, path), endpoint in endpoints.items():
            routes.append(Route(f"{root}{path}", endpoint, methods=[method]))
        by_path = _of_thread(endpoints)
        routes.append(Route(f"{root}/threads/{{rest:wyrd}}", by_path, methods=["GET", "POST"]))
    routes.append(Route("/openapi.json", _document, methods=["GET"]))
    files = {each.name: each for each in STATIC.iterdir() if each.suffix in _TYPES}
    routes += [Route(f"/{name}", _file(each), methods=["GET"]) for name, each in files.items()]
    routes.append(Route("/", _file(files["index.html"]), methods=["GET"]))
    return Starlette(routes=routes, middleware=[Middleware(Guard, access=access)])


# ---- operations

Endpoint = Callable[[Request], Awaitable[Response]]


def _endpoint(operation: Operation, saver: WyrdSaver, access: Access) -> Endpoint:
    async def run(request: Request) -> Response:
        try:
            access.check(request, changes=operation.changes, public=operation.public)
            sent = await _body(request) if operation.body else {}
            asked = request.query_params.multi_items()
            if (named := request.path_params.get("id")) is not None:
                asked.append(("id", named))
            query = checked(operation.query, asked)
            body = checked(operation.body, sent.items())
            call = Call(saver, access, request, query.pop("id", ""), query, body)
            found = await operation.run(call)
            return found if isinstance(found, Response) else await _json(found)
        except Exception as error:
            return await failed(error)

    return run


class _Anything(PathConvertor):
    """The rest of a path, line ends included: a thread's id may hold any character."""

    regex = r"[\s\S]+"


register_url_convertor("wyrd", _Anything())


def _of_thread(endpoints: Mapping[tuple[str, str], Endpoint]) -> Endpoint:
    """`/threads/ID/messages` is `/thread/messages?id=ID`, with the id URL-encoded."""

    async def run(request: Request) -> Response:
        # Only the path as it was sent distinguishes a slash of the id (%2F) from one of the path.
        decoded, rest = request.scope["path"], request.path_params["rest"]
        sent = (request.scope.get("raw_path") or quote(decoded).encode()).decode("latin-1")
        before = decoded[: len(decoded) - len(rest)]
        sent = sent.split("/", before.count("/"))[-1]
        method = "GET" if request.method == "HEAD" else request.method
        id, _, part = sent.rpartition("/")
        found = endpoints.get((method, f"/thread/{part}")) if id else None
        if found is None:
            id, found = sent, endpoints.get((method, "/thread"))
        if found is None:
            said = f"there is nothing to post to {part!r}: see /openapi.json"
            return await failed(Refused(404, "NotFound", said))
        request.path_params["id"] = unquote(id)
        return await found(request)

    return run


async def _body(request: Request) -> dict[str, Any]:
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > _LONGEST_BODY:
            raise Refused(413, "TooLarge", f"a body has at most {_LONGEST_BODY:,} bytes")
    try:
        given = json.loads(bytes(held))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InvalidInput("the body is no JSON object")
    return given


async def _json(found: Any, status: int = 200) -> Response:
    body = await run_in_threadpool(encoded, found)
    return Response(body, status, media_type="application/json")


async def failed(error: Exception) -> Response:
    """An exception as an answer."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=499)
    if isinstance(error, Refused):
        status, kind, message = error.status, error.kind, str(error)
    elif isinstance(error, WyrdError):
        status = next(code for cls, code in _STATUS if isinstance(error, cls))
        kind, message = type(error).__name__, str(error)
    else:
        logger.exception("the inspector could not answer", exc_info=error)
        status, kind, message = 500, "Failed", "something failed here: the log says what"
    answer = await _json({"error": {"kind": kind, "message": message[:2000]}}, status)
    if status == 401:
        answer.headers["www-authenticate"] = "Bearer"
    return answer


# ---- live updates


def _events(saver: WyrdSaver, access: Access, listed: Endpoint) -> Endpoint:
    """Server-sent events, or what happened as JSON to who accepts that only."""

    async def events(request: Request) -> Response:
        if request.headers.get("accept", "").startswith("application/json"):
            return await listed(request)
        try:
            access.check(request, changes=False, public=False)
            start = request.headers.get("last-event-id") or request.query_params.get("since")
            running = live(saver, start or None)
            first = await anext(running)  # what is wrong is said before the answer begins
        except Exception as error:
            return await failed(error)

        async def sent() -> AsyncIterator[bytes]:
            async with aclosing(running):
                yield first
                async for each in running:
                    yield each

        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(sent(), media_type="text/event-stream", headers=headers)

    return events


# ---- the page


async def _document(request: Request) -> Response:
    operations = [*OPERATIONS, EVENTS_LISTED]
    return await _json(document(operations, request.scope.get("root_path", "")))


_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def _file(path: Path) -> Endpoint:
    """A file of the page, read once, when the app is made."""
    content, kind = path.read_bytes(), _TYPES[path.suffix]
    tag = f'"{blake2b(content, digest_size=8).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache"}

    async def file(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return file
