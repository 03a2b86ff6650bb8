"""Who may ask, from where, and what a browser may do with the answers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response

from langgraph_wyrd.errors import InvalidInput

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
TESTS = ("testserver", "test")  # what test clients call an app; no site is reached by these names
# What every POST must carry: a body of JSON, or a header. No page of another site can send either
# without asking first (CORS), and no such question is ever answered with a yes.
HEADER = "x-wyrd"
JSON = "application/json"
SHORTEST = 16  # characters of a token
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Refused(Exception):
    """A request that is not answered: `status` is the HTTP code."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


@dataclass(frozen=True)
class Access:
    """What the app allows."""

    token: str | None
    read_only: bool
    hosts: frozenset[str] | None  # None: any

    @classmethod
    def of(cls, token: str | None, read_only: bool | None, hosts: Iterable[str] | None) -> Access:
        """From what `ui.app` was given."""
        if token is not None and len(token) < SHORTEST:
            raise InvalidInput(f"the token has {len(token)} characters; use {SHORTEST} or more")
        if isinstance(hosts, str):
            hosts = (hosts,)
        if hosts is None:
            hosts = (*LOOPBACK, *TESTS) if token is None else ("*",)
        names = frozenset(each.lower() for each in hosts)
        allowed = None if "*" in names else names
        return cls(token, (token is None) if read_only is None else read_only, allowed)

    # ---- the token

    @cached_property
    def cookie(self) -> str:
        """The cookie's name: two inspectors on one host, which share cookies, have two."""
        return f"wyrd_ui_{hashlib.sha256((self.token or '').encode()).hexdigest()[:8]}"

    @cached_property
    def session(self) -> str:
        """The cookie's value: it is made of the token, and does not give it away."""
        return hmac.new((self.token or "").encode(), b"wyrd ui session", "sha256").hexdigest()

    def knows(self, given: str) -> bool:
        """Whether this is the token; takes the same time whatever was given."""
        wanted = (self.token or "").encode()
        return self.token is None or hmac.compare_digest(
            hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest(),
            hashlib.sha256(wanted).digest(),
        )

    def is_known(self, request: Request) -> bool:
        """Whether the request brings the token, or the cookie that was given for it."""
        if self.token is None:
            return True
        scheme, _, said = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.knows(said.strip())
        held = request.cookies.get(self.cookie, "")
        return hmac.compare_digest(held.encode("utf-8", "surrogatepass"), self.session.encode())

    def log_in(self, request: Request, token: str) -> Response:
        """The cookie for a token."""
        if not self.knows(token):
            raise Refused(401, "WrongToken", "this is not the token")
        answer = JSONResponse({"known": True})
        answer.set_cookie(
            self.cookie,
            self.session,
            path=quote(request.scope.get("root_path", "")) or "/",
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    # ---- what is refused

    def check(self, request: Request, *, changes: bool, public: bool) -> None:
        """Raise `Refused` for a request that may not do this."""
        # Where a browser says that another site's page asks, that is the end of it.
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Refused(403, "CrossSite", "this request comes from another site's page")
        if request.method not in ("GET", "HEAD") and HEADER not in request.headers:
            sent = request.headers.get("content-type", "").partition(";")[0]
            if sent.strip().lower() != JSON:
                said = f"send the body as {JSON}, or the header {HEADER!r} (any value)"
                raise Refused(403, "HeaderMissing", said)
        if not public and not self.is_known(request):
            raise Refused(
                401, "TokenMissing", "send the token: `Authorization: Bearer …`, or log in"
            )
        if changes and self.read_only:
            said = "this inspector is read-only: see `read_only` of ui.app, or --write"
            raise Refused(403, "ReadOnly", said)


class Guard:
    """The outermost layer: checks the host name, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        hosts = Headers(scope=scope).getlist("host")
        if self._access.hosts is not None and (
            len(hosts) != 1 or host_name(hosts[0]) not in self._access.hosts
        ):
            said = "this host name is not one of the inspector's: see `hosts` in docs/ui.md\n"
            await PlainTextResponse(said, 421)(scope, receive, sealed)
            return
        await self._app(scope, receive, sealed)


def host_name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches this interface."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
