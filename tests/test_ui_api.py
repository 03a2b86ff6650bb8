"""The web inspector's JSON API, on SQLite and Postgres."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from langgraph_wyrd import WyrdSaver, ui
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.thread import Thread
from langgraph_wyrd.ui import api as operations
from langgraph_wyrd.ui import application, live
from langgraph_wyrd.ui.api import OPERATIONS, Operation
from langgraph_wyrd.ui.security import host_name, is_loopback
from langgraph_wyrd.views.json_data import Plain, encoded
from tests import inspected
from tests.conftest import DURABLE, Backend, fresh_postgres, url_database
from tests.outside import SERVING, not_ignored, python

ROOT = Path(__file__).parent.parent
LOCAL = "http://127.0.0.1"
TOKEN = "a token of some length"
MINE = {"x-wyrd": "test"}
MAKES_MARKUP = (
    "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "new Function", "srcdoc",
)  # fmt: skip
ODD_IDS = (
    "a/b", "a/b/messages", "/", "//", ".", "..", "a%2Fb", "100%", "größe 日本", "a?b#c&d=e", "a\nb",
    "a\\b", "~", "🧵\u202e", "%00",
)  # fmt: skip


def client(saver: Any, **options: Any) -> TestClient:
    options = {"read_only": False, **options}
    return TestClient(ui.app(saver, **options), base_url=LOCAL, headers=MINE)


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: str, postgres_template: str
) -> Iterator[dict[str, str]]:
    """Databases with threads, which each test gets a copy of."""
    file = tmp_path_factory.mktemp("filled") / "wyrd.db"
    inspected.filled(f"sqlite:///{file}")
    with fresh_postgres(postgres_server, postgres_template) as url:
        inspected.filled(url)
        yield {"sqlite": str(file), "postgres": url_database(url)}


@pytest.fixture(params=DURABLE)
def saver(
    request: pytest.FixtureRequest, filled: dict[str, str], postgres_server: str, tmp_path: Path
) -> Iterator[WyrdSaver]:
    if request.param == "sqlite":
        shutil.copy(filled["sqlite"], tmp_path / "wyrd.db")
        with WyrdSaver.from_conn_string(tmp_path / "wyrd.db", synchronous="OFF") as made:
            yield made
        return
    with (
        fresh_postgres(postgres_server, filled["postgres"]) as url,
        WyrdSaver.from_conn_string(url) as made,
    ):
        yield made


@pytest.fixture
def api(saver: WyrdSaver) -> TestClient:
    return client(saver)


def of(thread_id: str, rest: str = "", **asked: Any) -> str:
    return f"/api/thread{rest}?{urlencode({'id': thread_id, **asked})}"


def every(thread_id: str, operation: Operation) -> str:
    """The address of any operation, on a thread where it is of one."""
    return (
        f"/api{operation.path}?{urlencode({'id': thread_id} if 'id' in names(operation) else {})}"
    )


def names(operation: Operation) -> list[str]:
    return [each.name for each in operation.query]


def got(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def kind(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["kind"])


# ---- reading


def test_threads(api: TestClient) -> None:
    """Threads come newest first, by page, with the saver's own filters."""
    found = got(api.get("/api/threads"))
    names = [each["thread_id"] for each in found["threads"]]
    assert names[0] == "refund-4821"
    assert set(names) == {*inspected.SCRIPTS, inspected.OFFICE}
    first = got(api.get("/api/threads", params={"limit": 2}))
    second = got(api.get("/api/threads", params={"limit": 9, "after": first["next"]}))
    assert [each["thread_id"] for each in first["threads"] + second["threads"]] == names
    asked = {"status": ["error", "interrupted"], "text": "NIGHTS"}
    (trip,) = got(api.get("/api/threads", params=asked))["threads"]
    assert (trip["thread_id"], trip["user_id"], trip["status"]) == (
        "trip/paris", "ben", "interrupted",
    )  # fmt: skip
    assert got(api.get("/api/threads", params={"user_id": "nobody"}))["threads"] == []


