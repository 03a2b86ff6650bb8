"""Tables that are spread by thread: hash partitions, Citus, and servers that speak as Postgres."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import Retention, WyrdSaver, errors
from langgraph_wyrd.cli import main as cli
from langgraph_wyrd.storage.postgres_pipeline import Pipeline
from langgraph_wyrd.storage.tables import TABLES
from tests import test_conformance as conformance
from tests.conftest import Backend, fresh_postgres, postgres_url
from tests.damage import Agent, at
from tests.handmade import append, config, head_tokens, next_step
from tests.outside import raw
from tests.wire import Wire

PARTITION = re.compile(r"(wyrd_[a-z_]+)_([0-9]+)")


@contextlib.contextmanager
def placed(server: str, placement: str, schema: str | None = None) -> Iterator[Backend]:
    """A database that somebody set up by DDL."""
    with fresh_postgres(server) as url:
        with raw(url) as admin:
            if schema is not None:
                admin.execute(f'CREATE SCHEMA "{schema}"')
            admin.execute(WyrdSaver.ddl("postgres", schema=schema, placement=placement))
        made = Backend("postgres", url)
        try:
            yield made
        finally:
            for saver in made.opened:
                saver.close()


@contextlib.contextmanager
def closing(backend: Backend) -> Iterator[Backend]:
    """Closes what a test opened, and empties what it filled."""
    try:
        yield backend
    finally:
        for saver in backend.opened:
            saver.close()
        backend.opened.clear()
        with raw(backend.url) as admin:
            names = ", ".join(name for name in TABLES if name != "wyrd_migrations")
            admin.execute(f"TRUNCATE {names}")


@pytest.fixture(scope="module")
def shared(postgres_server: str) -> Iterator[Backend]:
    with placed(postgres_server, "hash:4") as made:
        yield made


@pytest.fixture
def spread(shared: Backend) -> Iterator[Backend]:
    """An empty database with four hash partitions."""
    with closing(shared):
        yield shared


def test_what_is_of_a_thread_is_partitioned(spread: Backend) -> None:
    """Every table with a thread's rows has the partitions, all of the same hash; others are plain.
    The saver finds the tables and makes none."""
    spread.open(setup="never").setup()
    with raw(spread.url) as admin:
        found = dict(
            admin.execute(
                "SELECT c.relname, pg_get_partkeydef(c.oid) FROM pg_class c WHERE relkind = 'p'"
            ).fetchall()
        )
        plain = admin.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND NOT relispartition "
            "AND relname LIKE 'wyrd_%'"
        ).fetchall()
        parts = admin.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relispartition"
        ).fetchall()
    assert found == {
        name: "HASH (key)" if name == "wyrd_threads" else "HASH (thread)"
        for name, table in TABLES.items()
        if table.placed_by is not None
    }
    assert {name for (name,) in plain} == {"wyrd_migrations", "wyrd_keys"}
    assert {name for (name,) in parts} == {f"{name}_{n}" for name in found for n in range(4)}


@pytest.mark.parametrize("capability", conformance.KIT)
async def test_the_kit_passes_on_partitions(spread: Backend, capability: str) -> None:
    """LangGraph's conformance kit."""
    await conformance.test_the_kit_passes(spread, capability, "async")


