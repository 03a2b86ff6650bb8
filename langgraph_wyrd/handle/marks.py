"""Names for points of a thread's past."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.handle.base import When, checked
from langgraph_wyrd.handle.reading import Reading
from langgraph_wyrd.hooks import Happening, afire, fire
from langgraph_wyrd.plans.labelling import Labelling, Unlabel
from langgraph_wyrd.state.labels import Label, checked_name
from langgraph_wyrd.state.listed import Page
from langgraph_wyrd.store.names import stored

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan

    Job = Callable[[Running[Memory]], Coroutine[Any, Any, "T"]]

T = TypeVar("T")


class Marks(Reading):
    """The part of a thread's handle that labels checkpoints."""

    def label(self, name: str, at: When = None, keys: Sequence[str] | None = None) -> Label:
        """Name a checkpoint. No prune takes it, and its working state stays readable.

        A name may stand at several checkpoints: the newest one is meant by it. Set again at the
        same checkpoint, it takes the place of what was there.

        Args:
            name: What it is called, anywhere a point may be given.
            at: A checkpoint id, another label, or a time; None: the head.
            keys: Which context items are promoted, that is kept with the label as they are there:
                None: all of them, []: none. Those that are not there are listed in `missing`.

        Raises:
            InvalidInput: The name is empty, or longer than 200 characters.
            ThreadNotFound: No such thread, or no such point in it.
        """
        made = self._of_here(self._found(self._core.run(self._to_label(name, at, keys)), at))
        fire(self._core, _happening(self.id, made))
        return made

    async def alabel(self, name: str, at: When = None, keys: Sequence[str] | None = None) -> Label:
        """Async version of `label`."""
        made = self._of_here(self._found(await self._core.arun(self._to_label(name, at, keys)), at))
        await afire(self._core, _happening(self.id, made))
        return made

    def labels(self) -> Page[Label]:
        """Every label, oldest checkpoint first, without what was promoted (`get_label` has it)."""
        return Page(self._of_here(each) for each in self._read(self._labelling().all))

    async def alabels(self) -> Page[Label]:
        """Async version of `labels`."""
        return Page([self._of_here(each) for each in await self._aread(self._labelling().all)])

    def get_label(self, name: str) -> Label | None:
        """The label of that name at the newest checkpoint that has it; None if there is none."""
        wanted = _name(name)
        found = self._read(lambda: self._labelling().newest(wanted))
        return None if found is None else self._of_here(found)

    async def aget_label(self, name: str) -> Label | None:
        """Async version of `get_label`."""
        wanted = _name(name)
        found = await self._aread(lambda: self._labelling().newest(wanted))
        return None if found is None else self._of_here(found)

    def unlabel(self, name: str, at: When = None) -> bool:
        """Take a label off a point; None: off the newest checkpoint that has it.

        Whether there was one. The checkpoint stays, until something prunes it.
        """
        work = Unlabel(self._stored, _name(name), checked(at))
        return self._core.run(self._to_write(work.plan))

    async def aunlabel(self, name: str, at: When = None) -> bool:
        """Async version of `unlabel`."""
        work = Unlabel(self._stored, _name(name), checked(at))
        return await self._core.arun(self._to_write(work.plan))

    def _of_here(self, label: Label) -> Label:
        return replace(label, thread_id=self.id)

    def _labelling(self) -> Labelling:
        return Labelling(self._codec, self._stored)

    def _to_label(self, name: str, at: When, keys: Sequence[str] | None) -> Job[Label | None]:
        wanted, point = _name(name), checked(at)
        if isinstance(keys, str) or any(not isinstance(key, str) for key in keys or ()):
            raise InvalidInput(f"keys={keys!r}: use a list of context keys, or None for all")
        for key in keys or ():
            stored(key, "a key")  # what no database can hold is refused here
        return self._to_write(lambda: self._labelling().put(wanted, point, keys))

    @staticmethod
    def _to_write(plan: Callable[[], Plan[T]]) -> Job[T]:
        return lambda core: core.write(plan)


def _name(name: str) -> str:
    return stored(checked_name(name), "a label")


def _happening(thread_id: str, label: Label) -> Happening:
    detail = {"name": label.name, "keys": label.keys, "missing": label.missing}
    return Happening("label", thread_id, label.checkpoint_id, detail=detail)
