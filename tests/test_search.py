"""Threads are found by what was said in them; what was deleted is found no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from langgraph_wyrd import KeyRing, WyrdSaver
from langgraph_wyrd.checkpoints import search
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.storage.tables import SEARCH
from tests.conftest import Backend
from tests.deep import create_deep_agent
from tests.marked_words import stored_text
from tests.outside import is_postgres, raw
from tests.raw_rows import replace, stored
from tests.scripted_agents import Scripted, calls

Call = Callable[..., Any]


def config(name: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def echo(saver: Any) -> Any:
    """A graph that answers "noted"."""
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("noted")]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


async def say(call: Call, saver: Any, name: str, text: Any, **more: Any) -> None:
    await call(echo(saver), "invoke", {"messages": [HumanMessage(text)]}, config(name, **more))


async def found(call: Call, saver: Any, text: str) -> set[str]:
    return {info.thread_id for info in await call(saver, "threads", text=text)}


SAID = {
    "mail": "Please send the invoice for March to ada.lovelace@example.org, not the OFFER!",
    "cafe": "Die Größe der Straße? Ein Café, naïvely",
    "tokyo": "東京都に行きたいです。カタカナもパソコンも。",
    "beijing": "我想去北京大学学习中文",
    "thai": "ฉันอยากไปกรุงเทพ",
    "seoul": "서울에 가고 싶어요",
    "hindi": "मुझे दिल्ली जाना है",
    "code": "call parse_config(path='/etc/app.toml', retries=3) at 0x1f",
    "marks": "what??? <b>bold</b> & \u202edesrever\u202c nul\0byte",
}
ASKED = {
    "invoice": {"mail"},
    "INVOI": {"mail"},
    "march invoice": {"mail"},
    "invoice april": set(),
    "ada.lovelace@example.org": {"mail"},
    "lovelace": {"mail"},
    "example.org": {"mail"},
    "offe": {"mail"},
    "arse_config": set(),
    '"the invoice for"': {"mail"},
    '"invoice the"': set(),
    '"the invo"': set(),
    "grösse": {"cafe"},
    "GROSSE strasse": {"cafe"},
    "cafe": {"cafe"},
    "naive": {"cafe"},
    "東京": {"tokyo"},
    "京都": {"tokyo"},  # two characters side by side: 東京都 has them
    "都京": set(),
    "ﾊﾟｿｺﾝ": {"tokyo"},  # half-width
    "北京大学": {"beijing"},
    "北京 中文": {"beijing"},
    "京": {"tokyo", "beijing"},
    "กรุงเทพ": {"thai"},
    "서울": {"seoul"},
    "दिल्ली": {"hindi"},
    "parse_config": {"code"},
    "app.toml": {"code"},
    "retries=3": {"code"},
    "bold": {"marks"},
    "desrever": {"marks"},
    "'; DROP TABLE wyrd_search; --": set(),
    'a" OR "b': set(),
    "NOT (invoice)": {"mail"},  # no operators: words
    "invoice*": {"mail"},
    "???": set(),  # no word: only titles and reasons are looked at
}


async def say_all(call: Call, saver: Any) -> None:
    """Each text by an agent, so that it is in no title."""
    for name, text in SAID.items():
        both = [HumanMessage("hello"), AIMessage(f"{text} Done.")]
        await call(echo(saver), "invoke", {"messages": both}, config(name))


async def test_what_was_said_is_found(durable: Backend, call: Call) -> None:
    """Words, their beginnings, phrases, addresses; in any case, with accents and without; scripts
    that are written without spaces. Both databases find the same."""
    saver = durable.open()
    await say_all(call, saver)
    assert {text: await found(call, saver, text) for text in ASKED} == ASKED


async def test_at_once_and_only_what_is_new(durable: Backend, call: Call) -> None:
    """A put writes nothing for the search; a search finds what was stored just before it."""
    saver = durable.open()
    await say(call, saver, "a", "first words")
    await say(call, saver, "b", "other words")
    assert stored(durable.url, SEARCH) == []
    assert await found(call, saver, "words") == {"a", "b"}
    before = {row for row in stored(durable.url, SEARCH) if row.text}
    await say(call, saver, "a", "second thoughts")
    assert await found(call, saver, "thoughts") == {"a"}
    after = {row for row in stored(durable.url, SEARCH) if row.text}
    assert before < after
    assert [row.text for row in after - before] == ["second thoughts"]
    other = WyrdSaver.from_conn_string(durable.url)
    with other:
        await say(call, other, "c", "from another saver")
    assert await found(call, saver, "another") == {"c"}


async def test_titles_pages_and_filters(durable: Backend, call: Call) -> None:
    """Titles and reasons are searched as before; other filters, pages and `latest` go with it."""
    saver = durable.open()
    for n in range(7):
        await say(call, saver, f"t{n}", "walnut" if n % 2 else "hazel", user_id=f"u{n % 3}")
    seen, after = [], None
    while True:
        page = await call(saver, "threads", text="walnut", limit=2, after=after)
        seen += [info.thread_id for info in page]
        if (after := page.next) is None:
            break
    assert seen == ["t5", "t3", "t1"]
    assert await found(call, saver, "alnut") == {"t5", "t3", "t1"}  # a part of their titles
    some = await call(saver, "threads", text="walnut", user_id="u1")
    assert [info.thread_id for info in some] == ["t1"]
    assert (await call(saver, "latest", text="hazel")).thread_id == "t6"
    assert await call(saver, "latest", text="pecan") is None
    own = saver.for_user("u2")
    assert {info.thread_id for info in await call(own, "threads", text="walnut")} == {"t5"}


@tool
def look_up(place: str, filters: dict[str, Any]) -> str:
    """Look something up."""
    return f"the quokka lives at {place}"


async def test_what_agents_do_is_found(durable: Backend, call: Call) -> None:
    """The arguments and the results of tools; what stands in content blocks."""
    saver = durable.open()
    args = {"place": "Rottnest", "filters": {"deep": ["ferry", {"at": 1730}]}}
    steps = iter(
        [calls([], ("look_up", args)), AIMessage([{"type": "text", "text": "a marsupial"}])]
    )
    agent = create_agent(Scripted(rule=lambda _: next(steps)), [look_up], checkpointer=saver)
    await call(agent, "invoke", {"messages": [HumanMessage("where?")]}, config("t"))
    for text in ("look_up", "rottnest", "ferry", "1730", "quokka lives", "marsupial"):
        assert await found(call, saver, text) == {"t"}, text
    assert await found(call, saver, "ferry quokka") == set()  # not in one message


class Chat(TypedDict, total=False):
    talk: Annotated[list[Any], add_messages]
    inner: Annotated[list[AnyMessage], add_messages]


async def test_wherever_it_was_said(durable: Backend, call: Call) -> None:
    """What was summarised away, on another branch, in a subgraph, by a deep agent, in a functional
    graph, and what nobody has read yet, is found as well."""
    saver = durable.open()
    await say(call, saver, "past", "remember the aardvark")
    held = (await call(saver.thread("past"), "messages"))[0]
    await call(echo(saver), "update_state", config("past"), {"messages": [RemoveMessage(held.id)]})
    await call(saver.thread("past"), "label", "here")
    await say(call, saver, "past", "the binturong")
    await call(saver.thread("past"), "rewind", "here")
    await say(call, saver, "past", "go on")
    assert await found(call, saver, "aardvark") == {"past"}
    assert await found(call, saver, "binturong") == {"past"}

    child = StateGraph(Chat)
    child.add_node(
        "c", lambda _: {"inner": [AIMessage("a capybara")], "talk": [("ai", "a dik-dik")]}
    )
    child.add_edge(START, "c")
    parent = StateGraph(MessagesState)
    inside = child.compile()
    parent.add_node("sub", lambda state: inside.invoke({"talk": []}) and {"messages": []})
    parent.add_edge(START, "sub")
    graph = parent.compile(checkpointer=saver)
    await call(graph, "invoke", {"messages": [("human", "an echidna")]}, config("sub"))
    for text in ("capybara", "dik-dik", "echidna"):
        assert await found(call, saver, text) == {"sub"}, text

    deep = create_deep_agent(Scripted(rule=lambda m: AIMessage("a fossa")), checkpointer=saver)
    await call(deep, "invoke", {"messages": [HumanMessage("gharial?")]}, config("deep"))
    assert await found(call, saver, "fossa") == await found(call, saver, "gharial") == {"deep"}

    @entrypoint(checkpointer=saver)
    def talk(said: str, *, previous: Any = None) -> Any:
        new = [*(previous or []), HumanMessage(said)]
        return entrypoint.final(value="ok", save=new)

    await call(talk, "invoke", "hutia", config("functional"))
    assert await found(call, saver, "hutia") == {"functional"}

    stops = StateGraph(MessagesState)
    stops.add_node("wait", lambda _: interrupt("?"))
    stops.add_edge(START, "wait")
    await call(
        stops.compile(checkpointer=saver), "invoke", {"messages": [("human", "indri")]},
        config("waits"),
    )  # fmt: skip
    assert await found(call, saver, "indri") == {"waits"}


def database_text(backend: Backend) -> str:
    """All that lies in the database, with nobody at work there."""
    for saver in backend.opened:
        saver.close()
    return stored_text(backend).lower()


DELETIONS: dict[str, Callable[..., Any]] = {
    "delete_thread": lambda call, saver, run: call(saver, "delete_thread", "t"),
    "delete_for_runs": lambda call, saver, run: call(saver, "delete_for_runs", [run]),
    "prune": lambda call, saver, run: call(saver, "prune", ["t"], strategy="keep_latest"),
    "erase_user": lambda call, saver, run: call(saver, "erase_user", "ann", threads=True),
}


@pytest.mark.parametrize("how", DELETIONS)
async def test_what_was_deleted_is_gone(how: str, durable: Backend, call: Call) -> None:
    """It is found no more, and no word of it lies in the database; what stays is found."""
    saver, run = durable.open(), "0193c0de-0000-7000-8000-000000000001"
    graph = echo(saver)
    secret = {"messages": [HumanMessage("hello"), AIMessage("xylophonist", id="m1")]}
    await call(graph, "invoke", secret, {**config("t", user_id="ann"), "run_id": run})
    gone = [RemoveMessage("m1")]
    await call(graph, "update_state", config("t", user_id="ann"), {"messages": gone})
    await say(call, saver, "t", "what stays", user_id="ann")
    await say(call, saver, "other", "zitherist")
    assert await found(call, saver, "xylophonist") == {"t"}
    await DELETIONS[how](call, saver, run)
    if how == "delete_for_runs":  # later states do not have it either
        await call(saver, "prune", ["t"], strategy="keep_latest")
    text = database_text(durable)
    assert "xylophonist" not in text
    assert "zitherist" in text
    saver = durable.open()
    assert await found(call, saver, "xylophonist") == set()
    assert await found(call, saver, "zitherist") == {"other"}
    stays = set() if how in ("delete_thread", "erase_user") else {"t"}
    assert await found(call, saver, "stays") == stays
    assert "xylophonist" not in database_text(durable)


async def test_a_replaced_checkpoint(durable: Backend, call: Call) -> None:
    """A checkpoint that is put again under its id, with other content, is read again."""
    saver = durable.open()
    said = [HumanMessage("hello"), AIMessage("xylophonist")]
    await call(echo(saver), "invoke", {"messages": said}, config("t"))
    assert await found(call, saver, "xylophonist") == {"t"}
    for entry in [each async for each in saver.alist(config("t"))]:
        checkpoint = entry.checkpoint
        checkpoint["channel_values"] = {
            name: [HumanMessage("accordionist", id="m")]
            for name in checkpoint["channel_values"] if name == "messages"
        }  # fmt: skip
        where = {**entry.config["configurable"]}
        where["checkpoint_id"] = (entry.parent_config or config("t"))["configurable"].get(
            "checkpoint_id"
        )
        saved = {"configurable": where}
        await call(saver, "put", saved, checkpoint, entry.metadata, checkpoint["channel_versions"])
    assert await found(call, saver, "xylophonist") == set()
    assert await found(call, saver, "accordionist") == {"t"}


async def test_copies_and_imports(durable: Backend, call: Call, tmp_path: Any) -> None:
    """A copy, a fork and an imported thread are found like any other."""
    saver = durable.open()
    await say(call, saver, "a", "a bassoon")
    assert await found(call, saver, "bassoon") == {"a"}
    await call(saver, "copy_thread", "a", "b")
    await call(saver.thread("a"), "fork", "c")
    await call(saver.thread("a"), "export", tmp_path / "a.json", payloads=True)
    assert await found(call, saver, "bassoon") == {"a", "b", "c"}
    await call(saver, "delete_thread", "a")
    assert await found(call, saver, "bassoon") == {"b", "c"}
    await call(saver, "import_thread", tmp_path / "a.json")
    assert await found(call, saver, "bassoon") == {"a", "b", "c"}


async def test_encrypted_stores_are_not_searched(durable: Backend, call: Call) -> None:
    """A sealed store refuses `text=` and says so; it has no index."""
    saver = durable.open(keys=KeyRing({"one": b"k" * 32}))
    await say(call, saver, "t", "xylophonist")
    with pytest.raises(InvalidInput, match="sealed"):
        await call(saver, "threads", text="xylophonist")
    assert stored(durable.url, SEARCH) == []
    assert "xylophonist" not in database_text(durable)


async def test_without_leave_to_write(durable: Backend, call: Call) -> None:
    """Whoever may only read finds the same: what the index lacks is read each time."""
    saver = durable.open()
    await say_all(call, saver)
    await call(saver, "threads", text="anything")
    await say(call, saver, "late", "an invoice, late")
    if is_postgres(durable.url):
        url = f"{durable.url} options='-c default_transaction_read_only=on'"
    else:
        url = f"{durable.url}?mode=ro"
    before = stored(durable.url, SEARCH)
    with WyrdSaver.from_conn_string(url) as reader:
        assert await found(call, reader, "invoice") == {"mail", "late"}
        assert await found(call, reader, "東京") == {"tokyo"}
        assert await found(call, reader, "zebra") == set()
    assert stored(durable.url, SEARCH) == before


async def test_sqlite_without_fts5(sqlite: Backend, call: Call, monkeypatch: Any) -> None:
    """An SQLite that was built without FTS5 finds the same, slower."""
    monkeypatch.setattr(search, "_CAN_MAKE", "SELECT 1 WHERE 0")
    saver = sqlite.open()
    await say_all(call, saver)
    assert {text: await found(call, saver, text) for text in ASKED} == ASKED
    await call(saver, "delete_thread", "mail")
    assert await found(call, saver, "invoice") == set()


async def test_damage_in_the_index(durable: Backend, call: Call) -> None:
    """`verify` names a damaged row of the index; a repair has the thread read again."""
    saver = durable.open()
    await say(call, saver, "t", "a sousaphone")
    assert await found(call, saver, "sousaphone") == {"t"}
    (row,) = [each for each in stored(durable.url, SEARCH) if "sousa" in each.text]
    replace(durable.url, SEARCH, row, row._replace(text="a trombone"))
    report = await call(saver, "verify")
    assert [finding.table for finding in report.findings] == [SEARCH.name]
    assert all(each.repaired for each in (await call(saver, "verify", repair=True)).findings)
    assert not (await call(saver, "verify")).findings
    assert await found(call, saver, "trombone") == set()
    assert await found(call, saver, "sousaphone") == {"t"}


async def test_a_dropped_index_is_made_again(durable: Backend, call: Call) -> None:
    """Nothing is lost with the tables of the search."""
    saver = durable.open()
    await say(call, saver, "t", "a sousaphone")
    await call(saver, "threads", text="sousaphone")
    saver.close()
    with raw(durable.url) as connection:
        if not is_postgres(durable.url):
            connection.execute("DROP TABLE wyrd_words")
        connection.execute("DROP TABLE wyrd_search")
    saver = durable.open()
    await call(saver, "verify", repair=True)
    assert await found(call, saver, "sousaphone") == {"t"}


async def test_searching_while_others_write_and_delete(durable: Backend) -> None:
    """Searches while others write and delete: nobody fails, and in the end the index is right."""
    saver, other = durable.open(), durable.open()
    errors: list[BaseException] = []

    def work(run: Callable[[int], Any]) -> threading.Thread:
        def all_of_it() -> None:
            try:
                for n in range(12):
                    run(n)
            except BaseException as error:
                errors.append(error)

        made = threading.Thread(target=all_of_it)
        made.start()
        return made

    def write(n: int) -> None:
        words = {"messages": [HumanMessage(f"bagpipe {n}")]}
        echo(other).invoke(words, config(f"t{n % 5}"))

    def remove(n: int) -> None:
        from langgraph_wyrd.errors import ThreadDeleted

        with suppress(ThreadDeleted):
            saver.delete_thread(f"t{n % 3}")

    def write_on(n: int) -> None:
        echo(saver).invoke({"messages": [HumanMessage(f"oboe {n}")]}, config(f"s{n % 4}"))

    def ask(n: int) -> None:
        (saver if n % 2 else other).threads(text="bagpipe")

    for each in [work(run) for run in (write, write_on, remove, ask, ask)]:
        each.join()
    assert not [error for error in errors if type(error).__name__ != "ThreadDeleted"]
    for text in ("bagpipe", "oboe"):
        wanted = {
            info.thread_id
            for info in saver.threads(limit=100)
            if any(text in m.text for m in saver.thread(info.thread_id).messages(all=True))
        }
        assert {info.thread_id for info in saver.threads(text=text, limit=100)} == wanted
    assert not saver.verify().findings
