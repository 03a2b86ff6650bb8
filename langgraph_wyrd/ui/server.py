"""Running the inspector with uvicorn, for `langgraph-wyrd ui`."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import uvicorn

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.ui.application import make
from langgraph_wyrd.ui.security import LOOPBACK, is_loopback

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.users.scoped import UserSaver

_LAST = 1  # seconds for open requests at the end: live updates never end by themselves


def run(
    saver: WyrdSaver | UserSaver,
    host: str,
    port: int,
    token: str | None,
    read_only: bool | None,
    hosts: Iterable[str],
    ready: Callable[[str], object],
) -> None:
    """See `langgraph_wyrd.ui.serve`."""
    local = is_loopback(host)
    if token is None:
        token = secrets.token_urlsafe(24)
    elif token == "" and not local:
        raise InvalidInput(
            f"without a token everybody who reaches {host} could read all threads: give a token, "
            "or listen on 127.0.0.1"
        )
    literal = f"[{host}]" if ":" in host else host
    app = make(
        saver,
        token=token or None,
        read_only=not local if read_only is None else read_only,
        hosts=(*LOOPBACK, literal, *hosts) if local else ("*",),
    )
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", server_header=False,
            timeout_graceful_shutdown=_LAST,
        )  # fmt: skip
        shown = "127.0.0.1" if host == "0.0.0.0" else "[::1]" if host == "::" else literal
        address = f"http://{shown}:{listener.getsockname()[1]}/"
        ready(f"{address}#token={token}" if token else address)
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that is bound already: whoever is told the address can connect."""
    try:
        (family, kind, number, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as error:
        raise InvalidInput(f"host={host!r} is no address of this machine: {error}") from error
    made = socket.socket(family, kind, number)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made
