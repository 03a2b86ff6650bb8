"""The web inspector: one page and a JSON API over a saver, as a Starlette app.

```python
from langgraph_wyrd import WyrdSaver, ui

saver = WyrdSaver.from_conn_string("sqlite:///agents.db")
app = ui.app(saver)  # `uvicorn module:app`, or mount it in another ASGI app
```

Needs `pip install 'langgraph-wyrd[ui]'`. Starlette and uvicorn are imported by `app` and `serve`,
not by this module.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from langgraph_wyrd.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from langgraph_wyrd.saver import WyrdSaver

__all__ = ["app", "serve"]
_LAST = 1  # seconds for open requests at the end: live updates never end by themselves
_HINT = "the web inspector needs Starlette and uvicorn: pip install 'langgraph-wyrd[ui]'"


def app(
    saver: WyrdSaver,
    *,
    token: str | None = None,
    read_only: bool | None = None,
    hosts: Iterable[str] | None = None,
) -> Starlette:
    """The inspector as an ASGI app, to run with any server or to mount in another app.

    Args:
        saver: The saver to look into. `saver.for_user("ann")` shows that user's threads only.
        token: Who asks must know it: the page asks for it once, programs send it as
            `Authorization: Bearer …`. None: whoever reaches the app may use it.
        read_only: True: nothing can be changed through the app. None: True without a token, False
            with one. Pass False if your own app checks who asks.
        hosts: The host names under which the app may be reached (`"*"`: any). None: only those of
            this machine's loopback interface; with a token, any.
    """
    try:
        from langgraph_wyrd.ui.application import make
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    return make(saver, token=token, read_only=read_only, hosts=hosts)


def serve(
    saver: WyrdSaver,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    read_only: bool | None = None,
    hosts: Iterable[str] = (),
    ready: Callable[[str], object] = print,
) -> None:
    """Run the inspector until Ctrl-C. This is what `langgraph-wyrd ui` does.

    Args:
        host: The interface to listen on.
        port: 0 takes a free one.
        token: None: a new random one; `""`: none, which only the loopback interface allows.
        read_only: None: True on any other interface than loopback.
        hosts: More host names under which the page may be reached on the loopback interface.
        ready: Called with the page's address, token included, when it can be opened.

    Raises:
        InvalidInput: Another interface than loopback without a token, or a token that is too short.
        OSError: The port is taken.
    """
    try:
        import uvicorn

        from langgraph_wyrd.ui.application import make
        from langgraph_wyrd.ui.security import LOOPBACK, is_loopback
    except ModuleNotFoundError as error:
        raise _missing(error) from error
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
    """A socket that is bound already, so that the address works once it is shown."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except socket.gaierror as error:
        raise InvalidInput(f"host={host!r} is no address of this machine: {error}") from error


def _missing(error: ModuleNotFoundError) -> Exception:
    wanted = (error.name or "").partition(".")[0]
    return MissingExtra(_HINT) if wanted in ("starlette", "uvicorn", "anyio") else error
