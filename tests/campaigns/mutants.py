"""Every branch that heals, taken out one at a time: some test must fail without it.

    python -m tests.campaigns.mutants [--only a word] [--jobs 2]

Each mutant is a textual change to a copy of the package; its tests are run against the copy, on
SQLite. A mutant that no test notices survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HEALING, VERIFY, PILLARS = "test_healing.py", "test_verify.py", "test_healing_pillars.py"
ROWS, PAGES, FAULTS = "test_healing_rows.py", "test_page_damage.py", "test_faults.py"


class Mutant(NamedTuple):
    """What stands in `module` as `old` becomes `new`; the test `test` (and -k `which`) fails."""

    name: str
    module: str
    old: str
    new: str
    test: str
    which: str


M = Mutant
MUTANTS = (
    # ---- a strand's rows
    M("a flipped bit is put right", "healing/strand",
      "data = flips.put_right(row[6], lambda data: checksum(data, *row[:6]) == total)",
      "data = None", HEALING, "flipped_bit_is_put_right_without"),
    M("a shape is worked out", "healing/strand",
      "in self._shapes(row, length):", "in ():", HEALING, "worked_out_anew and sqlite"),
    M("a chain is worked out", "healing/strand",
      "if leads(link(chain, total)):", "if False:", HEALING, "worked_out_anew and chain"),
    M("a checksum is worked out", "healing/strand",
      "if chain is not None and link(chain, total) == row[8]:", "if False:",
      ROWS, "checksum_of_a_frame"),
    M("elements are copied from a task's write", "healing/copies",
      "    made.add_writes(writes)\n", "", HEALING, "copied_from_its_tasks_write"),
    M("elements are copied from another strand", "healing/copies",
      "    made.add_splices(splices)\n", "", HEALING, "copied_from_another_strand"),
    M("swapped rows are put back", "healing/strand",
      "held[key] = moved", "pass", HEALING, "swapped_splices"),
    M("a row that is in no place is put back", "healing/strand",
      "in keys if key in bad or key not in held]", "in keys if key in bad]", ROWS, "in_no_place"),
    M("a row too many is passed over aloud", "healing/strand",
      "if strays := ", "if strays := () and ", ROWS, "in_no_place"),
    M("a missing row is made anew", "healing/strand",
      "            found = self._copied(row, lambda total: leads(link(chain, total)))\n",
      "            found = None\n", HEALING, "missing_splice_is_made_anew"),
    M("lengths tell what missing rows added", "healing/strand",
      "then = self._lengths.get(key[0])", "then = None", ROWS, "several_missing"),
    M("a missing row leaves a gap", "healing/strand",
      "        return Lost(*key, length, 0, then - length)", "        return None",
      HEALING, "missing_message"),
    M("a lost row leaves a gap", "healing/strand",
      "return Lost(row[1], row[2], keep, cut, added, row[6])", "return None",
      HEALING, "lost_message"),
    # ---- a checkpoint's row, a task's write
    M("a checkpoint's numbers are put right", "healing/rows",
      "    for row in _tries(list(raw), [fields.index(name) for name in _OF_CHECKPOINT]):",
      "    for row in ():", HEALING, "checkpoints_row_is_put_right"),
    M("a checkpoint's parent is found", "healing/rows",
      "    for parent in (None, *ids):", "    for parent in ():",
      HEALING, "checkpoints_row_is_put_right and parent"),
    M("a checkpoint's texts are put right", "healing/rows",
      '_flipped(list(raw), ("metadata", "exact", "ts", "parent", "id", "ns"), fields, fits)',
      "None", HEALING, "checkpoints_row_is_put_right"),
    M("a write's number is put right", "healing/rows",
      '    for row in _tries(list(raw), [fields.index("idx")]):', "    for row in ():",
      ROWS, "number_of_a_write"),
    M("a write's bytes are put right", "healing/rows",
      'found = _flipped(list(raw), ("data", "channel", "path", "shape", "task"), fields, fitting)',
      "found = None", HEALING, "a_write_is_put_right"),
    M("a write is copied from its channel", "healing/rows",
      "    for elements in () if copies is None else copies.all_runs(raw[at]):",
      "    for elements in ():", ROWS, "write_is_copied"),
    # ---- placeholders
    M("a lost message is stood in for", "healing/mending",
      "values = None if pieces is None else placeholders.filled(self.codec, pieces)",
      "values = None", HEALING, "lost_message"),
    M("what is left of a message names it", "healing/placeholders",
      "left[value.at] if left else None", "None", HEALING, "lost_message_is_stood"),
    M("a result names the lost call", "healing/placeholders",
      "orphans = _orphans(values, index)", "orphans = []", HEALING, "named_by_its_result"),
    M("a call names the lost result", "healing/placeholders",
      "unanswered = _unanswered(values[:index])", "unanswered = []",
      HEALING, "named_by_its_call"),
    M("only messages are stood in for", "healing/placeholders",
      "    if not all(isinstance(value, BaseMessage) for value in intact):\n        return None\n",
      "", ROWS, "only_messages"),
    # ---- ancestors, lists, nothing left
    M("an ancestor stands for the latest", "healing/reading",
      "before = yield from _before(mender, ns, raw, walked, sure=row is not None)",
      "before = None", HEALING, "nearest_intact_ancestor"),
    M("an explicit id is refused", "healing/reading",
      "        if found is not None and id is not None:\n"
      "            raise _damaged(thread_id, wanted, found.id)\n", "",
      HEALING, "nearest_intact_ancestor"),
    M("a missing head is noticed", "healing/reading",
      "if isinstance(head, str) and newest < head:", "if False:", HEALING, "missing_head"),
    M("a damaged id stands in front of nothing", "healing/reading",
      "if row is not None and id is None and row.id != raw[6]:", "if False:",
      ROWS, "damaged_id"),
    M("nothing readable is an empty thread", "healing/reading",
      "            return None, tuple(mender.found.values())\n        raw",
      "            raise _damaged(thread_id, wanted, None)\n        raw",
      HEALING, "nothing_readable"),
    M("a list goes on", "healing/reading",
      "made.append(one)\n        else:\n", "made.append(one)\n        elif 0:\n",
      HEALING, "list_goes_on"),
    M("an error that is no damage stands", "healing/reading",
      "        if is_foreign(error):\n            raise\n", "", ROWS, "no_damage_of_ours"),
    # ---- what tasks wrote
    M("a task that lacks a write runs again", "healing/mending",
      "            except CheckpointDamaged:\n                gone.add(task)",
      "            except CheckpointDamaged:\n                pass", HEALING, "lacks_a_write"),
    M("a task with a damaged write runs again", "healing/mending",
      "                gone.add(raw[0])", "                pass", ROWS, "damaged_write_runs"),
    M("a lost interrupt is left out aloud", "healing/mending",
      'self.note("left_out", ns, id, what, f"write {id} {raw[0]} {raw[1]}", str(raw[2]))',
      "pass", HEALING, "lost_interrupt"),
    # ---- delta channels
    M("a snapshot is left out", "healing/mending",
      'if held is None and entry.shape[0] == "D":', "if False:",
      HEALING, "delta_channel_is_rebuilt"),
    M("a lost seed is passed over", "healing/deltas",
      "        if value is not None and before == after:", "        if True:",
      HEALING, "delta_channel_is_rebuilt"),
    M("a path goes on past a lost checkpoint", "healing/deltas",
      "current = max(older, default=None)", "current = None",
      HEALING, "delta_channels_path and gone"),
    M("a wrong parent is put right on a path", "healing/deltas",
      "row = None if not rows else (yield from mender.row(rows[0]))",
      "row = None if not rows else __import__('langgraph_wyrd.plans.loading', fromlist=['x'])"
      ".Stored(*rows[0])", HEALING, "delta_channels_path and parent"),
    # ---- the ledger
    M("what a checkpoint says is read anew", "healing/states",
      "    if weaver is not None and not reading.lost:", "    if False:",
      PILLARS, "nonsense_is_read_anew"),
    M("an event's byte is put right", "healing/states",
      "    return rows.flipped_back(row, _TEXTS, len(row) - 1, lambda tried: is_sound(ns, tried))",
      "    return None", PILLARS, "what_a_person_said"),
    M("a path's rows are put right", "healing/states",
      "                self._right_rows[ns, id] = right\n", "                pass\n",
      PILLARS, "wrong_parent"),
    M("a lost checkpoint is walked past", "healing/states",
      "                self.lost[ns, parent] = max(before, default=None)\n",
      "                pass\n", ROWS, "lost_in_the_middle"),
    M("what is due is read anew", "healing/states",
      "                self.derived[ns, checkpoint] = (due, root)\n", "                pass\n",
      ROWS, "due_is_read_anew"),
    M("a write passes over a damaged ledger", "plans/ledger",
      "sound = [row for row in rows if is_sound(ns, row, codec)]", "sound = rows",
      PILLARS, "stops_no_run"),
    # ---- histories, diffs, exports
    M("a history's frames are put right", "healing/states",
      "return self._strands.get((ask.params[1], ask.params[2])) or found", "return found",
      ROWS, "history_is_healed"),
    M("what can do without a frame does", "healing/states",
      "self._tolerant = True", "raise", "test_thread_past.py", "damaged_frame"),
    M("a history's columns are read anew", "healing/states",
      'if told != row[3:6]:', "if False:", ROWS, "columns_beside"),
    M("what is damaged of a strand is named", "plans/loading",
      "            raise StrandDamaged(str(error), number, wanted[number], blocks) from error",
      "            raise", ROWS, "history_is_healed"),
    M("a tree's rows are checked", "plans/past",
      "        found.update((step.id, _checked(codec, number, step)) for step in new)",
      "        found.update((step.id, step) for step in new)",
      "test_damaged_tree.py", "put_right or row_is_lost"),
    M("a diff's values are healed", "healing/compared",
      "    bare = partial(comparing.sides", "    raise first\n    bare = partial(comparing.sides",
      ROWS, "diff_is_healed"),
    M("a diff names what is damaged", "healing/compared",
      "            if made is None or entry.place in mender.stood_in:", "            if False:",
      "test_damaged_diff.py", "names_it"),
    M("a diff leaves out what one side lacks", "plans/comparing",
      "    lost = (a.damaged - a.values.keys()) | (b.damaged - b.values.keys())",
      "    lost = frozenset()", "test_damaged_diff.py", "no_value"),
    M("an export is healed", "healing/exported",
      "    made: list[Carried | None] = []\n", "    raise first\n", ROWS, "export_is_healed"),
    # ---- beside the checkpoints
    M("a label is put right", "healing/beside",
      "    found = flipped_back(row, (5, 4, 7, 2, 1, 0), 6, is_sound_label)", "    found = None",
      ROWS, "label_is_put_right"),
    M("a label's items are read anew", "healing/beside",
      "    if found is None and not codec.sealed:", "    if False:", ROWS, "promoted_again"),
    M("a label that is lost stands", "healing/beside",
      "(hollow_label(row) if right is None else right, right is not None)",
      "(row if right is None else right, True)", ROWS, "hollow_label"),
    M("a record of a heal is put right", "healing/beside",
      "    return flipped_back(row, (5, 1, 4, 3, 2, 0, 6), 8, is_sound_heal)", "    return None",
      ROWS, "record_of_a_heal"),
    M("a record that is lost says so", "healing/telling",
      "beside.heal(row) or beside.hollow_heal(codec, row)", "beside.heal(row) or row",
      ROWS, "record_of_a_heal"),
    M("what is in quarantine is put right", "healing/beside",
      "right_row = flipped_back(row, (2, 1, 0, 3), 4, is_sound_moved)", "right_row = None",
      ROWS, "in_quarantine"),
    # ---- threads' rows, migrations
    M("a lost thread's row is made again", "healing/whole",
      '            yield Tell("add_thread_again", [row])\n', "            pass\n",
      ROWS, "threads_row_is_made_again"),
    M("a name that is taken is not given again", "healing/whole",
      "    return name if (yield from _is_free(name)) else None", "    return name",
      ROWS, "name_is_taken"),
    M("a thread that is not deleted comes back", "healing/whole",
      'yield Tell("not_deleted", [(number,)])', "pass", ROWS, "marked_as_deleted"),
    M("a key is put right", "healing/whole",
      'yield Tell("fix_key", [(thread_key(name), number)])', "pass", VERIFY, "repaired and key"),
    M("an id is put right", "healing/whole",
      'yield Tell("fix_thread_id", [(right, number)])', "pass", ROWS, "another_id"),
    M("an id is proven by its key", "healing/whole",
      "    if found is not None:\n        return found, True\n", "", ROWS, "id_is_proven"),
    M("the ledger of migrations is not trusted", "store/migrate",
      "    if lost := unlike(rows):", "    if False:", ROWS, "migrations"),
    M("a ledger is written anew", "healing/whole",
      'yield Tell("record_migration"', 'yield Tell("drop_migration"', ROWS, "migrations"),
    M("strands get numbers of their own", "store/sql/queries_sqlite.sql",
      "max(CAST(strands AS INTEGER), (SELECT coalesce(max(strand), 0) FROM wyrd_splices\n"
      "  WHERE thread = wyrd_threads.id))", "strands", ROWS, "count_of_strands and sqlite"),
    M("what was buried is doubted", "plans/threads",
      "if newest is None or newest > thread.buried:", "if True:", ROWS, "was_buried"),
    # ---- told, and written on
    M("it is told in the log", "healing/telling",
      "    told(heals)\n", "", HEALING, "said_aloud"),
    M("it is an open loop", "healing/telling",
      "    if not loops:\n        return state\n    reason", "    return state\n    reason",
      HEALING, "said_aloud"),
    M("what is damaged is not built on", "healing/telling",
      "        core.memory.drop(thread_id)  # the next write reads what it builds on, and leaves "
      "damage be\n", "        pass\n", ROWS, "not_built_on"),
    # ---- repairs
    M("a repair reads the pillars anew", "healing/verifying",
      "    if changed and look.woven and not look.lost:", "    if False:",
      VERIFY, "found_and_repaired and sqlite and event"),
    M("what can't be used is moved", "healing/verifying",
      'Tell("put_quarantine", [moved_row(self.row.number, table, place, held, now())]),', "",
      VERIFY, "moved_not_thrown"),
    M("rows are taken away before others come", "healing/verifying",
      'key=lambda fix: not fix.name.startswith(("drop_", "put_quarantine"))',
      "key=lambda fix: 0", ROWS, "two_writes"),
    M("a look is quiet", "plans/reweave",
      "logging.WARNING if self.aloud else logging.DEBUG", "logging.WARNING", ROWS, "quiet"),
    # ---- below the rows
    M("damaged pages have a name", "store/sqlite_errors",
      "    if is_damage(error):\n        return damaged(where, text)\n", "", PAGES, "a_page"),
    M("a database without its head is refused", "store/sqlite",
      "        if _lost_its_head(path):", "        if False:", PAGES, "empty_beside_its_wal"),
    M("a database without its tables is refused", "store/sqlite",
      "        if theirs == APPLICATION_ID and not tables:", "        if False:",
      PAGES, "tables_are_gone"),
    M("pages of the migrations may be damaged", "store/sqlite",
      "                if not is_damage(error):\n                    raise\n",
      "                raise\n", PAGES, "page_of_the_migrations"),
    M("verify tells of damaged pages", "parts/verified",
      "    try:\n        return await core.read(plan)\n    except DatabaseDamaged as error:\n"
      "        return [whole.of_file(str(error), thread_id)]",
      "    return await core.read(plan)", PAGES, "a_page"),
)  # fmt: skip


def source(mutant: Mutant, root: Path = ROOT) -> Path:
    """The file that it changes."""
    module = mutant.module if mutant.module.endswith(".sql") else f"{mutant.module}.py"
    return root / "langgraph_wyrd" / module


def survives(mutant: Mutant) -> str | None:
    """What is wrong: no test failed, or there was none to fail."""
    with tempfile.TemporaryDirectory(prefix="wyrd-mutant-") as folder:
        place = Path(folder)
        shutil.copytree(ROOT / "langgraph_wyrd", place / "langgraph_wyrd")
        shutil.copytree(ROOT / "tests", place / "tests")
        shutil.copy(ROOT / "pyproject.toml", place)
        path = source(mutant, place)
        text = path.read_text()
        if text.count(mutant.old) < 1:
            return "its text is not there any more"
        path.write_text(text.replace(mutant.old, mutant.new))
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header",
            f"tests/{mutant.test}", "-k", f"({mutant.which}) and not postgres", "--rootdir", folder,
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": folder}, text=True,
            capture_output=True, timeout=600,
        )  # fmt: skip
    if done.returncode == 1:
        return None
    if done.returncode == 0:
        return "no test fails without it"
    return f"its tests can't be run: {done.stdout[-300:]}{done.stderr[-300:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="those whose name or test has this word")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    chosen = [each for each in MUTANTS if given.only in f"{each.name} {each.test} {each.module}"]
    survivors = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for mutant, said in zip(chosen, pool.map(survives, chosen), strict=True):
            survivors += said is not None
            print("survives" if said else "dies    ", mutant.name, said or "", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survivors")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
