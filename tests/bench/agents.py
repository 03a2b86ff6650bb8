"""deepagents' own agent, with a scripted model: its messages and files are DeltaChannels."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent
from deepagents.backends.utils import create_file_data
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from .graphs import MESSAGES_A_TURN, Script
from .prose import prose


class ScriptedModel(BaseChatModel):
    """Asks for one edit a turn, then answers. Each file ends in the number of its last edit."""

    script: Any
    files: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        said = [message for message in messages if message.type != "system"]
        number = len(said)
        answer: AIMessage = self.script.answer(number)
        if isinstance(said[-1], HumanMessage):
            before, file = divmod(number // MESSAGES_A_TURN, self.files)
            new = f"{prose(200, 'edit', number)} [{before + 1}]"
            edit = {"file_path": path(file), "old_string": f"[{before}]", "new_string": new}
            call = {"name": "edit_file", "args": edit, "id": f"call_{self.script.id(number)[:23]}"}
            answer = AIMessage(answer.content, id=answer.id, tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def path(file: int) -> str:
    return f"/notes/{file:03}.md"


def folder(files: int, size: int) -> dict[str, Any]:
    """The files that the first turn brings."""
    return {path(n): create_file_data(prose(size, "file", n) + " [0]") for n in range(files)}


def deepagents_agent(saver: Any, script: Script, files: int) -> Any:
    return create_deep_agent(model=ScriptedModel(script=script, files=files), checkpointer=saver)
