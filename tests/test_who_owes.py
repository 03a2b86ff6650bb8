"""Who owes whom, and what is wanted now: each rule live on a saver, and by `extract` alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import Channels, WorkingState, WyrdSaver, extract
from tests.conftest import Backend
from tests.scripted_agents import Scripted
from tests.test_threads import live, outcomes

Talk = Callable[..., WorkingState]


def config(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}}


def turns(*said: str) -> list[dict[str, Any]]:
    """Messages `m1`, `m2` …: "P …" of a person, "A …" of the agent, "A! …" with a call whose
    result follows it."""
    held: list[dict[str, Any]] = []
    for text in said:
        who, _, words = text.partition(" ")
        message: dict[str, Any] = {"id": f"m{len(held) + 1}", "content": words}
        message["role"] = "user" if who == "P" else "assistant"
        held.append(message)
        if who == "A!":
            call = f"c{len(held)}"
            message["tool_calls"] = [{"id": call, "name": "look", "args": {}}]
            result = {"role": "tool", "content": "ok", "tool_call_id": call}
            held.append({**result, "id": f"m{len(held) + 1}"})
    return held


@pytest.fixture
def talk() -> Any:
    """The state after these turns: the saver's, which is the same as what `extract` gives."""
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        count = iter(range(100))

        def talk(*said: str) -> WorkingState:
            messages = turns(*said)
            state = WorkingState()
            for place in range(len(messages)):
                state = extract({"messages": messages[: place + 1]}, previous=state)
            found = live(saver, f"t{next(count)}", messages)
            assert outcomes(found) == outcomes(state)
            return found

        yield talk


def owed(state: WorkingState) -> list[str | None]:
    return [x.source.message_id for x in state.open_loops if x.kind == "request"]


def aim(state: WorkingState) -> str | None:
    return None if state.intention is None else state.intention.source.message_id


def test_an_ai_message_with_tool_calls_closes_nothing(talk: Talk) -> None:
    """Words that come with a call are not the answer."""
    state = talk("P Which port is it?", "A! I'll look that up.")
    assert (owed(state), aim(state)) == (["m1"], "m1")


def test_the_last_message_of_a_finished_run_closes(talk: Talk) -> None:
    """The agent's words without a call end what was asked; the aim and its outcome stay known."""
    state = talk("P Which port is it?", "A! I'll look that up.", "A It is 8080.")
    assert (owed(state), aim(state), state.status) == ([], None, "done")
    assert state.intentions[-1].outcome == "answered"


@pytest.mark.parametrize(
    "words",
    [
        "Which of the two servers do you mean?",
        "I need the name of the server for that.",
        "One moment, I'm checking the configuration.",
        "I'll get back to you as soon as the admins answer.",
        "Ich kümmere mich darum und melde mich.",
        "¿De qué servidor se trata?",
        "少々お待ちください、確認いたします。",
    ],
)
def test_asking_back_promising_and_beginning_close_nothing(talk: Talk, words: str) -> None:
    state = talk("P Which port is it?", f"A {words}")
    assert (owed(state), aim(state)) == (["m1"], "m1")


def test_what_makes_a_request_concrete_or_changes_it_replaces_it(talk: Talk) -> None:
    """Also in the middle of the agent's work, and where nothing was asked."""
    state = talk("P I have a question", "A Sure, what would you like to know?", "P Why is it slow?")
    assert (owed(state), aim(state)) == (["m3"], "m3")
    state = talk("P Draw a chart of the sales", "A! On it.", "P make it a table instead")
    assert (owed(state), aim(state)) == (["m4"], "m4")


@pytest.mark.parametrize("words", ["thanks!", "great, bye", "merci beaucoup", "ok", "谢谢", "👍"])
def test_small_answers_thanks_and_goodbyes_are_no_requests(talk: Talk, words: str) -> None:
    state = talk("P Rename the file", "A Renamed.", f"P {words}")
    assert (owed(state), aim(state), state.status) == ([], None, "done")


