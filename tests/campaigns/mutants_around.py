"""Mutants around the rows: several at once, the file itself, and the doctor."""

from __future__ import annotations

from tests.campaigns.mutant import M

MOVED, DOCTOR = "test_moved_files.py", "test_doctor.py"
SEVERAL = "test_healing_several.py"

AROUND = (
    # ---- several rows at once
    M("several: swapped checkpoints are put back", "healing/rows",
      "found = in_its_place(raw, others)", "found = None", SEVERAL, "swapped_checkpoints"),
    M("several: swapped writes are put back", "healing/rows",
      "for alien in () if copies is None else copies.alien_writes:", "for alien in ():",
      SEVERAL, "swapped_writes"),
    M("several: swapped words are put back", "healing/states",
      "return {(row[0], row[1], row[2], row[3]): row[1:] for row in right.values()}", "return {}",
      SEVERAL, "swapped_words"),
    M("several: a checkpoint that is needed stays", "healing/verifying",
      "if right is None and (ns, id) in held:", "if False:", SEVERAL, "said_at"),
    M("several: no only copy is written over", "healing/verifying",
      "for row in strand.put_back(held, wanted):", "for row in ():", SEVERAL, "only_copy"),
    M("several: a delta channel's write that is gone is told", "plans/read",
      "loading.all_there(ns, id, held + beside[id])", "pass", SEVERAL, "gone_is_told"),
    M("several: a resumed task's write that is gone is noticed", "plans/loading",
      " or sum(idx >= 0 for idx in numbers) < _MARKS.get(mark, 0)", "", SEVERAL, "resumed"),
    M("several: what is met is told, or raised", "healing/states",
      "    if not heals:  # it was passed over",
      "    if not heals:\n        raise first\n    if False:  #", SEVERAL, "what_is_due"),
    M("several: what a subgraph changed is no damage", "plans/weaving",
      'weave.shown, state, weave.top or "")', 'weave.shown, state, "x")', SEVERAL, "whole"),
    # ---- around the file
    M("a file that is gone is not written to", "store/sqlite",
      '            self._whereabouts.look(beside=begin != "BEGIN")\n', "",
      MOVED, "file_that_is_gone or backup"),
    M("a file that is gone is not made anew", "store/whereabouts",
      "        if found != self._file:", "        if found and found != self._file:",
      MOVED, "file_that_is_gone"),
    M("another file is not gone on with", "store/whereabouts",
      "        if found != self._file:", "        if not found:", MOVED, "backup"),
    M("a WAL that is left is no other file's", "store/sqlite",
      "                    await self._writer.call(self._whereabouts.save)\n",
      "                    pass\n", MOVED, "beside_it or backup"),
    M("what lies beside the file is looked at", "store/whereabouts",
      "            elif held != found:", "            elif False:", MOVED, "beside_it"),
    M("after that it is opened anew", "store/running",
      "            if error.opens_anew and self._opened is opened:", "            if False:",
      MOVED, "beside_it"),
    M("a path means where it was given", "opening",
      "        return replace(address, target=os.path.abspath(address.target))\n",
      "        return address\n", MOVED, "goes_elsewhere"),
    M("what came before its checkpoint is told of one that sorts before others",
      "plans/catching_up", "            told_late = yield from self._told_late(put, weaver)\n",
      "            told_late = False\n", "test_clock.py", "jumps_back"),
    # ---- the doctor
    M("a thread is looked at as it is now", "healing/verifying",
      "    look = _Look(codec, weaver, ThreadRow(*rows[0]))\n    yield from look.all()\n    return",
      "    look = _Look(codec, weaver, row)\n    yield from look.all()\n    return",
      DOCTOR, "at_work"),
    M("a repair is quiet", "healing/verifying",
      "row.thread_id, aloud=False)\n        else", "row.thread_id)\n        else",
      DOCTOR, "quiet"),
    M("what stays is not repaired again", "parts/verified",
      "        if not repair or not any(each.repairable for each in found):",
      "        if not repair or not any(each.damage for each in found):", DOCTOR, "quiet"),
)  # fmt: skip