Heard = list[tuple[bytes, Any]]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Notes what savers send to the server: statements, and their parameters."""
    said: Heard = []
    send, execute = Pipeline.send, psycopg.Connection.execute

    def sent(self: Pipeline, text: bytes, params: Any = (), rows: Any = None) -> None:
        said.append((text, params))
        send(self, text, params, rows)

    def executed(self: Any, query: Any, params: Any = None, **more: Any) -> Any:
        if isinstance(query, bytes):
            said.append((query, params))
        return execute(self, query, params, **more)

    monkeypatch.setattr(Pipeline, "send", sent)
    monkeypatch.setattr(psycopg.Connection, "execute", executed)
    return said


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def partitions(admin: Any, query: bytes, params: Any, plan: str) -> set[str]:
    """The partitions that a plan of the server looks into: one made for these parameters
    ("custom"), or one that was made for any, as of a statement that was prepared ("generic")."""
    admin.execute(f"SET plan_cache_mode = force_{plan}_plan")
    with admin.transaction(force_rollback=True):
        admin.execute("DEALLOCATE ALL")
        admin.execute(b"PREPARE hot AS " + query)
        held = b"(" + b", ".join([b"%s"] * len(params)) + b")" if params else b""
        ((made,),) = admin.execute(b"EXPLAIN (FORMAT JSON) EXECUTE hot" + held, params).fetchall()
    found = (each.get("Relation Name", "") for each in nodes(made[0]["Plan"]))
    return {match[2] for match in map(PARTITION.fullmatch, found) if match is not None}


async def test_hot_statements_look_into_one_partition(spread: Backend, heard: Heard) -> None:
    """Whatever turns of an agent, loads of any checkpoint, listings of a thread, forks and edits
    send, the server looks into one partition of each table, and knows it before it runs it."""
    saver = spread.open()
    agent = Agent()
    graph = agent.build(saver)
    for name in "abcdef":  # what is done once a process is done
        append(saver, name, name)
    heard.clear()
    for turn in range(3):
        await graph.ainvoke({"messages": [HumanMessage("go", id=f"h{turn}")]}, at("t"))
    history = [each.config async for each in graph.aget_state_history(at("t"))]
    await graph.ainvoke({"messages": [HumanMessage("else", id="x")]}, history[3])  # a fork
    for each in (history[0], history[-1], config("t"), config("nobody")):
        saver.get_tuple(each)
    other = spread.open()
    other.get_tuple(config("t"))
    append(other, "a", "more")
    list(saver.list(config("t"), limit=3))
    thread = saver.thread("t")
    thread.label("here")
    thread.working_state()
    thread.history()
    said = [each for each in heard if b"wyrd_" in each[0] and b"substr(" not in each[0]]
    texts = dict.fromkeys(text for text, _ in said)
    wide, narrow = {}, set()
    with psycopg.connect(spread.url, cursor_factory=psycopg.ClientCursor) as admin:
        admin.execute("SET enable_seqscan = off")  # as if the tables were large
        for text in texts:
            for params in [held for query, held in said if query == text][:2]:
                for plan in ("custom", "generic"):
                    found = partitions(admin, text, params, plan)
                    if len(found) > 1:
                        wide[plan, text] = sorted(found)
                    elif found:
                        narrow.add((plan, text))
    for expected in (
        b"WITH RECURSIVE", b"INSERT INTO wyrd_checkpoints", b"INSERT INTO wyrd_writes",
        b"UPDATE wyrd_threads", b"FOR NO KEY UPDATE", b"UPDATE wyrd_parity",
    ):  # fmt: skip
        assert any(expected in text for text in texts), expected
    assert len(narrow) > 30
    assert wide == {}


def test_the_life_of_threads_on_partitions(spread: Backend) -> None:
    """Copies, forks, prunes, sweeps, deletions, listings, verification; and a repair changes the
    damaged rows only, though others have their places in other partitions."""
    saver = spread.open()
    for name in "abcdefgh":
        for token in "123456":
            append(saver, name, f"{name}{token}")
    saver.copy_thread("a", "copy")
    saver.thread("b").fork("forked")
    assert head_tokens(saver, "copy") == [f"a{n}" for n in "123456"]
    assert head_tokens(saver, "forked") == [f"b{n}" for n in "123456"]
    saver.prune(["c"])
    assert head_tokens(saver, "c") == [f"c{n}" for n in "123456"]
    assert len(list(saver.list(config("c")))) == 1
    saver.sweep(Retention(keep_last=2), dry_run=False)
    assert len(list(saver.list(config("d")))) == 2
    saver.delete_thread("e")
    assert saver.get_tuple(config("e")) is None
    assert len(saver.threads(limit=100)) == 9
    assert len(saver.events(limit=5)) <= 5
    assert saver.verify().ok
    with raw(spread.url) as admin:
        before = admin.execute("SELECT thread, ns, id, delta FROM wyrd_checkpoints").fetchall()
        hurt = admin.execute(
            "UPDATE wyrd_checkpoints SET delta = set_byte(delta, 9, get_byte(delta, 9) # 4) "
            "WHERE ctid = (SELECT min(ctid) FROM wyrd_checkpoints)"
        ).rowcount
    assert hurt > 1
    assert spread.open().verify(repair=True).ok
    with raw(spread.url) as admin:
        after = admin.execute("SELECT thread, ns, id, delta FROM wyrd_checkpoints").fetchall()
    assert sorted(after) == sorted(before)


def test_searches_find_words_on_partitions(spread: Backend) -> None:
    """`threads(text=)` reads the index of words of each partition."""
    saver = spread.open()
    graph = Agent().build(saver)
    for n in range(6):
        graph.invoke({"messages": [HumanMessage(f"the word number {n}, w{n}ord")]}, at(f"t{n}"))
    assert [each.thread_id for each in saver.threads(text="w4ord")] == ["t4"]
    assert len(saver.threads(text="number")) == 6


def test_partitions_in_a_schema(postgres_server: str) -> None:
    """Partitions and their tables are made where `schema=` says, and used from there."""
    with placed(postgres_server, "hash:2", schema="it's mine") as made:
        saver = made.open(schema="it's mine", setup="never")
        append(saver, "t", "a")
        assert head_tokens(saver, "t") == ["a"]


CITUS = """
SELECT create_distributed_table('wyrd_threads', 'key', colocate_with => 'none');
SELECT create_reference_table('wyrd_migrations');
SELECT create_distributed_table('wyrd_checkpoints', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_writes', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_journal', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_snapshots', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_todos', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_context', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_open_loops', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_intentions', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_search', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_labels', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_user_data', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_parity', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_heals', 'thread', colocate_with => 'wyrd_threads');
SELECT create_distributed_table('wyrd_leases', 'thread', colocate_with => 'wyrd_threads');
SELECT create_reference_table('wyrd_keys');
INSERT INTO wyrd_migrations"""


def test_what_citus_gets() -> None:
    """The plain tables, then where their rows lie; no Citus runs here."""
    plain = WyrdSaver.ddl("postgres")
    tables, _, end = plain.rpartition("INSERT INTO wyrd_migrations")
    assert WyrdSaver.ddl("postgres", placement="citus") == f"{tables}{CITUS.lstrip()}{end}"
    quoted = WyrdSaver.ddl("postgres", schema="a'b", placement="citus")
    assert (
        "SELECT create_distributed_table('\"a''b\".wyrd_writes', 'thread', "
        "colocate_with => '\"a''b\".wyrd_threads');"
    ) in quoted


def test_the_keys_of_citus_hold_the_column_that_rows_are_spread_by() -> None:
    """Without it no primary key can be made on spread tables."""
    for table in TABLES.values():
        assert table.placed_by is None or table.placed_by in table.key


@pytest.mark.parametrize("placement", ["hash", "hash:1", "hash:0", "hash:x", "hash:99999", "", 16])
def test_a_placement_that_there_is_not(placement: Any) -> None:
    """It is refused with those that there are; SQLite has none."""
    with pytest.raises(errors.InvalidInput, match=r"hash:16.*citus.*portable"):
        WyrdSaver.ddl("postgres", placement=placement)
    with pytest.raises(errors.InvalidInput, match="Postgres"):
        WyrdSaver.ddl("sqlite", placement="hash:16")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`ddl --placement` prints the same; a wrong one is an error."""
    assert cli.main(["ddl", "--placement", "hash:4"]) == 0
    assert capsys.readouterr().out.strip() == WyrdSaver.ddl(placement="hash:4").strip()
    assert cli.main(["ddl", "--placement", "hush:4"]) != 0
    assert "hash:16" in capsys.readouterr().err


