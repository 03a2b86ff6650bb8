"""The Starlette app: its routes, and how an operation is run."""

from __future__ import annotations

import json
import logging
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route

from langgraph_wyrd import errors
from langgraph_wyrd.errors import InvalidInput, WyrdError
from langgraph_wyrd.ui import changing, feed, openapi, reading
from langgraph_wyrd.ui.data import encoded
from langgraph_wyrd.ui.operations import BY_QUERY, ONE, Call, Operation, body_of, query_of
from langgraph_wyrd.ui.security import Access, Guard, Refused

if TYPE_CHECKING:
    from starlette.types import Scope

    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.users.scoped import UserSaver

logger = logging.getLogger("langgraph_wyrd")

OPERATIONS = (*reading.OPERATIONS, *changing.OPERATIONS)
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
    saver: WyrdSaver | UserSaver,
    *,
    token: str | None,
    read_only: bool | None,
    hosts: Iterable[str] | None,
) -> Starlette:
    """See `langgraph_wyrd.ui.app`."""
    access = Access.of(token, read_only, hosts)
    looked_at: Any = saver  # a user's saver has the same methods
    routes: list[Route] = []
    for each in OPERATIONS:
        run = _endpoint(each, looked_at, access)
        routes.append(Raw(f"/api{each.path}", run, methods=[each.method]))
        if each.of_thread:  # an id that no path can carry, as `..`, is given as a parameter
            path = f"/api{BY_QUERY}{each.path.removeprefix(ONE)}"
            named = _endpoint(each, looked_at, access, by_query=True)
            routes.append(Route(path, named, methods=[each.method]))
    routes.append(Route("/api/events", _events(looked_at, access), methods=["GET"]))
    routes.append(Route("/openapi.json", _document, methods=["GET"]))
    routes += [Route(f"/{name}", _file(name), methods=["GET"]) for name in files()]
    routes.append(Route("/", _file("index.html"), methods=["GET"]))
    return Starlette(routes=routes, middleware=[Middleware(Guard, access=access)])


# ---- operations


class Raw(Route):
    """A route that is matched before percent signs are decoded: an id may hold slashes."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        wanted, given = self.path.split("/"), _segments(scope)
        if scope["type"] != "http" or len(wanted) != len(given):
            return Match.NONE, {}
        found: dict[str, str] = {}
        for pattern, segment in zip(wanted, given, strict=True):
            if pattern.startswith("{"):
                found[pattern.strip("{}")] = segment
            elif pattern != segment:
                return Match.NONE, {}
        child = {"endpoint": self.endpoint, "path_params": found}
        methods = self.methods or ()
        return (Match.FULL if scope["method"] in methods else Match.PARTIAL), child


def _segments(scope: Scope) -> list[str]:
    """The path behind the place where the app is mounted, in decoded parts."""
    raw: bytes | None = scope.get("raw_path")
    path, root = scope["path"], scope.get("root_path", "")
    if raw is None:  # a server that does not give it: ids with slashes need ?id=
        return str(path.removeprefix(root)).split("/")
    parts = raw.partition(b"?")[0].decode("latin-1").split("/")
    for start in range(len(parts)):
        if unquote("/".join(parts[: start + 1])) == root:
            parts = ["", *parts[start + 1 :]]
            break
    return [unquote(each) for each in parts]


def _endpoint(
    operation: Operation, saver: WyrdSaver, access: Access, *, by_query: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    def id_of(request: Request) -> str:
        if not operation.of_thread:
            return ""
        if not by_query:
            return str(request.path_params["id"])
        if not (found := request.query_params.get("id")):
            raise InvalidInput("'id' is missing: the thread's id")
        return found

    async def run(request: Request) -> Response:
        try:
            access.check(request, changes=operation.changes, public=operation.public)
            body = await _body(operation, request) if operation.body else {}
            if operation.name == "login":
                return _log_in(access, request, body["token"])
            query = query_of(operation, request, with_id=by_query)
            call = Call(saver, access, request, id_of(request), query, body)
            found = await operation.run(call)
            return found if isinstance(found, Response) else await _json(found)
        except Exception as error:
            return await failed(error)

    return run


async def _body(operation: Operation, request: Request) -> dict[str, Any]:
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > _LONGEST_BODY:
            raise Refused(413, "TooLarge", f"a body has at most {_LONGEST_BODY:,} bytes")
    try:
        given = json.loads(bytes(held))
    except (ValueError, RecursionError):
        raise InvalidInput("the body is no JSON") from None
    return body_of(operation, given)


def _log_in(access: Access, request: Request, token: str) -> Response:
    if not access.knows(token):
        raise Refused(401, "WrongToken", "this is not the token")
    answer = Response(b'{"known":true}', media_type="application/json")
    answer.set_cookie(
        access.cookie,
        access.session,
        path=quote(request.scope.get("root_path", "")) or "/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


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


def _events(saver: WyrdSaver, access: Access) -> Callable[[Request], Awaitable[Response]]:
    async def events(request: Request) -> Response:
        try:
            access.check(request, changes=False, public=False)
            start = request.headers.get("last-event-id") or request.query_params.get("since")
            running = feed.stream(saver, start or None)
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
    return await _json(openapi.document(OPERATIONS, request.scope.get("root_path", "")))


@cache
def files() -> Sequence[str]:
    """The page's files; all are read once, when the app is made."""
    return sorted(each.name for each in STATIC.iterdir() if each.suffix in _TYPES)


_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": mimetypes.types_map.get(".svg", "image/svg+xml"),
}


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    content, kind = (STATIC / name).read_bytes(), _TYPES[Path(name).suffix]
    tag = f'"{blake2b(content, digest_size=8).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache"}

    async def file(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return file
