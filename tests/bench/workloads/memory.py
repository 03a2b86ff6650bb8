"""Memory held while a long history is listed, in a process of its own."""

from __future__ import annotations

from ..child import in_new_process
from ..run import Bench, rotated
from ..savers import OURS

MB = 1_000_000


async def run(bench: Bench) -> None:
    _, middle, longest = bench.scale.turns
    for turns in (middle, longest):
        # The official Postgres saver fetches a whole history at once: many GB at 1,000 turns.
        watched = [key for key in bench.savers if turns == middle or key in OURS]
        if not (watched := [key for key in watched if key != "memory"]):
            continue
        for subject in rotated(await bench.chats(turns), 0):
            if subject.key not in watched:
                continue
            found = await in_new_process("listing", subject.place, bench.scale.listed)
            add = bench.figures.add
            where = f"listing {turns} turns"
            add("memory", f"{where}, peak of Python's memory, MB", subject.key, found["peak"] / MB)
            add("memory", f"{where}, growth of the process, MB", subject.key, found["rss"] / MB)
            add("memory", f"{where}, peak in loaded heads", subject.key, found["heads"])
            add("memory", f"{where}, peak to that of one page", subject.key, found["pages"])
    await bench.release(longest)