def test_greetings_and_answers_to_an_agent_that_leads_are_no_requests(talk: Talk) -> None:
    """A name, a number: who answers what an agent asks on its own wants nothing yet."""
    led = [
        "P Hi",
        "A Hello! Your loan is due. What is your name?",
        "P Ada Jones",
        "A And your PIN?",
    ]
    state = talk(*led)
    assert (owed(state), aim(state)) == ([], None)
    state = talk(*led, "P it is 4711, can I pay in two parts?")
    assert (owed(state), aim(state)) == (["m5"], "m5")
    for asked, wish in (
        ("Shall I revert the two files?", "yes, do that and add a test"),
        ("Hallo, wie kann ich Ihnen helfen?", "Ein Freund und ich wollen ins Kino."),
        ("¿En qué puedo ayudarle?", "Quiero un turno"),
    ):
        assert owed(talk(f"A {asked}", f"P {wish}")) == ["m2"]


THREE = "P What does it cost? Is there a trial? Who is the owner?"


@pytest.mark.parametrize(
    "answer",
    [
        "1. 20 euros.\n2. Yes, for 14 days.",
        "It costs 20 euros and there is a trial of 14 days. Let me check who the owner is.",
    ],
)
def test_asked_three_things_and_answered_two_the_third_stays_open(talk: Talk, answer: str) -> None:
    """Where numbers, or what the agent says it does next, show which."""
    state = talk(THREE, f"A {answer}")
    assert [x.description for x in state.open_loops] == ["Who is the owner?"]
    assert (aim(state), state.status) == ("m1", "idle")


def test_where_it_cannot_be_known_whether_all_is_answered_the_thread_is_quiet(talk: Talk) -> None:
    """An answer that has no word of one of several questions claims no more than that."""
    state = talk(THREE, "A It costs 20 euros and there is a trial of 14 days.")
    assert (owed(state), state.status) == ([], "quiet")
    assert state.reason is not None
    assert state.reason.startswith("nothing seems open, but perhaps not all of this was answered")
    assert state.intentions[-1].outcome == "answered, perhaps not all of it"
    state = talk(THREE, "A It costs 20 euros, there is a 14-day trial, and its owner is Ann.")
    assert state.status == "done"


async def test_quiet_threads_are_listed_as_such(backend: Backend) -> None:
    """`threads(status="quiet")` finds them, on both databases."""
    saver = backend.open()
    live(saver, "t", turns(THREE, "A It costs 20 euros and there is a trial."))
    assert [x.thread_id for x in saver.threads(status="quiet")] == ["t"]
    assert not saver.threads(status="done")


@pytest.mark.parametrize(
    "words",
    [
        "draw a pie chart instead",
        "actually, write a summary",
        "stop. Write a summary",
        "never mind the chart, write a summary",
        "forget the chart, I want a table",
        "vergiss das Diagramm, schreib eine Zusammenfassung",
        "laisse tomber, écris plutôt un résumé",
    ],
)
def test_a_redirection_withdraws_an_aim_and_sets_a_new_one(talk: Talk, words: str) -> None:
    state = talk("P Draw a chart of the sales", "A! Drawing it.", f"P {words}")
    assert (owed(state), aim(state)) == (["m4"], "m4")
    assert state.intentions[0].outcome is not None


@pytest.mark.parametrize("words", ["go on", "yes, go ahead", "run it again", "weiter", "再试一次"])
def test_going_on_sets_no_aim(talk: Talk, words: str) -> None:
    """What was wanted last is wanted again."""
    state = talk("P Run the tests", "A 3 of 40 fail.", f"P {words}")
    assert (owed(state), aim(state)) == (["m3"], "m1")
    state = talk("P Run the tests", "A Shall I run all of them?", f"P {words}")
    assert (owed(state), aim(state)) == (["m1"], "m1")


@pytest.mark.parametrize("words", ["stop", "never mind", "stopp", "laisse tomber", "算了"])
def test_stop_alone_ends_an_aim(talk: Talk, words: str) -> None:
    state = talk("P Draw a chart of the sales", "A! Drawing it.", f"P {words}")
    assert (owed(state), aim(state)) == ([], None)
    assert state.intentions[-1].outcome == "called off"


# ---- one wait is one item, in real agents


@tool
def refund(order: int) -> str:
    """Give the money back."""
    return "refunded"


