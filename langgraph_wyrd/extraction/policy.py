"""How channels are treated: bookkeeping, context, never stored, a user's own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from langgraph_wyrd.extraction.patterns import late

# Channels with a pillar of their own, or that only say how the run goes (see SIGNALS.md, 6).
OWN_PILLAR = frozenset(("messages", "todos", "async_tasks", "rubric"))
# What common agents count, what they are made of, and where their graph goes next.
_COMMON = """
    status version schema_version count counter turn turns turn_count num_turns max_turns
    current_turn iteration iterations iteration_count max_iterations loop_count loop_step step_count
    max_steps current_step retries retry_count max_retries attempt attempts error_count
    message_count tool_call_count recursion_limit llm_calls call_count tokens token_count
    total_tokens input_tokens output_tokens prompt_tokens completion_tokens token_usage
    usage_metadata prompt prompts
    system_prompt system_message base_prompt prompt_template file_tree directory_tree project_tree
    repo_map next next_agent active_agent current_agent sender
"""
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
        *_COMMON.split(),
    )
)
_JOINT = late(r"(?<=[a-z0-9])(?=[A-Z])")


def is_bookkeeping(name: str) -> bool:
    """Whether a channel only says how a run goes; `turnCount` is `turn_count`. The whole name
    counts: `order_status` and `prompt_for_guests` are the user's own."""
    if name in BOOKKEEPING:
        return True
    return not name.islower() and _JOINT.sub("_", name).lower() in BOOKKEEPING


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
        return not private and name not in OWN_PILLAR and not is_bookkeeping(name)


DEFAULT = Channels()
