"""How channels are treated: bookkeeping, context, never stored, a user's own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

# Channels with a pillar of their own, or that only say how the run goes (see SIGNALS.md, 6).
OWN_PILLAR = frozenset(("messages", "todos", "async_tasks", "rubric"))
BOOKKEEPING = frozenset(
    (
        "jump_to",
        "remaining_steps",
        "is_last_step",
        "hitl_edited_tool_calls",
        "thread_model_call_count",
        "run_model_call_count",
        "thread_tool_call_count",
        "run_tool_call_count",
        # What common agents count, and what they are made of.
        "status",
        "version",
        "schema_version",
        "turns",
        "turn_count",
        "num_turns",
        "iteration",
        "iterations",
        "loop_count",
        "step_count",
        "retry_count",
        "recursion_limit",
        "llm_calls",
        "tokens",
        "token_count",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "token_usage",
        "system_prompt",
        "system_message",
        "file_tree",
        "directory_tree",
    )
)


@dataclass(frozen=True)
class Channels:
    """How channels are treated, by name.

    Args:
        context: The channels that make the context pillar; None: all but bookkeeping.
        ephemeral: Channels that are never written to the database.
        exclude: Channels that are stored, but kept out of the pillars.
        user: Channels whose values belong to the run's user: they are kept apart, out of the
            pillars, until `erase_user`.
        aims: Channels that say what the agent is after. One that holds a list is a plan of steps.
    """

    context: Collection[str] | None = None
    ephemeral: Collection[str] = field(default=())
    exclude: Collection[str] = field(default=())
    user: Collection[str] = field(default=())
    aims: Collection[str] = ("goal", "intention", "objective", "plan")

    def left_out(self, name: str) -> bool:
        """Whether the pillars say nothing of a channel."""
        return name in self.exclude or name in self.ephemeral or name in self.user

    def is_context(self, name: str) -> bool:
        """Whether a channel's value is an entry of the context pillar."""
        if self.left_out(name):
            return False
        if self.context is not None:
            return name in self.context
        private = name.startswith(("_", "branch:to:", "join:"))
        return not private and name not in OWN_PILLAR and name not in BOOKKEEPING


DEFAULT = Channels()
