"""LangGraph's own conformance kit, through the async methods and through the sync ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.report import ProgressCallbacks

from langgraph_wyrd import WyrdSaver
from tests.conftest import Backend

# What the kit runs, by name (without "test_"): a test that is no longer run fails here.
KIT = {
    "put": """
        put_returns_config put_roundtrip put_preserves_channel_values
        put_preserves_channel_versions put_preserves_versions_seen put_preserves_metadata
        put_root_namespace put_child_namespace put_default_namespace
        put_multiple_checkpoints_same_thread put_multiple_threads_isolated put_parent_config
        put_incremental_channel_update put_new_channel_added put_channel_removed
        put_preserves_run_id put_preserves_versions_seen_values
    """,
    "put_writes": """
        put_writes_basic put_writes_multiple_writes_same_task put_writes_multiple_tasks
        put_writes_preserves_task_id put_writes_preserves_channel_and_value put_writes_task_path
        put_writes_idempotent put_writes_special_channels put_writes_across_namespaces
        put_writes_cleared_on_next_checkpoint
    """,
    "get_tuple": """
        get_tuple_nonexistent_returns_none get_tuple_latest_when_no_checkpoint_id
        get_tuple_specific_checkpoint_id get_tuple_config_structure get_tuple_checkpoint_fields
        get_tuple_metadata get_tuple_parent_config get_tuple_pending_writes
        get_tuple_respects_namespace get_tuple_nonexistent_checkpoint_id
    """,
    "list": """
        list_all list_by_thread list_by_namespace list_ordering list_metadata_filter_single_key
        list_metadata_filter_step list_metadata_filter_multiple_keys
        list_metadata_filter_no_match list_metadata_custom_keys list_before list_limit
        list_limit_plus_before list_combined_thread_and_filter list_empty_result
        list_includes_pending_writes list_multiple_namespaces
    """,
    "delete_thread": """
        delete_thread_removes_checkpoints delete_thread_removes_writes
        delete_thread_removes_all_namespaces delete_thread_preserves_other_threads
        delete_thread_nonexistent_noop
    """,
    "delete_for_runs": """
        delete_for_runs_single delete_for_runs_multiple delete_for_runs_preserves_other_runs
        delete_for_runs_removes_writes delete_for_runs_empty_list_noop
        delete_for_runs_nonexistent_noop delete_for_runs_across_namespaces
    """,
    "copy_thread": """
        copy_thread_basic copy_thread_all_checkpoints copy_thread_preserves_metadata
        copy_thread_preserves_namespaces copy_thread_preserves_writes
        copy_thread_preserves_ordering copy_thread_source_unchanged
        copy_thread_nonexistent_source
    """,
    "prune": """
        prune_keep_latest_single_thread prune_keep_latest_multiple_threads
        prune_keep_latest_across_namespaces prune_keep_latest_preserves_writes prune_delete_all
        prune_preserves_other_threads prune_empty_list_noop prune_nonexistent_noop
    """,
}


class SyncMethods(BaseCheckpointSaver[Any]):
    """Gives the kit, which is asynchronous, the sync methods of a saver, called on its loop."""

    def __init__(self, saver: WyrdSaver) -> None:
        super().__init__()
        self.saver = saver

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return self.saver.put(*args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        self.saver.put_writes(*args, **kwargs)

    async def aget_tuple(self, config: Any) -> Any:
        return self.saver.get_tuple(config)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for found in self.saver.list(*args, **kwargs):
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Any) -> None:
        self.saver.delete_for_runs(run_ids)

    async def acopy_thread(self, source: str, target: str) -> None:
        self.saver.copy_thread(source, target)

    async def aprune(self, *args: Any, **kwargs: Any) -> None:
        self.saver.prune(*args, **kwargs)


@pytest.mark.parametrize("methods", ["async", "sync"])
@pytest.mark.parametrize("capability", KIT)
async def test_the_kit_passes(backend: Backend, capability: str, methods: str) -> None:
    """The kit finds the capability, runs exactly the tests that are known, and all of them pass."""
    ran: dict[str, str | None] = {}

    @checkpointer_test(name="wyrd")
    async def saver() -> AsyncIterator[Any]:
        opened = backend.open()
        yield opened if methods == "async" else SyncMethods(opened)

    def note(_capability: str, name: str, passed: bool, error: str | None) -> None:
        ran[name.removeprefix("test_")] = None if passed else error or "failed"

    report = await validate(
        saver, capabilities={capability}, progress=ProgressCallbacks(on_test_result=note)
    )
    failed = {name: error for name, error in ran.items() if error}
    assert not failed, "\n".join(failed.values())  # type: ignore[arg-type]
    assert set(ran) == set(KIT[capability].split())
    result = report.results[capability]
    assert (result.detected, result.passed, result.tests_passed) == (True, True, len(ran))


def test_the_kit_has_no_other_capability() -> None:
    """The capabilities tested above are all that the kit knows, and the sync methods stand too."""
    assert [c.value for c in Capability] == list(KIT)
    for name in KIT:
        for method in (name, "a" + name):
            assert getattr(WyrdSaver, method) is not getattr(BaseCheckpointSaver, method)