def test_messages_in_one_call(api: TestClient, saver: WyrdSaver) -> None:
    """All messages of a thread come in one call; a page of them by index, shortened if asked."""
    found = got(api.get(of("trip/paris", "/messages")))
    assert found["total"] == len(found["messages"]) == 6
    roles = [each["role"] for each in found["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert found["messages"] == saver.thread("trip/paris").messages(as_dicts=True)
    page = got(api.get(of("trip/paris", "/messages", limit=2, before=5)))
    assert (page["start"], page["messages"]) == (3, found["messages"][3:5])
    cut = got(api.get(of("trip/paris", "/messages", cut=20)))["messages"]
    assert cut[1]["content"].startswith("Two nights in Paris … (") or cut[1]["cut"]
    assert "cut" not in found["messages"][1]
    past = got(api.get(of("trip/paris", "/messages", at="offers")))
    assert past["messages"] == found["messages"]


def test_a_point_of_the_past(api: TestClient, saver: WyrdSaver) -> None:
    """State, history and differences are those of the thread's handle."""
    thread = saver.thread("trip/paris")
    entries = got(api.get(of("trip/paris", "/history", limit=4)))["entries"]
    assert [each["checkpoint_id"] for each in entries] == [
        each.checkpoint_id for each in thread.history(limit=4)
    ]
    older = got(api.get(of("trip/paris", "/history", before=entries[-1]["checkpoint_id"])))
    assert len(older["entries"]) == len(thread.history()) - 4
    point = entries[-1]["checkpoint_id"]
    state = got(api.get(of("trip/paris", "/state", at=point)))
    assert state["state"] == thread.working_state(point).to_dict()
    made = got(api.get(of("trip/paris", "/diff", a=point)))
    expected = thread.diff(point)
    assert made["summary"] == expected.summary()
    assert made["state_lines"] + made["value_lines"] == expected.lines()
    whole = got(api.get(of("trip/paris")))
    assert whole["state"] == thread.working_state().to_dict()
    assert [each["name"] for each in whole["labels"]] == ["offers"]
    assert whole["heals"] == []


def test_open_loops(api: TestClient) -> None:
    """What is open, across threads, filtered."""
    found = got(api.get("/api/loops", params={"kind": "error"}))["loops"]
    assert [each["thread_id"] for each in found] == ["deploy/api#42"]


@pytest.mark.parametrize("name", ODD_IDS, ids=ascii)
def test_any_id_works(sqlite: Backend, name: str) -> None:
    """A thread's id may hold anything."""
    saver = sqlite.open()
    inspected.graph(saver, inspected.SCRIPTS["chat-0193"][1]).invoke(
        {"messages": [("human", "hello")]}, {"configurable": {"thread_id": name}}
    )
    api = client(saver)
    assert [each["thread_id"] for each in got(api.get("/api/threads"))["threads"]] == [name]
    encoded = quote(name, safe="").replace(".", "%2E")
    for part in ("", "/messages", "/events", "/history", "/state"):
        assert got(api.get(of(name, part)))["thread_id"] == name
        for root in ("/api", ""):
            assert got(api.get(f"{root}/threads/{encoded}{part}"))["thread_id"] == name
    made = got(api.post(of(name, "/fork"), json={"new_thread_id": f"{name}+"}))
    assert made == {"thread_id": f"{name}+"}
    assert got(api.get(of(name, "/export")))["thread_id"] == name


def test_mounted_somewhere(sqlite: Backend) -> None:
    """Mounted below a path of another app, all of it works."""
    saver = sqlite.open()
    inspected.run(saver, "trip/paris")
    app = Starlette(routes=[Mount("/a b/look", ui.app(saver, read_only=False))])
    api = TestClient(app, base_url=LOCAL, headers=MINE)
    assert got(api.get(f"/a%20b/look{of('trip/paris')}"))["thread_id"] == "trip/paris"
    assert "main.js" in api.get("/a%20b/look/").text
    assert "import" in api.get("/a%20b/look/main.js").text
    assert got(api.get("/a%20b/look/threads/trip%2Fparis/messages"))["thread_id"] == "trip/paris"
    label = {"name": "here"}
    assert got(api.post(f"/a%20b/look{of('trip/paris', '/label')}", json=label))["name"] == "here"


def test_one_users_threads(saver: WyrdSaver) -> None:
    """With a user's saver, other users' threads are not there."""
    api = client(saver.for_user("ben"))
    assert [each["thread_id"] for each in got(api.get("/api/threads"))["threads"]] == ["trip/paris"]
    assert got(api.get(of("trip/paris", "/messages")))["total"] == 6
    assert api.get(of("refund-4821")).status_code == 404
    assert api.get(of("refund-4821", "/messages")).status_code == 404
    assert api.post(of("refund-4821", "/label"), json={"name": "x"}).status_code == 404


def test_a_file(api: TestClient, saver: WyrdSaver, tmp_path: Path) -> None:
    """The exported file can be imported elsewhere, and nothing of it is left behind here."""
    answer = api.get(of("trip/paris", "/export", payloads="true"))
    assert "attachment" in answer.headers["content-disposition"]
    file = tmp_path / "thread.json"
    file.write_bytes(answer.content)
    with WyrdSaver.from_conn_string("sqlite://") as other:
        other.import_thread(file)
        assert other.thread("trip/paris").working_state().title is not None


# ---- changing


def test_answers(api: TestClient, saver: WyrdSaver) -> None:
    """The inbox lists what waits; an answer that was posted is what the next run goes on with."""
    entries = got(api.get("/api/inbox"))["entries"]
    waits = {each["thread_id"]: each for each in entries if each["kind"] != "question"}
    assert set(waits) == {"refund-4821", "trip/paris", inspected.OFFICE}
    office = waits[inspected.OFFICE]
    assert [each["name"] for each in office["actions"]] == ["send_mail", "delete_file"]
    asked = {"user": "eve", "kind": "approval", "older_than": 0}
    assert got(api.get("/api/inbox", params=asked))["entries"] == [office]
    body = {"value": "yes, by bank transfer", "by": "eve"}
    stored = got(api.post(of("refund-4821", "/answer"), json=body))["answers"]
    assert list(stored.values()) == ["yes, by bank transfer"]
    again = api.post(of("refund-4821", "/answer"), json={"value": "no"})
    assert (again.status_code, kind(again)) == (409, "AlreadyAnswered")
    wrong = {"value": "respond", "loop": office["loop_id"]}
    refused = api.post(of(inspected.OFFICE, "/answer"), json=wrong)
    assert (refused.status_code, kind(refused)) == (400, "AnswerNotAllowed")
    decisions = {"value": ["approve", {"type": "reject", "message": "keep it"}]}
    got(api.post(of(inspected.OFFICE, "/answer"), json=decisions))
    refund = inspected.graph(saver, inspected.SCRIPTS["refund-4821"][1])
    found = refund.invoke(None, inspected.config("refund-4821"))["messages"]
    assert found[-2].text == "yes, by bank transfer"
    config: Any = {"configurable": {"thread_id": inspected.OFFICE, "user_id": "eve"}}
    said = [each.text for each in inspected.office(saver).invoke(None, config)["messages"]]
    assert any(each.startswith("sent to ada@example.org") for each in said)
    assert any("keep it" in each for each in said)
    assert got(api.post(of("trip/paris", "/assign"), json={"to": "ben"})) == {
        "thread_id": "trip/paris"
    }
    (mine,) = got(api.get("/api/inbox", params={"assigned_to": "ben"}))["entries"]
    assert mine["thread_id"] == "trip/paris"
    missing = api.post(of("chat-0193", "/answer"), json={"value": 1})
    assert (missing.status_code, kind(missing)) == (404, "ItemNotFound")
    assert api.post(of("chat-0193", "/answer"), json={}).status_code == 400


def test_changes(api: TestClient, saver: WyrdSaver) -> None:
    """Each verb does what the handle's verb does."""
    thread = saver.thread("trip/paris")
    state = thread.working_state()
    todo = state.open_todos[0]
    decision = next(each for each in state.open_loops if each.kind == "decision")
    asked = {"todo": todo.id, "by": "ann"}
    assert got(api.post(of("trip/paris", "/complete"), json=asked))["todo"]["status"] == "completed"
    again = api.post(of("trip/paris", "/complete"), json=asked)
    assert (again.status_code, kind(again)) == (409, "InvalidTransition")
    got(api.post(of("trip/paris", "/reopen"), json={"todo": todo.id}))
    assert todo.id in [each.id for each in thread.working_state().open_todos]
    asked = {"loop": decision.id, "outcome": "took the plane"}
    got(api.post(of("trip/paris", "/resolve"), json=asked))
    closed = {each.id: each.outcome for each in thread.working_state().closed_loops}
    assert closed[decision.id] == "took the plane"
    got(api.post(of("trip/paris", "/label"), json={"name": "end"}))
    assert got(api.post(of("trip/paris", "/unlabel"), json={"name": "end"}))["removed"] is True
    made = got(api.post(of("trip/paris", "/fork"), json={"new_thread_id": "t/2", "at": "offers"}))
    assert made["thread_id"] == "t/2"
    assert saver.thread("t/2").working_state().title == state.title
    moved = got(api.post(of("trip/paris", "/rewind"), json={"to": "offers"}))
    assert thread.working_state().checkpoint_id == moved["checkpoint_id"]


def test_a_thread_by_its_path(api: TestClient, saver: WyrdSaver) -> None:
    """`/threads/ID` and what is below it are the same as `/thread?id=`, with or without `/api`."""
    for root in ("/api", ""):
        assert got(api.get(f"{root}/threads")) == got(api.get("/api/threads"))
        for part in ("", "/messages", "/events", "/history", "/state"):
            found = got(api.get(f"{root}/threads/trip%2Fparis{part}"))
            assert found == got(api.get(of("trip/paris", part)))
    assert api.head("/threads/trip%2Fparis").status_code == 200
    (entry,) = saver.inbox(thread_id="trip/paris")
    answer = {"value": "yes", "loop": entry.loop_id, "by": "ann"}
    assert got(api.post("/threads/trip%2Fparis/answer", json=answer))["answers"]
    again = api.post("/threads/trip%2Fparis/answer", json=answer)
    assert (again.status_code, kind(again)) == (409, "AlreadyAnswered")
    assert kind(api.get("/threads/nobody/messages")) == "ThreadNotFound"
    assert kind(api.post("/threads/trip%2Fparis/nothing")) == "NotFound"


def test_events_as_json(api: TestClient, saver: WyrdSaver) -> None:
    """Who accepts JSON is given what happened as a page; the next page is asked for with `next`."""
    json_only = {"accept": "application/json"}
    page = got(api.get("/api/events?limit=2", headers=json_only))
    assert [each["item"] for each in page["events"]] == [e.item for e in saver.events(limit=2)]
    more = got(api.get(f"/events?limit=2&since={page['next']}", headers=json_only))["events"]
    assert more[0] != page["events"][0]
    asked = {"kind": "loop.open", "thread_id": "trip/paris"}
    found = got(api.get("/events", params=asked, headers=json_only))["events"]
    assert {(each["kind"], each["thread_id"]) for each in found} == {("loop.open", "trip/paris")}
    assert found == got(api.get("/threads/trip%2Fparis/events?kind=loop.open"))["events"]


def test_openapi_describes_it(api: TestClient) -> None:
    """Every operation is in the description, by query and by path, with what it takes."""
    paths = got(api.get("/openapi.json"))["paths"]
    ids = [each["operationId"] for path in paths.values() for each in path.values()]
    assert len(set(ids)) == len(ids)
    for each in OPERATIONS:
        said = paths[f"/api{each.path}"][each.method.lower()]
        given = [one["name"] for one in said["parameters"] if one["in"] == "query"]
        assert given == names(each)
        fields = said.get("requestBody", {}).get("content", {}).get("application/json", {})
        assert set(fields.get("schema", {}).get("properties", {})) == {f.name for f in each.body}
        if "id" in given:
            path = each.path.replace("/thread", "/threads/{id}", 1)
            below = paths[f"/api{path}"][each.method.lower()]["parameters"]
            assert [one["name"] for one in below if one["in"] == "path"] == ["id"]
    assert "get" in paths["/api/events"]


def test_what_is_wrong_is_said(api: TestClient) -> None:
    """A wrong request is refused with a status and words, and changes nothing."""
    for path, status, said in (
        (of("nobody"), 404, "ThreadNotFound"),
        (of("trip/paris", "/state", at="nowhere"), 404, "ThreadNotFound"),
        ("/api/threads?limit=0", 400, "InvalidInput"),
        ("/api/threads?limit=many", 400, "InvalidInput"),
        ("/api/threads?colour=red", 400, "InvalidInput"),
        ("/api/threads?status=tired", 400, "InvalidInput"),
        ("/api/threads?after=nonsense", 400, "InvalidInput"),
        (of("trip/paris", "/diff"), 400, "InvalidInput"),
        (of("trip/paris", "/messages", all="perhaps"), 400, "InvalidInput"),
        ("/api/thread/messages", 400, "InvalidInput"),
    ):
        answer = api.get(path)
        assert (answer.status_code, kind(answer)) == (status, said), path
    for body, status in (
        (b"", 400), (b"[]", 400), (b"{", 400), (b'{"name": 1}', 400), (b'{"nom": "x"}', 400),
        (b"{}", 400), (b'{"name": "x", "at": "nowhere"}', 404), (b'{"name": ""}', 400),
        (b"[" * 100_000, 400), (b'{"name": "' + b"x" * 3_000_000 + b'"}', 413),
    ):  # fmt: skip
        assert api.post(of("trip/paris", "/label"), content=body).status_code == status, body[:40]
    assert api.get("/api/nothing").status_code == 404
    assert api.post("/api/threads").status_code == 405


# ---- who may


def test_nothing_without_the_token(saver: WyrdSaver) -> None:
    """Every operation but logging in is refused without the token, and works with it."""
    api = client(saver, token=TOKEN)
    for each in OPERATIONS:
        path = every("chat-0193", each)
        answer = api.request(each.method, path, json={} if each.body else None)
        if each.public:
            continue
        assert (answer.status_code, kind(answer)) == (401, "TokenMissing"), path
        wrong = {"authorization": f"Bearer {TOKEN[:-1]}"}
        assert api.request(each.method, path, headers=wrong).status_code == 401
    assert api.get("/api/events").status_code == 401
    assert got(api.get("/api/about")) == {
        "version": None, "read_only": False, "token": True, "known": False,
    }  # fmt: skip
    right = {"authorization": f"Bearer {TOKEN}"}
    assert len(got(api.get("/api/threads", headers=right))["threads"]) == 6


def test_logging_in(saver: WyrdSaver) -> None:
    """The token is exchanged for a cookie that only this site's own page can use."""
    api = client(saver, token=TOKEN)
    assert api.post("/api/login", json={"token": "another"}).status_code == 401
    assert not api.cookies
    answer = api.post("/api/login", json={"token": TOKEN})
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert TOKEN not in said
    assert got(api.get("/api/about"))["known"] is True
    assert api.get("/api/threads").status_code == 200
    forged = client(saver, token=TOKEN)
    (name,) = api.cookies
    forged.cookies.set(name, "0" * 64)
    assert forged.get("/api/threads").status_code == 401
    stale = client(saver, token=f"{TOKEN} another")
    stale.cookies = api.cookies
    assert stale.get("/api/threads").status_code == 401


def test_other_sites_can_do_nothing(saver: WyrdSaver) -> None:
    """A POST needs a body of JSON, or a header, which no other site's page can send unasked; a
    browser's word is heeded."""
    app = ui.app(saver, read_only=False)
    plain = TestClient(app, base_url=LOCAL)
    forms = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b")
    for each in OPERATIONS:
        if each.method == "POST":
            for kind_of_form in forms:
                sent = {"content": b"{}", "headers": {"content-type": kind_of_form}}
                answer = plain.post(every("chat-0193", each), **sent)
                assert (answer.status_code, kind(answer)) == (403, "HeaderMissing")
    for site in ("cross-site", "same-site"):
        headers = {"sec-fetch-site": site, **MINE}
        assert kind(plain.get("/api/threads", headers=headers)) == "CrossSite"
        assert plain.post(of("chat-0193", "/label"), json={}, headers=headers).status_code == 403
    assert plain.get("/api/threads", headers={"sec-fetch-site": "same-origin"}).status_code == 200
    assert saver.thread("chat-0193").labels() == []
    assert plain.post(of("chat-0193", "/label"), json={"name": "seen"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "", "[::2]:1"]
)
def test_other_host_names_are_refused(sqlite: Backend, host: str) -> None:
    """A name that another site points at this machine (DNS rebinding) gets nothing at all."""
    app = ui.app(sqlite.open())
    for path in ("/", "/main.js", "/api/threads"):
        answer = TestClient(app, base_url=LOCAL).get(path, headers={"host": host})
        assert answer.status_code == 421
    named = ui.app(sqlite.open(), hosts=["agents.example"])
    allowed = TestClient(named, base_url="http://agents.example:8080")
    assert allowed.get("/").status_code == 200


def test_what_a_host_header_names() -> None:
    """Ports and case do not count."""
    assert host_name("LOCALHOST:80") == "localhost"
    assert host_name("[::1]:8765") == "[::1]"
    assert host_name("127.0.0.1") == "127.0.0.1"
    assert is_loopback("127.0.0.9")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("localhost.evil.example")


def test_read_only(saver: WyrdSaver) -> None:
    """Without a token the app only reads, unless `read_only=False`; with one it may write."""
    api = client(saver, read_only=None)
    assert got(api.get("/api/about"))["read_only"] is True
    for each in OPERATIONS:
        if each.changes:
            answer = api.post(every("chat-0193", each), json={})
            assert (answer.status_code, kind(answer)) == (403, "ReadOnly")
    assert api.get(of("chat-0193", "/export")).status_code == 200
    assert got(client(saver, read_only=None, token=TOKEN).get("/api/about"))["read_only"] is False
    assert got(client(saver, read_only=True, token=TOKEN).get("/api/about"))["read_only"] is True
    with pytest.raises(InvalidInput, match="16"):
        ui.app(saver, token="short")
    with pytest.raises(InvalidInput, match="without a token"):
        ui.serve(saver, host="0.0.0.0", token="")


def test_headers_of_every_answer(api: TestClient) -> None:
    """A strict content policy and no sniffing on every answer; answers of the API are not kept."""
    for path in ("/", "/main.js", "/style.css", "/api/threads", "/api/nothing"):
        headers = api.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert headers["cache-control"] == ("no-store" if "api" in path else "no-cache")
    tag = api.get("/main.js").headers["etag"]
    assert api.get("/main.js", headers={"if-none-match": tag}).status_code == 304


def test_the_page_is_of_the_package(api: TestClient) -> None:
    """No file of the page names another place to load from, or makes markup of text."""
    for file in sorted((ROOT / "langgraph_wyrd/ui/static").iterdir()):
        text = file.read_text("utf-8")
        assert api.get(f"/{file.name}").status_code == 200
        assert not [one for one in MAKES_MARKUP if one in text], file.name
        linked = text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in linked, file.name
        assert "https:" not in linked, file.name
        assert "style=" not in text, file.name


# ---- what JSON holds


def test_odd_data_is_json() -> None:
    """What JSON or JavaScript can't hold is given as text; large values are cut where asked."""
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    odd = {
        "nan": float("nan"), "big": 2**60, "half": "\ud800", "deep": deep, 1: b"xyz",
        "self": object,
    }  # fmt: skip
    read = json.loads(encoded(odd))
    assert (read["nan"], read["big"], read["half"]) == ("nan", str(2**60), "\ud800")
    assert (read["1"], read["self"]) == ("3 bytes", "<class 'object'>")
    cut = Plain(cut=30)
    found = cut.of({"text": "x" * 10_000, "list": list(range(10_000)), "k" * 99: 1})
    assert cut.was_cut
    assert len(json.dumps(found)) < 6000
    assert found["text"].endswith("(9,970 more characters)")
    whole = Plain(cut=30)
    whole.of({"short": "text"})
    assert not whole.was_cut


# ---- live


def test_live_updates(durable: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process stores is reported within seconds, and after a break what was missed."""
    monkeypatch.setattr(live, "EVERY", 0.05)
    saver = durable.open()
    inspected.run(saver, "chat-0193")
    with inspected.served(ui.app(saver)) as url, httpx.Client(base_url=url, timeout=120) as http:
        with http.stream("GET", "/api/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            events = received(answer)
            assert next(events)[0] == "ready"
            inspected.run(durable.open(), "trip/paris")
            name, data, id = next(events)
            assert (name, data["thread_id"]) == ("thread", "trip/paris")
            while not id:  # the cursor is behind all that was read together
                name, data, id = next(events)
        inspected.run(saver, "refund-4821")
        with http.stream("GET", "/api/events", headers={"last-event-id": id}) as answer:
            events = received(answer)
            assert next(events)[0] == "ready"
            while data["thread_id"] != "refund-4821":
                _, data, _ = next(events)
            assert {"kind", "item", "at"} < data["events"][0].keys()


def received(answer: httpx.Response) -> Iterator[tuple[str, Any, str]]:
    held: dict[str, str] = {}
    for line in answer.iter_lines():
        if line == "" and held:
            yield held["event"], json.loads(held["data"]), held.get("id", "")
            held = {}
        elif not line.startswith(":") and line:
            name, _, text = line.partition(": ")
            held[name] = text


async def test_the_loop_is_never_held_up(sqlite: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of the event loop calls no method that waits, and encodes no large answer."""
    saver = sqlite.open()
    inspected.many(saver, 300)
    await saver.asetup()
    here, met = threading.get_ident(), list[str]()

    def watch(on: Any, name: str) -> None:
        kept = getattr(on, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            met.append(f"{name} {'in the loop' if threading.get_ident() == here else 'outside'}")
            return kept(*args, **kwargs)

        monkeypatch.setattr(on, name, noted)

    watch(application, "encoded")
    watch(operations, "_shortened")
    watch(Thread, "export")
    waiting = {
        WyrdSaver: ("threads", "open_loops", "get_tuple", "list"),
        Thread: ("working_state", "history", "messages", "labels", "heals", "diff"),
    }
    for on, names in waiting.items():
        for name in names:
            watch(on, name)
    point = saver.thread("long").history()[-1].checkpoint_id
    met.clear()
    transport = httpx.ASGITransport(app=ui.app(saver))
    async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as http:
        for each in OPERATIONS:
            if each.method == "GET":
                path = every("long", each) + (f"&a={point}" if each.name == "diff" else "")
                assert (await http.get(path)).status_code == 200, path
    assert {"encoded outside", "_shortened outside", "export outside"} == set(met)


# ---- started


def test_the_command(sqlite: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """`langgraph-wyrd ui` prints an address that works, and ends with Ctrl-C."""
    with sqlite.open() as saver:
        inspected.run(saver, "chat-0193")
    monkeypatch.setenv("WYRD_URL", sqlite.url)
    monkeypatch.delenv("WYRD_UI_TOKEN", raising=False)
    command = python("-m", "langgraph_wyrd", "ui", "--port", "0", "--json", imported=SERVING)
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=not_ignored,
    )  # fmt: skip
    try:
        assert running.stdout is not None
        said = running.stdout.readline()
        assert said, running.stderr and running.stderr.read()
        address, _, token = json.loads(said)["url"].partition("#token=")
        with httpx.Client(base_url=address, headers=MINE, timeout=120) as http:
            assert http.get("/api/threads").status_code == 401
            assert http.post("/api/login", json={"token": token}).status_code == 200
            assert len(got(http.get("/api/threads"))["threads"]) == 1
            made = http.post(of("chat-0193", "/label"), json={"name": "seen"})
            assert made.status_code == 200
        running.send_signal(signal.SIGINT)
        assert running.wait(120) == 130
    finally:
        if running.poll() is None:
            running.kill()
        running.communicate()