# ---- servers that speak as Postgres: their tables on Postgres itself, and what they refuse


@pytest.fixture(scope="module")
def portable(postgres_server: str) -> Iterator[Backend]:
    """A database that sorts by bytes, with portable tables. Postgres itself: no other runs here."""
    with raw(postgres_server) as admin:
        name = "wyrd_portable"
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    try:
        url = postgres_url(postgres_server, name)
        with raw(url) as admin:
            admin.execute(WyrdSaver.ddl("postgres", placement="portable"))
        yield Backend("postgres", url)
    finally:
        with raw(postgres_server) as admin:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_portable_tables_say_nothing_that_only_postgres_knows() -> None:
    """No storage parameters, no collations of columns, no numbers of transactions, no GIN."""
    text = WyrdSaver.ddl("postgres", placement="portable")
    for word in ("fillfactor", "WITH (", "COLLATE", "xact", "xmin", "gin", "tsvector", "PARTITION"):
        assert word not in text, word
    assert text.count("CREATE TABLE") == len(TABLES)


@pytest.mark.parametrize("capability", conformance.KIT)
async def test_the_kit_passes_on_portable_tables(
    portable: Backend, capability: str, heard: Heard
) -> None:
    """LangGraph's conformance kit; no statement asks for what such servers lack."""
    with closing(portable):
        heard.clear()
        await conformance.test_the_kit_passes(portable, capability, "async")
        said = b"\n".join({text for text, _ in heard})
        assert b"wyrd_threads" in said
        for word in (b"xact_id", b"pg_snapshot", b"ctid", b"advisory", b"pg_xact"):
            assert word not in said, word


