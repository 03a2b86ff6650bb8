"""Mutants around what tasks asked, were answered, and stored when they ran again."""

from __future__ import annotations

from tests.campaigns.mutant import HEALING, M

ANSWERS, AGAIN = "test_healing_answers.py", "test_healing_again.py"

WRITES = (
    # ---- what a task asked and was answered
    M("answers stand beside the question", "plans/task_writes",
      "held = answers.doubled(self.codec, held)", "pass", ANSWERS, "read_beside"),
    M("a control write that is gone is noticed", "plans/loading",
      "if lost := control_lost(ns, checkpoint, held, beside):", "if lost := []:", ANSWERS,
      "read_beside and deleted"),
    M("control writes say what came with them", "plans/task_writes",
      "total ^= marks.mark(beside=others)", "pass", ANSWERS, "lost_question"),
    M("ordinary writes say what came with them", "plans/task_writes",
      "total ^= marks.mark(count, beside)", "total ^= marks.mark(count)", ANSWERS,
      "asked_once"),
    M("what others say is there is looked for", "healing/control",
      "lost = {*loading.control_lost(ns, id, held, beside), *unread}", "lost = {*unread}",
      ANSWERS, "read_beside and deleted"),
    M("a control write that can't be read is told", "healing/control",
      "lost = {*loading.control_lost(ns, id, held, beside), *unread}",
      "lost = {*loading.control_lost(ns, id, held, beside)}", HEALING, "lost_interrupt"),
    M("a question without its answers is left out", "healing/control",
      "made.writes.remove(question)", "pass", ANSWERS, "from_the_first_on"),
    M("what a finished task asked stays", "healing/control",
      "if ordinary or question is None:", "if question is None:", ANSWERS, "finished_task"),
    M("the last answer before a failure is told", "healing/control",
      "if marks.ERROR in by_number:", "if False:", ANSWERS, "failed_with_the_last"),
    M("a question without a user's answers is left out", "healing/users",
      "        writes = control.without_questions(writes, lambda held: is_one_of(held, lost))\n",
      "", ANSWERS, "belong_to_a_user"),
    M("a repair has nobody ask for what is lost", "healing/task_rows",
      "elif (quiet := self._without(write, lost)) is not None:",
      "elif (quiet := None) is not None:", ANSWERS, "lost_question"),
    M("a repair moves a question without answers away", "healing/task_rows",
      "if write is settled.gone:", "if False:", ANSWERS, "from_the_first_on"),
    M("a repair puts answers back", "healing/task_rows",
      "fixes = [] if settled.back is None else [self._put(settled.back)]", "fixes = []", ANSWERS,
      "put_back_by_a_repair"),
    # ---- what runs again
    M("a damaged write gives way", "plans/task_writes", "if self.again and any(",
      "if False and any(", AGAIN, "takes_the_place"),
    M("what comes after a heal is stored with care", "plans/task_writes",
      "        if self.again:\n            return None\n", "", AGAIN, "takes_the_place"),
    M("where damage was told is known", "healing/telling",
      "core.memory.damaged.update((heal.thread_id, heal.ns, heal.checkpoint) for heal in heals)",
      "pass", AGAIN, "takes_the_place"),
    M("two runs are not mixed", "plans/giving_way",
      "gone += [write for write in sound if write.idx >= 0]", "pass", AGAIN, "never_mixed"),
    M("what is whole is a retry's", "plans/giving_way", "if sound and not gone:", "if False:",
      AGAIN, "never_mixed"),
    M("what others go on from is not moved", "plans/giving_way",
      'if not (yield Ask("goes_on", (number, ns, checkpoint))):',
      'if (yield Ask("goes_on", (number, ns, checkpoint))) is not None:', AGAIN, "go_on_from"),
    M("a user's value is looked at", "plans/giving_way", "if type(value) is Ref:", "if False:",
      AGAIN, "takes_the_place"),
    M("a retry stores no user's value twice", "store/sql/queries_users.sql",
      "WHERE NOT EXISTS (SELECT 1 FROM wyrd_writes", "WHERE 1 = 1 OR EXISTS (SELECT 1 FROM "
      "wyrd_writes", AGAIN, "retry_of_a_user"),
    M("a user's control write is always stored", "plans/task_writes",
      "self.task, idx if idx >= 0 else None)", "self.task, idx)", AGAIN, "asked_of_a_user"),
    # ---- what later checkpoints are rebuilt from
    M("a repair leaves what later ones are rebuilt from", "healing/task_rows",
      "for write in () if self.over else mine:", "for write in mine:", AGAIN, "rebuilt_from"),
    M("the only write of a task stays to tell", "healing/task_rows",
      "if self.over and not told and", "if False and", AGAIN, "stays_to_tell"),
    M("what is newer may go on from a checkpoint", "healing/verifying",
      " or ((ns, id) in there and id < newest[ns])", "", AGAIN, "behind_a_lost_one"),
)  # fmt: skip
