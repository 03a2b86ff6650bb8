"""Mutants around the rows: the file itself, and the doctor."""

from __future__ import annotations

from tests.campaigns.mutant import M

MOVED, DOCTOR = "test_moved_files.py", "test_doctor.py"

AROUND = (
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
