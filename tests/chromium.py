"""Drives headless Chromium over its own debugging pipe: no driver, no package next to the browser.

```python
with Chromium(folder) as browser:
    tab = browser.tab(1280, dark=True)
    tab.go("http://127.0.0.1:8765/")
    tab.wait("document.querySelector('h1')")
    tab.click("button.main")
```
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BINARY = next(filter(None, map(shutil.which, NAMES)), None)
_PATIENCE = 120.0  # seconds for anything
_KEYS: Mapping[str, tuple[str, int, str]] = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""),
    "Space": (" ", 32, " "),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
}
_SHIFT, _CONTROL = 8, 2


class Chromium:
    """A browser process of its own, with a profile of its own."""

    def __init__(self, folder: Path) -> None:
        assert BINARY is not None, "no Chromium: apt-get install chromium (.ci/run does)"
        theirs, ours = os.pipe()
        back, into = os.pipe()
        # Above 9, so that making 3 and 4 of them overwrites none of them.
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs, into)]
        command = [
            BINARY, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--no-first-run", "--remote-debugging-pipe",
            f"--user-data-dir={folder / 'profile'}", "about:blank",
        ]  # fmt: skip
        shell = f'exec "$@" 3<&{given[0]} 4>&{given[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command], pass_fds=given, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (theirs, into, *given):
            os.close(fd)
        self._out, self._in = ours, back
        self._held = b""
        self._last = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.send("Browser.close")
            self._process.wait(60)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(60)
        finally:
            os.close(self._out)
            os.close(self._in)

    def tab(self, width: int = 1280, height: int = 900, *, dark: bool = False) -> Tab:
        """A new tab without cookies or anything stored."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        opened = {"url": "about:blank", "browserContextId": context}
        target = self.send("Target.createTarget", opened)["targetId"]
        attached = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        return Tab(self, attached["sessionId"], context, width, height, dark)

    def send(self, method: str, params: Any = None, session: str | None = None) -> Any:
        """Send a command, and wait for what it gives."""
        self._last += 1
        number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + _PATIENCE
        while True:
            found = self.read(end - time.monotonic())
            assert found is not None, f"{method} was not answered"
            if found.get("id") == number:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]
            self._events.append(found)

    def read(self, seconds: float) -> dict[str, Any] | None:
        """The next message, if there is one in time."""
        end = time.monotonic() + seconds
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._in, 1 << 20)
            assert data, "Chromium has ended"
            self._held += data
        one, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(one)
        return found

    def events(self, session: str) -> list[dict[str, Any]]:
        """What was told of a tab since it was last asked."""
        while (found := self.read(0.0)) is not None:
            self._events.append(found)
        mine = [each for each in self._events if each.get("sessionId") == session]
        self._events = [each for each in self._events if each.get("sessionId") != session]
        return mine


class Tab:
    """A page, as a person has it: what is clicked and typed are real input events."""

    def __init__(
        self, browser: Chromium, session: str, context: str, width: int, height: int, dark: bool
    ) -> None:
        self._browser, self._session, self._context = browser, session, context
        self.problems: list[str] = []  # errors in the console, and what the policy refused
        self.asked: list[str] = []  # every address that was requested
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.size(width, height)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", {"features": [theme]})
        self.send("Emulation.setFocusEmulationEnabled", {"enabled": True})

    def send(self, method: str, params: Any = None) -> Any:
        return self._browser.send(method, params, self._session)

    def close(self) -> None:
        self.look()
        self._browser.send("Target.disposeBrowserContext", {"browserContextId": self._context})

    def size(self, width: int, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", size)

    def go(self, url: str) -> None:
        self.send("Page.navigate", {"url": url})

    def look(self) -> None:
        """Note what went wrong in the page."""
        for each in self._browser.events(self._session):
            params = each["params"]
            if each["method"] == "Runtime.exceptionThrown":
                said = params["exceptionDetails"]
                self.problems.append(str(said.get("exception", said).get("description", said)))
            elif each["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
                self.problems.append(str([a.get("value", a) for a in params["args"]]))
            elif each["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                entry = params["entry"]
                self.problems.append(f"{entry['text']} {entry.get('url', '')}")
            elif each["method"] == "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])

    def js(self, code: str) -> Any:
        """What an expression gives; a promise is awaited."""
        asked = {"expression": code, "awaitPromise": True, "returnByValue": True}
        found = self.send("Runtime.evaluate", asked)
        assert "exceptionDetails" not in found, f"{code[:200]}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def wait(self, code: str, seconds: float = _PATIENCE) -> Any:
        """Wait until an expression is true; what it gives."""
        end = time.monotonic() + seconds
        tried = (
            f"(() => {{ try {{ const found = {code}; return found instanceof Node || found }} "
            "catch { return null } })()"
        )
        while True:
            if found := self.js(tried):
                return found
            if time.monotonic() > end:
                self.look()
                text = self.js("document.body.innerText.slice(0, 1500)")
                raise AssertionError(f"never true: {code}\n{self.problems}\n{text}")
            time.sleep(0.02)

    def says(self, text: str) -> None:
        """Wait until the page shows this text."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})")

    def element(self, selector: str, text: str | None = None) -> str:
        """Code for the first visible element, with this text in it if one is given."""
        wanted = json.dumps(text) if text is not None else "null"
        return (
            f"[...document.querySelectorAll({json.dumps(selector)})].find(e => "
            f"e.checkVisibility() && ({wanted} === null || e.innerText.includes({wanted})))"
        )

    def click(self, selector: str, text: str | None = None) -> None:
        """Click the middle of an element, as a mouse does."""
        found = self.element(selector, text)
        place = self.wait(
            f"(e => {{ if (!e) return null; e.scrollIntoView({{block: 'center'}}); "
            "const b = e.getBoundingClientRect(); const x = b.x + b.width / 2, "
            "y = b.y + b.height / 2; const hit = document.elementFromPoint(x, y); "
            f"return e === hit || e.contains(hit) || hit?.contains(e) ? [x, y] : null }})({found})"
        )
        at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", {"type": kind, **at})

    def focus(self, selector: str, text: str | None = None) -> None:
        self.wait(f"(e => {{ e.focus(); return true }})({self.element(selector, text)})")

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", {"text": text})

    def key(self, name: str, *, shift: bool = False, control: bool = False) -> None:
        """Press a key, and let it go."""
        key, code, text = _KEYS.get(name, (name, ord(name.upper()[0]), name))
        held = (_SHIFT if shift else 0) | (_CONTROL if control else 0)
        common = {"key": key, "code": name, "windowsVirtualKeyCode": code, "modifiers": held}
        down = {"type": "keyDown" if text else "rawKeyDown", **common}
        if text and not control:
            down["text"] = text
        self.send("Input.dispatchKeyEvent", down)
        self.send("Input.dispatchKeyEvent", {"type": "keyUp", **common})

    def shot(self, file: Path) -> None:
        """A picture of what is seen."""
        made = self.send("Page.captureScreenshot", {"format": "png"})
        file.write_bytes(base64.b64decode(made["data"]))