def test_the_life_of_threads_on_portable_tables(portable: Backend) -> None:
    """Agents, edits, repairs; the feed of events is refused, for its order would be a guess."""
    with closing(portable):
        saver = portable.open()
        graph = Agent().build(saver)
        graph.invoke({"messages": [HumanMessage("go")]}, at("t"))
        saver.thread("t").add_todo("call back")
        assert "call back" in [todo.content for todo in saver.thread("t").working_state().todos]
        with raw(portable.url) as admin:
            admin.execute("UPDATE wyrd_writes SET sum = sum + 1 WHERE task = (SELECT min(task) "
                          "FROM wyrd_writes)")  # fmt: skip
        assert saver.verify(repair=True).ok
        assert [each.thread_id for each in saver.threads()] == ["t"]
        for since in (None, "now"):
            with pytest.raises(errors.StoreError, match="portable"):
                saver.events(since=since)


def test_a_lost_commit_on_portable_tables(portable: Backend) -> None:
    """Nobody can ask whether it was committed: the call raises and says to look."""
    wire = Wire(portable.url)
    with closing(portable), WyrdSaver.from_conn_string(wire.url) as saver:
        append(saver, "t", "a")
        wire.armed = True
        with pytest.raises(errors.ConnectionLost, match="look before you do it again"):
            saver.delete_thread("t")
        assert saver.get_tuple(config("t")) is None
    wire.close()


CLASHING = """
CREATE SEQUENCE clashes;
CREATE FUNCTION clash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('clashes') <= {0} THEN RAISE 'restart transaction' USING ERRCODE = '{1}'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER clash BEFORE INSERT OR UPDATE ON wyrd_{2} FOR EACH ROW EXECUTE FUNCTION clash();
"""


@pytest.mark.parametrize("state", ["40001", "40P01"])
@pytest.mark.parametrize("table", ["threads", "checkpoints", "parity"])
async def test_a_transaction_that_the_server_gives_up(
    postgres: Any, call: Any, state: str, table: str
) -> None:
    """It is run again as a whole, and stored once; the same for scripts as for merged writes."""
    saver = postgres.open()
    append(saver, "t", "a")
    with raw(postgres.url) as admin:
        admin.execute(CLASHING.format(5, state, table))
    head = saver.get_tuple(config("t"))
    await call(saver, "put", *next_step(saver, head, "t", "b"))
    with raw(postgres.url) as admin:
        assert admin.execute("SELECT last_value > 5 FROM clashes").fetchone() == (True,)
        admin.execute("SELECT setval('clashes', 2)")
    saver.thread("t").add_todo("again")
    await call(saver, "copy_thread", "t", "copy")
    assert head_tokens(saver, "t") == head_tokens(saver, "copy") == ["a", "b"]
    assert len(saver.thread("t").working_state().todos) == 1
    assert saver.verify().ok


def test_a_server_that_gives_up_everything(postgres: Any) -> None:
    """DatabaseBusy, with the server's words; nothing is stored, and later it goes on."""
    saver = postgres.open()
    head = saver.get_tuple(append(saver, "t", "a"))
    with raw(postgres.url) as admin:
        admin.execute(CLASHING.format(10**6, "40001", "checkpoints"))
    with pytest.raises(errors.DatabaseBusy, match="restart transaction"):
        saver.put(*next_step(saver, head, "t", "b"))
    assert head_tokens(postgres.open(), "t") == ["a"]
    with raw(postgres.url) as admin:
        admin.execute("DROP TRIGGER clash ON wyrd_checkpoints")
    append(saver, "t", "c")
    assert head_tokens(postgres.open(), "t") == ["a", "c"]


def test_several_hosts_in_one_url(postgres: Any) -> None:
    """The server that takes writes is found behind one that is not there."""
    given = psycopg.conninfo.conninfo_to_dict(postgres.url)
    url = psycopg.conninfo.make_conninfo(
        postgres.url, host=f"127.0.0.1,{given['host']}", port=f"1,{given.get('port', 5432)}",
        target_session_attrs="read-write",
    )  # fmt: skip
    with WyrdSaver.from_conn_string(url) as saver:
        append(saver, "t", "a")
        assert head_tokens(saver, "t") == ["a"]