def agent(saver: Any) -> Any:
    def rule(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("Order 7 is refunded.", id="a2")
        call = {"name": "refund", "args": {"order": 7}, "id": "c1", "type": "tool_call"}
        return AIMessage("I'll refund it.", id="a1", tool_calls=[call])

    gate = HumanInTheLoopMiddleware({"refund": True})
    return create_agent(
        Scripted(rule=rule), [refund], middleware=[gate], checkpointer=saver, name="clerk"
    )


async def test_an_approval_that_waits_hides_its_call(backend: Backend, call: Any) -> None:
    """It is one item, and names the node that asked; approved, the run goes on to its end."""
    saver = backend.open()
    asked = {"messages": [HumanMessage("Refund order 7", id="m1")]}
    graph = agent(saver)
    await call(graph, "invoke", asked, config())
    state = saver.thread("t").working_state()
    waiting = [x for x in state.open_loops if x.kind != "request"]
    assert [x.kind for x in waiting] == ["interrupt"]
    assert waiting[0].source.node == "HumanInTheLoopMiddleware.after_model"
    assert (state.status, owed(state), aim(state)) == ("interrupted", ["m1"], "m1")
    await call(graph, "invoke", Command(resume={"decisions": [{"type": "approve"}]}), config())
    state = saver.thread("t").working_state()
    assert (state.status, state.open_loops, aim(state)) == ("done", (), None)


async def test_a_subagents_approval_is_one_loop(backend: Backend) -> None:
    """Not one in each namespace, and its calls are not listed as well; it names the subagent."""
    inner = agent(None)

    @tool
    async def delegate(text: str) -> str:
        """Have the clerk do it."""
        done = await inner.ainvoke({"messages": [HumanMessage(text)]})
        return str(done["messages"][-1].content)

    def rule(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("Done, order 7 is refunded.")
        made = {"name": "delegate", "args": {"text": "Refund 7"}, "id": "d1", "type": "tool_call"}
        return AIMessage("", tool_calls=[made])

    saver = backend.open()
    lead = create_agent(Scripted(rule=rule), [delegate], checkpointer=saver, name="lead")
    await lead.ainvoke({"messages": [HumanMessage("Refund order 7", id="m1")]}, config())
    state = saver.thread("t").working_state()
    (asks,) = [x for x in state.open_loops if x.kind == "interrupt"]
    assert asks.source.ns
    assert asks.source.agent == "clerk"
    assert [x.kind for x in state.open_loops if x is not asks and not x.source.ns] == ["request"]
    assert not [x for x in state.open_loops if x.kind == "tool_call"]


# ---- channels


class Busy(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[Any]
    goal: str
    city: str
    draft: str
    status: str
    turns: int
    token_usage: dict[str, int]
    system_prompt: str
    file_tree: list[str]


BUSY: Busy = {
    "messages": [HumanMessage("Book it", id="m1")],
    "todos": ["pack"],
    "goal": "Oslo",
    "city": "Oslo",
    "draft": "secret",
    "status": "working",
    "turns": 3,
    "token_usage": {"input": 9},
    "system_prompt": "You are kind.",
    "file_tree": ["a.py"],
}


def busy(backend: Backend, **options: Any) -> WorkingState:
    saver = backend.open(**options)
    builder: Any = StateGraph(Busy)
    builder.add_node("work", lambda state: {"city": "Oslo"})
    builder.add_edge(START, "work")
    builder.compile(checkpointer=saver).invoke(BUSY, config())
    return saver.thread("t").working_state()


def test_bookkeeping_channels_are_no_context(backend: Backend) -> None:
    """Status, turns, token counters, system prompt and file tree say nothing of the task."""
    assert {x.key for x in busy(backend).context} == {"city", "draft"}


@pytest.mark.parametrize("ephemeral", ["draft", "todos", "goal", "messages"])
def test_ephemeral_channels_stay_out_of_the_working_state(backend: Backend, ephemeral: str) -> None:
    """Nothing of a channel that is never stored: no context, todo, aim or loop."""
    state = busy(backend, channels=Channels(ephemeral=[ephemeral]))
    said = state.to_json()
    gone = {"draft": "secret", "todos": "pack", "goal": '"goal"', "messages": "Book it"}[ephemeral]
    assert gone not in said


def test_an_interrupt_of_a_node_is_one_item(backend: Backend) -> None:
    """It is listed once, with its node, and closed by its answer."""

    def ask(state: Busy) -> Any:
        return {"city": interrupt("Which city?")}

    saver = backend.open()
    builder: Any = StateGraph(Busy)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": []}, config())
    (asked,) = saver.thread("t").working_state().open_loops
    assert (asked.kind, asked.source.node, asked.description) == ("interrupt", "ask", "Which city?")
    assert extract(graph.get_state(config())).open_loops[0].description == "Which city?"
    graph.invoke(Command(resume="Oslo"), config())
    state = saver.thread("t").working_state()
    assert (state.open_loops, state.get_context("city")) == ((), "Oslo")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Label the jars and send the price list to Ann", "The jars are labelled."),
        ("Beschrifte die Gläser und schick Anna die Preisliste", "Die Gläser sind beschriftet."),
        ("Etiqueta los frascos y manda la tarifa nueva a Ana", "Los frascos están etiquetados."),
        ("Étiquette les bocaux et envoie le tarif à Anne", "Les bocaux sont étiquetés."),
        ("Etichetta i vasetti e manda il listino ad Anna", "I vasetti sono etichettati."),
        ("Etiqueta os frascos e manda a tabela nova pra Ana", "Os frascos estão etiquetados."),
        ("Plak etiketten op de potten en stuur Anna de prijslijst", "De potten hebben etiketten."),
        ("给罐子贴标签然后把价目表发给小安", "罐子的标签贴好了。"),
        ("瓶にラベルを貼って、価格表をアンナさんに送って", "瓶にラベルを貼りました。"),
    ],
)
def test_what_an_answer_leaves_out_stays_open(talk: Talk, asked: str, told: str) -> None:
    """Of two things that were asked for, one that is not heard of again."""
    state = talk(f"P {asked}", "A! ", f"A {told}")
    assert (owed(state), aim(state)) == (["m1"], "m1")


def test_all_that_was_asked_for_is_done(talk: Talk) -> None:
    """Where an answer speaks of both, or says that it is all, or as many tools were called."""
    asked = "P Label the jars and send the price list to Ann"
    for told in ("The jars are labelled, and Ann has the price list.", "Both are done."):
        state = talk(asked, "A! ", f"A {told}")
        assert (owed(state), aim(state)) == ([], None)


def test_who_needs_nothing_more_leaves_nothing_open(talk: Talk) -> None:
    """A rest that an answer left out is over when the person says that this is all."""
    state = talk(
        "P Label the jars and send the price list to Ann",
        "A! ",
        "A The jars are labelled.",
        "P that's all, thanks",
    )
    assert (owed(state), aim(state)) == ([], None)


def test_an_offer_to_do_what_was_asked_for_is_a_question(talk: Talk) -> None:
    """It waits for leave; an offer beyond what was asked for is none, and the work is done."""
    asked = "P Paint the sign and publish it on the board"
    for told, left in (
        ("The sign is painted. Shall I publish it like this?", ["m1"]),
        ("Painted, and on the board: all done. Shall I varnish the frame?", []),
    ):
        state = talk(asked, "A! ", f"A {told}")
        assert owed(state) == left


def test_a_question_about_work_that_runs_is_answered_alone(talk: Talk) -> None:
    state = talk(
        "P Copy the photos to the disk",
        "A It is running, I'll report when it is through.",
        "P how far is it?",
        "A! ",
        "A 40 %, an hour to go.",
    )
    assert (owed(state), aim(state)) == (["m1"], "m1")


def test_a_word_that_answers_is_no_new_aim(talk: Talk) -> None:
    """Also where it is a word of turning back in some language."""
    state = talk("P Rename the column", "A Keep an alias, or drop it?", "P alias", "A! ")
    assert (owed(state), aim(state)) == (["m1"], "m1")


def test_slogans_that_were_asked_for_ask_nobody(talk: Talk) -> None:
    told = "1. Spring is here\n2. Ready to dig? Your spade is\n3. What would you plant?"
    state = talk("P Write 3 slogans for the garden fair", f"A {told}")
    assert (state.open_loops, aim(state)) == ((), None)


def test_an_order_that_is_cancelled_after_the_work_is_a_request(talk: Talk) -> None:
    """Nothing is being done that could be called off."""
    state = talk("P Where is my parcel?", "A It is in Lyon.", "P ok then cancel it")
    assert (owed(state), aim(state)) == (["m3"], "m3")


def test_a_question_after_words_of_its_own_opens_again_what_they_closed(talk: Talk) -> None:
    """An agent that speaks in two messages: the first was not the end of its turn."""
    state = talk(
        "P I want to see the new film tonight",
        "A It runs at 14:40, 19:10 and 21:30.",
        "A Does one of these suit you?",
    )
    assert (owed(state), aim(state)) == (["m1"], "m1")
    assert [x.source.message_id for x in state.open_loops if x.kind == "question"] == ["m3"]


def test_a_wish_after_an_answer_that_ends_with_a_question_is_new(talk: Talk) -> None:
    """What was asked before is answered then; a bare answer keeps it open, for more was asked."""
    told = "- Jamaica\n- Aruba\n- Bonaire\n\nWhich kind of beach should it have?"
    asked = ("P Find me warm islands with beaches", f"A {told}")
    assert owed(talk(*asked, "P white sand")) == ["m1"]
    state = talk(*asked, "P could you recommend a hotel on Aruba?")
    assert (owed(state), aim(state)) == (["m3"], "m3")


def test_what_is_asked_beyond_an_answered_question_is_an_offer(talk: Talk) -> None:
    told = "Income was 5,000.\n\nExpenses were 2,550.\n\nSee the largest ones by category?"
    state = talk("P What is my balance?", f"A {told}")
    assert (state.open_loops, aim(state)) == ((), None)


def test_a_list_at_the_end_is_what_its_lead_demands(talk: Talk) -> None:
    """However long the list is: the agent waits for all of it."""
    told = (
        "I've found your account. Please send me:\n1. Street\n2. Number\n3. City\n4. State\n5. Zip"
    )
    state = talk("P Change the address on my account", f"A {told}")
    assert [x.kind for x in state.open_loops] == ["request", "question"]


def test_a_promise_behind_a_courtesy_begins_nothing(talk: Talk) -> None:
    told = "It was the cache; it is fixed. If it fails again, let me know. I'll look into it then."
    state = talk("P The page is slow, fix it", f"A {told}")
    assert (state.open_loops, aim(state)) == ((), None)


def test_questions_inside_an_instruction_are_no_requests_of_their_own(talk: Talk) -> None:
    words = "Write a plan with these parts:\n- What do we solve?\n- Who is it for?"
    state = talk(f"P {words}")
    (request,) = state.open_loops
    assert request.description.startswith("Write a plan")


def test_more_than_an_answer_replaces_what_was_asked(talk: Talk) -> None:
    """A wish of some length, where an agent with tools waits for an answer; a short one answers."""
    asked = ("P Book the hall for Friday", "A! ", "A Which of the two halls do you mean?")
    assert owed(talk(*asked, "P the big one, please")) == ["m1"]
    words = "please update everything to Saturday the 14th in the town hall"
    assert owed(talk(*asked, f"P {words}")) == ["m5"]


def test_what_is_wanted_under_a_condition_is_a_courtesy(talk: Talk) -> None:
    said = "Der Termin steht: Freitag um 13 Uhr. Falls es nicht passt, geben Sie uns Bescheid."
    state = talk("P Ich brauche einen Termin am Freitag", f"A {said}")
    assert (state.open_loops, aim(state)) == ((), None)


@pytest.mark.parametrize(
    "told",
    [
        "Fixed. The test passes now. Want me to commit it?",
        "The login test is green again. Should we tackle the warnings next?",
        "Done. Does that solve your problem?",
        "I've corrected the mock and all 42 tests pass. Would you like to review the diff?",
    ],
)
def test_an_offer_after_finished_work_waits_for_nobody(talk: Talk, told: str) -> None:
    """What is reported as done closes the request, whatever is offered then."""
    assert owed(talk("P Fix the failing login test", f"A {told}")) == []


@pytest.mark.parametrize(
    "told",
    [
        "I've prepared the mail to Anna. Should I send it?",
        "I couldn't reach the mail server. Want me to try again?",
        "The mail is still a draft. Shall I send it as it is?",
    ],
)
def test_an_offer_to_do_the_work_itself_waits(talk: Talk, told: str) -> None:
    assert owed(talk("P Send the mail to Anna", f"A {told}")) == ["m1"]


def test_a_choice_after_finished_work_waits_for_nobody(talk: Talk) -> None:
    """Offered with an "or", or as a list; before the work is done it is a question."""
    work = "I've added the footer and the imprint. " + "Both use the colours of the header. " * 9
    lists = "Would you like me to:\n1. Add a sitemap?\n2. Translate the pages?"
    either = "Would you like me to add a sitemap, or should I translate the pages?"
    for choice in (lists, either):
        assert owed(talk("P Finish the website", f"A {work}\n\n{choice}")) == []
        assert owed(talk("P Finish the website", f"A {choice}")) == ["m1"]
