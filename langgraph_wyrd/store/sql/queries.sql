-- Every statement that both databases understand as it stands. `?` is a parameter.

-- name: add_thread
-- Two writers may open one id at once: the second adds nothing, and finds the first one's row.
INSERT INTO wyrd_threads (thread_id, key, created, updated, buried) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) WHERE deleted_at IS NULL DO NOTHING

-- name: number_of
SELECT id FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL

-- name: put_name
INSERT INTO wyrd_names (key, thread, thread_id, sum) VALUES (?, ?, ?, ?)
ON CONFLICT (key, thread) DO NOTHING

-- name: last_deleted
-- The newest checkpoint that any deleted thread of this id had.
SELECT max(head) FROM wyrd_threads WHERE key = ? AND deleted_at IS NOT NULL

-- name: advance
UPDATE wyrd_threads SET tick = tick + 1, strands = ?, updated = ?,
  head = CASE WHEN head IS NULL OR head < ? THEN ? ELSE head END,
  status = coalesce(?, status), reason = coalesce(?, reason), due = coalesce(?, due),
  title = nullif(coalesce(?, title), ''), user_id = coalesce(?, user_id),
  open_loops = coalesce(?, open_loops), open_todos = coalesce(?, open_todos), writer = ?
WHERE id = ? AND tick = ? AND deleted_at IS NULL

-- name: touch
-- A thread changed by something other than a put: whoever knew it must look again.
UPDATE wyrd_threads SET tick = tick + 1, strands = ?, updated = ?,
  head = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = wyrd_threads.id)
WHERE id = ?

-- name: tidy
-- The same for what nobody did in it: it keeps its place among the threads.
UPDATE wyrd_threads SET tick = tick + 1, strands = ?,
  head = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = wyrd_threads.id)
WHERE id = ?

-- name: put_splice
INSERT INTO wyrd_splices (thread, strand, seq, part, keep, cut, count, data, sum, chain)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_checkpoint
INSERT INTO wyrd_checkpoints (thread, ns, id, parent, ts, step, source, run_id, metadata, exact,
  strand, seq, length, chain, sum, due, root)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, ns, id) DO UPDATE SET parent = excluded.parent, ts = excluded.ts,
  step = excluded.step, source = excluded.source, run_id = excluded.run_id,
  metadata = excluded.metadata, exact = excluded.exact, strand = excluded.strand,
  seq = excluded.seq, length = excluded.length, chain = excluded.chain, sum = excluded.sum,
  due = excluded.due, root = excluded.root

-- name: put_write
-- An ordinary write of a task is stored once; a repeated one is a retry.
INSERT INTO wyrd_writes (thread, ns, checkpoint, task, idx, channel, path, shape, data, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, ns, checkpoint, task, idx) DO NOTHING

-- name: replace_write
-- Errors, interrupts and resumes of a task take the place of the earlier ones.
INSERT INTO wyrd_writes (thread, ns, checkpoint, task, idx, channel, path, shape, data, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, ns, checkpoint, task, idx) DO UPDATE SET channel = excluded.channel,
  path = excluded.path, shape = excluded.shape, data = excluded.data, sum = excluded.sum

-- name: last_said
-- Its events go with a checkpoint that is pruned.
SELECT t.id, t.thread_id, e.checkpoint FROM wyrd_threads t JOIN wyrd_events e ON e.thread = t.id
WHERE t.key = ? AND t.deleted_at IS NULL AND e.ns = ? AND e.task = ''
ORDER BY e.checkpoint DESC LIMIT 1

-- name: frame_behind
SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND strand = ? AND seq > ? LIMIT 1

-- name: strand
SELECT strand, seq, part, keep, cut, count, data, sum, chain FROM wyrd_splices
WHERE thread = ? AND strand = ? AND seq <= ? ORDER BY seq, part

-- name: newest_seq
SELECT max(seq) FROM wyrd_splices WHERE thread = ? AND strand = ?

-- name: writes
SELECT task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ? AND ns = ? AND checkpoint = ? ORDER BY path, task, idx

-- name: writes_between
-- What the tasks of a stretch of checkpoints wrote to some channels; the channels are put behind it.
SELECT checkpoint, task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ? AND ns = ? AND checkpoint BETWEEN ? AND ? AND channel IN (?

-- name: writes_beside
-- What they wrote to others: of much, not the value.
SELECT checkpoint, task, idx, channel, path, shape,
  CASE WHEN length(data) <= 4096 THEN data END, sum FROM wyrd_writes
WHERE thread = ? AND ns = ? AND checkpoint BETWEEN ? AND ? AND channel NOT IN (?

-- name: or_channel
, ?

-- name: of_channels
)

-- name: checkpoint
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum, t.head
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.key = ? AND t.deleted_at IS NULL AND c.ns = ? AND c.id = ?
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = t.key AND n.thread = t.id AND n.thread_id = t.thread_id)

-- name: latest
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum, t.head
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.key = ? AND t.deleted_at IS NULL AND c.ns = ?
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = t.key AND n.thread = t.id AND n.thread_id = t.thread_id)
ORDER BY c.id DESC LIMIT 1

-- name: page
-- A page of checkpoints, newest first; conditions and the end are put behind it.
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum, t.head
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.deleted_at IS NULL

-- name: of_thread
AND t.key = ?
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = t.key AND n.thread = t.id AND n.thread_id = t.thread_id)

-- name: in_namespace
AND c.ns = ?

-- name: with_id
AND c.id = ?

-- name: before_id
AND c.id < ?

-- name: from_source
AND c.source = ?

-- name: at_step
AND c.step = ?

-- name: of_run
AND c.run_id = ?

-- name: after_row
AND (c.id, c.thread, c.ns) < (?, ?, ?)

-- name: newest_first
ORDER BY c.id DESC, c.thread DESC, c.ns DESC LIMIT ?

-- name: lineage
-- The next ancestors, as far as ids tell: the walk along the parents is made by the plan.
SELECT id, parent, ts, CAST(metadata AS TEXT), exact, strand, seq, length, chain, sum
FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?

-- name: parents
-- The same for a walk that looks at nothing else.
SELECT id, parent FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?

-- name: ancestor
SELECT id, parent, strand, seq, length, chain FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id = ?

-- name: checkpoint_ids
SELECT ns, id, parent, run_id, strand, seq, length, chain FROM wyrd_checkpoints
WHERE thread = ? ORDER BY ns, id

-- name: checkpoint_row
SELECT ns, id, parent, ts, step, source, run_id, CAST(metadata AS TEXT), exact, strand, seq, length,
  chain, CAST(due AS TEXT), root, sum
FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?

-- name: checkpoint_rows
-- A page of a thread, for copying.
SELECT ns, id, parent, ts, step, source, run_id, CAST(metadata AS TEXT), exact, strand, seq, length,
  chain, CAST(due AS TEXT), root, sum
FROM wyrd_checkpoints WHERE thread = ? AND (ns, id) > (?, ?) ORDER BY ns, id LIMIT ?

-- name: strand_shape
SELECT seq, part, keep, cut, count FROM wyrd_splices
WHERE thread = ? AND strand = ? AND seq <= ? ORDER BY seq, part

-- name: strands_of
SELECT strand, max(seq) FROM wyrd_splices WHERE thread = ? GROUP BY strand

-- name: drop_strand
DELETE FROM wyrd_splices WHERE thread = ? AND strand = ?

-- name: cut_strand
DELETE FROM wyrd_splices WHERE thread = ? AND strand = ? AND seq > ?

-- name: drop_checkpoint
DELETE FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?

-- name: drop_writes
DELETE FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint = ?

-- name: drop_all_checkpoints
DELETE FROM wyrd_checkpoints WHERE thread = ?

-- name: drop_all_splices
DELETE FROM wyrd_splices WHERE thread = ?

-- name: drop_all_writes
DELETE FROM wyrd_writes WHERE thread = ?

-- name: bury_thread
-- The row stays, so that what a run still sends is known to be late.
UPDATE wyrd_threads SET deleted_at = ?, tick = tick + 1, updated = ?,
  head = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = wyrd_threads.id),
  status = NULL, reason = NULL, due = NULL, title = NULL, user_id = NULL,
  open_loops = 0, open_todos = 0
WHERE id = ?

-- name: runs
SELECT DISTINCT t.thread_id FROM wyrd_checkpoints c JOIN wyrd_threads t ON t.id = c.thread
WHERE c.run_id = ? AND t.deleted_at IS NULL

-- name: copy_splices
-- The checksum becomes the new thread's: what lies between the two is put over it.
INSERT INTO wyrd_splices (thread, strand, seq, part, keep, cut, count, data, sum, chain)
SELECT ?, strand, seq, part, keep, cut, count, data, (sum | ?) & ~(sum & ?), chain
FROM wyrd_splices WHERE thread = ?

-- name: copy_writes
INSERT INTO wyrd_writes (thread, ns, checkpoint, task, idx, channel, path, shape, data, sum)
SELECT ?, ns, checkpoint, task, idx, channel, path, shape, data, (sum | ?) & ~(sum & ?)
FROM wyrd_writes WHERE thread = ?

-- name: has_checkpoints
SELECT 1 FROM wyrd_checkpoints WHERE thread = ? LIMIT 1

-- name: applied
SELECT version, name, min_reader FROM wyrd_migrations ORDER BY version

-- name: drop_migration
DELETE FROM wyrd_migrations WHERE version = ?

-- name: record_migration
INSERT INTO wyrd_migrations (version, name, min_reader, applied_at) VALUES (?, ?, ?, ?)

-- ---- healing

-- name: newest_id
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ?

-- name: writes_of_thread
SELECT ns, checkpoint, task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ? ORDER BY ns, checkpoint, path, task, idx LIMIT ?

-- name: splices_of_thread
SELECT strand, seq, part, keep, cut, count, data, sum, chain FROM wyrd_splices
WHERE thread = ? ORDER BY strand, seq, part LIMIT ?

-- name: rows_of_thread
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum, t.head
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id WHERE t.id = ? ORDER BY c.ns, c.id

-- name: own_row
SELECT parent, ts, CAST(metadata AS TEXT), exact, strand, seq, length, chain, sum
FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?

-- name: lost
-- A checkpoint that was put and is not there: what it said is, or a person said there; or one that
-- stands behind it names it, and what its tasks wrote is there (writes alone may come before their
-- checkpoint), or its frame: within a strand a frame stands right behind its parent's, and of what
-- is pruned none stays. Or the thread's row names it as the newest; or a repair moved it away.
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?)
AND (EXISTS (SELECT 1 FROM wyrd_events WHERE thread = ? AND ns = ? AND checkpoint = ?
    AND (task = '' OR substr(task, 1, 5) = 'edit:'))
  OR EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = ? AND c.ns = ? AND c.parent = ?
    AND (EXISTS (SELECT 1 FROM wyrd_writes w
        WHERE w.thread = c.thread AND w.ns = c.ns AND w.checkpoint = c.parent)
      OR c.seq > 0 AND NOT EXISTS (SELECT 1 FROM wyrd_checkpoints o
        WHERE o.thread = c.thread AND o.ns = c.ns AND o.strand = c.strand AND o.seq = c.seq - 1)))
  OR EXISTS (SELECT 1 FROM wyrd_threads t WHERE t.id = ? AND t.head = ?
    AND NOT EXISTS (SELECT 1 FROM wyrd_checkpoints o WHERE o.thread = t.id AND o.id = t.head))
  OR EXISTS (SELECT 1 FROM wyrd_quarantine
    WHERE thread = ? AND origin = 'wyrd_checkpoints' AND place = ?))

-- name: whoever
-- Behind `lost`: the answer is not kept from who goes on without what is damaged.

-- name: given_up
-- Whether what is damaged can't be had back: who only reads knows nothing of it yet.
SELECT 1 WHERE 1 = 0

-- name: thread_row
-- As lock_thread, for who only looks.
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- ---- threads that their rows do not lead to

-- name: claims
-- Which numbers a thread has, by its names and by its row; whether there is anything of them.
SELECT n.thread, n.thread_id, n.sum, EXISTS (SELECT 1 FROM wyrd_threads t
    WHERE t.id = n.thread AND t.key = n.key AND t.thread_id = n.thread_id
    AND t.deleted_at IS NULL),
  EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = n.thread)
FROM wyrd_names n WHERE n.key = ?
UNION ALL SELECT t.id, t.thread_id, NULL, FALSE,
  EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = t.id)
FROM wyrd_threads t WHERE t.key = ? AND t.deleted_at IS NULL
AND NOT EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = t.key AND n.thread = t.id AND n.thread_id = t.thread_id)

-- name: strays
-- The keys that names and rows of threads do not agree on.
SELECT n.key FROM wyrd_names n LEFT JOIN wyrd_threads t
  ON t.id = n.thread AND t.key = n.key AND t.thread_id = n.thread_id AND t.deleted_at IS NULL
WHERE t.id IS NULL AND EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = n.thread)
UNION SELECT t.key FROM wyrd_threads t WHERE t.deleted_at IS NULL
AND NOT EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = t.key AND n.thread = t.id AND n.thread_id = t.thread_id)

-- name: set_aside
-- Out of the way of who has their key.
UPDATE wyrd_threads SET deleted_at = ? WHERE id = ?

-- name: numbered_row
SELECT thread_id, key FROM wyrd_threads WHERE id = ? AND deleted_at IS NULL

-- name: identify
UPDATE wyrd_threads SET thread_id = ?, key = ?, deleted_at = NULL, tick = tick + 1 WHERE id = ?

-- name: has_events
SELECT 1 FROM wyrd_events WHERE thread = ? LIMIT 1

-- name: all_names
SELECT key, thread_id, sum, thread FROM wyrd_names ORDER BY thread

-- name: names_of_number
SELECT key, thread_id, sum FROM wyrd_names WHERE thread = ?

-- name: drop_name
DELETE FROM wyrd_names WHERE key = ? AND thread = ?

-- ---- verifying and repairing

-- name: all_threads
SELECT id, thread_id, key, head, status FROM wyrd_threads WHERE deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)
ORDER BY id

-- name: one_thread
SELECT id, thread_id, key, head, status FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- name: numbered_thread
SELECT id, thread_id, key, head, status FROM wyrd_threads WHERE id = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- name: homeless
-- Rows of threads that are not there, by table.
SELECT 'wyrd_checkpoints', thread, count(*) FROM wyrd_checkpoints
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_splices', thread, count(*) FROM wyrd_splices
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_writes', thread, count(*) FROM wyrd_writes
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_events', thread, count(*) FROM wyrd_events
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_todos', thread, count(*) FROM wyrd_todos
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_context', thread, count(*) FROM wyrd_context
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_open_loops', thread, count(*) FROM wyrd_open_loops
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_intentions', thread, count(*) FROM wyrd_intentions
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_labels', thread, count(*) FROM wyrd_labels
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_heals', thread, count(*) FROM wyrd_heals
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_quarantine', thread, count(*) FROM wyrd_quarantine
WHERE thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread
UNION ALL SELECT 'wyrd_user_data', thread, count(*) FROM wyrd_user_data
WHERE thread <> 0 AND thread NOT IN (SELECT id FROM wyrd_threads) GROUP BY thread

-- name: all_splices
SELECT strand, seq, part, keep, cut, count, data, sum, chain FROM wyrd_splices
WHERE thread = ? ORDER BY strand, seq, part

-- name: all_writes
SELECT ns, checkpoint, task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ? ORDER BY ns, checkpoint, path, task, idx

-- name: all_events
SELECT ns, checkpoint, task, n, pillar, op, item, body, source, sum FROM wyrd_events
WHERE thread = ? ORDER BY ns, checkpoint, task, n

-- name: columns_of
-- What is stored beside the metadata, to find checkpoints by.
SELECT ns, id, step, source, run_id FROM wyrd_checkpoints WHERE thread = ? ORDER BY ns, id

-- name: shown_todos
SELECT thread, thread_id, id, place, listed, content, status, priority, tracker,
  ref, opened_at, changed_at, closed_at, checkpoint, ns, node, channel, message_id, task_id,
  tool_call_id, rule, author, confidence, changed_in, CAST(extra AS TEXT)
FROM wyrd_todos WHERE thread = ? ORDER BY id

-- name: shown_contexts
SELECT thread, thread_id, id, key, CAST(value AS TEXT), CAST(metadata AS TEXT), opened_at,
  changed_at, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author,
  confidence, changed_in, CAST(extra AS TEXT)
FROM wyrd_context WHERE thread = ? ORDER BY id

-- name: shown_loops
SELECT thread, thread_id, id, kind, description, CAST(context AS TEXT), ref, opened_at,
  changed_at, closed_at, closed_in, outcome, checkpoint, ns, node, channel, message_id, task_id,
  tool_call_id, rule, author, confidence, changed_in, CAST(extra AS TEXT)
FROM wyrd_open_loops WHERE thread = ? ORDER BY id

-- name: shown_intentions
SELECT thread, thread_id, id, text, aim, opened_at, closed_at, closed_in, outcome, checkpoint, ns,
  node, channel, message_id, task_id, tool_call_id, rule, author, confidence, changed_in,
  CAST(extra AS TEXT)
FROM wyrd_intentions WHERE thread = ? ORDER BY id

-- name: shown_thread
SELECT status, reason, CAST(due AS TEXT), title, user_id, open_loops, open_todos
FROM wyrd_threads WHERE id = ?

-- name: fix_checkpoint
UPDATE wyrd_checkpoints SET ns = ?, id = ?, parent = ?, ts = ?, metadata = ?, exact = ?, strand = ?,
  seq = ?, length = ?, chain = ?, sum = ?
WHERE thread = ? AND ns = ? AND id = ?

-- name: fix_columns
UPDATE wyrd_checkpoints SET step = ?, source = ?, run_id = ? WHERE thread = ? AND ns = ? AND id = ?

-- name: fix_splice
INSERT INTO wyrd_splices (thread, strand, seq, part, keep, cut, count, data, sum, chain)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, strand, seq, part) DO UPDATE SET keep = excluded.keep, cut = excluded.cut,
  count = excluded.count, data = excluded.data, sum = excluded.sum, chain = excluded.chain

-- name: fix_write
INSERT INTO wyrd_writes (thread, ns, checkpoint, task, idx, channel, path, shape, data, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, ns, checkpoint, task, idx) DO UPDATE SET channel = excluded.channel,
  path = excluded.path, shape = excluded.shape, data = excluded.data, sum = excluded.sum

-- name: undead
-- Threads that are marked as deleted, and are there.
SELECT t.id, t.thread_id FROM wyrd_threads t WHERE t.deleted_at IS NOT NULL
AND EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = t.id) ORDER BY t.id

-- name: names_of
-- What the public tables call a thread, the most often first.
SELECT thread_id, count(*) FROM (
  SELECT thread_id FROM wyrd_todos WHERE thread = ?
  UNION ALL SELECT thread_id FROM wyrd_context WHERE thread = ?
  UNION ALL SELECT thread_id FROM wyrd_open_loops WHERE thread = ?
  UNION ALL SELECT thread_id FROM wyrd_intentions WHERE thread = ?) AS named
GROUP BY thread_id ORDER BY 2 DESC, 1

-- name: strands_given
SELECT CAST(strands AS BIGINT) FROM wyrd_threads WHERE id = ?

-- name: newest_strand
SELECT coalesce(max(strand), 0) FROM wyrd_splices WHERE thread = ?

-- name: drop_write
DELETE FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = ? AND idx = ?

-- name: drop_event
DELETE FROM wyrd_events WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = ? AND n = ?

-- name: put_quarantine
INSERT INTO wyrd_quarantine (thread, origin, place, data, moved_at, sum)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, origin, place) DO NOTHING

-- name: drop_all_quarantine
DELETE FROM wyrd_quarantine WHERE thread = ?

-- name: put_heal
INSERT INTO wyrd_heals (thread, id, ns, checkpoint, channel, kind, what, healed_at, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thread, id) DO NOTHING

-- name: heals
SELECT id, kind, ns, checkpoint, channel, what, healed_at, acknowledged_at, sum FROM wyrd_heals
WHERE thread = ? ORDER BY healed_at, id

-- name: acknowledge_heal
UPDATE wyrd_heals SET acknowledged_at = ? WHERE thread = ? AND id = ? AND acknowledged_at IS NULL

-- name: drop_all_heals
DELETE FROM wyrd_heals WHERE thread = ?

-- name: copy_heals
INSERT INTO wyrd_heals (thread, id, ns, checkpoint, channel, kind, what, healed_at,
  acknowledged_at, sum)
SELECT ?, id, ns, checkpoint, channel, kind, what, healed_at, acknowledged_at, sum FROM wyrd_heals
WHERE thread = ?

-- name: all_labels
-- As get_label, all of a thread, whether their checkpoints are there or not.
SELECT name, checkpoint, created_at, automatic, CAST(keys AS TEXT), CAST(missing AS TEXT), sum,
  CAST(context AS TEXT)
FROM wyrd_labels WHERE thread = ? ORDER BY checkpoint, name

-- name: in_quarantine
SELECT origin, place, data, moved_at, sum FROM wyrd_quarantine
WHERE thread = ? ORDER BY origin, place

-- name: drop_splice
DELETE FROM wyrd_splices WHERE thread = ? AND strand = ? AND seq = ? AND part = ?

-- name: drop_heal
DELETE FROM wyrd_heals WHERE thread = ? AND id = ?

-- name: drop_moved
DELETE FROM wyrd_quarantine WHERE thread = ? AND origin = ? AND place = ?

-- ---- pillars

-- name: put_todo
INSERT INTO wyrd_todos (thread, thread_id, id, place, listed, content, status, priority, tracker,
  ref, opened_at, changed_at, closed_at, checkpoint, ns, node, channel, message_id, task_id,
  tool_call_id, rule, author, confidence, changed_in, extra)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, id) DO UPDATE SET place = excluded.place, listed = excluded.listed,
  content = excluded.content, status = excluded.status, priority = excluded.priority,
  tracker = excluded.tracker, ref =
  excluded.ref, opened_at = excluded.opened_at, changed_at = excluded.changed_at, closed_at =
  excluded.closed_at, checkpoint = excluded.checkpoint, ns = excluded.ns, node = excluded.node,
  channel = excluded.channel, message_id = excluded.message_id, task_id = excluded.task_id,
  tool_call_id = excluded.tool_call_id, rule = excluded.rule, author = excluded.author,
  confidence = excluded.confidence,
  changed_in = excluded.changed_in, extra = excluded.extra

-- name: drop_todo
DELETE FROM wyrd_todos WHERE thread = ? AND id = ?

-- name: changed_todos
-- What was changed after a checkpoint: a fork from there takes it back.
SELECT id FROM wyrd_todos WHERE thread = ? AND (changed_in > ? OR ns <> '')

-- name: drop_all_todos
DELETE FROM wyrd_todos WHERE thread = ?

-- name: put_context
INSERT INTO wyrd_context (thread, thread_id, id, key, value, metadata, opened_at, changed_at,
  checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author, confidence,
  changed_in, extra)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, id) DO UPDATE SET key = excluded.key, value = excluded.value, metadata =
  excluded.metadata, opened_at = excluded.opened_at, changed_at = excluded.changed_at,
  checkpoint = excluded.checkpoint, ns = excluded.ns, node = excluded.node, channel =
  excluded.channel, message_id = excluded.message_id, task_id = excluded.task_id, tool_call_id =
  excluded.tool_call_id, rule = excluded.rule, author = excluded.author,
  confidence = excluded.confidence, changed_in =
  excluded.changed_in, extra = excluded.extra

-- name: drop_context
DELETE FROM wyrd_context WHERE thread = ? AND id = ?

-- name: changed_contexts
-- What was changed after a checkpoint: a fork from there takes it back.
SELECT id FROM wyrd_context WHERE thread = ? AND (changed_in > ? OR ns <> '')

-- name: drop_all_contexts
DELETE FROM wyrd_context WHERE thread = ?

-- name: put_loop
INSERT INTO wyrd_open_loops (thread, thread_id, id, kind, description, context, ref, opened_at,
  changed_at, closed_at, closed_in, outcome, checkpoint, ns, node, channel, message_id, task_id,
  tool_call_id, rule, author, confidence, changed_in, extra)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, id) DO UPDATE SET kind = excluded.kind, description = excluded.description,
  context = excluded.context, ref = excluded.ref, opened_at = excluded.opened_at, changed_at =
  excluded.changed_at, closed_at = excluded.closed_at, closed_in = excluded.closed_in, outcome =
  excluded.outcome, checkpoint = excluded.checkpoint, ns = excluded.ns, node = excluded.node,
  channel = excluded.channel, message_id = excluded.message_id, task_id = excluded.task_id,
  tool_call_id = excluded.tool_call_id, rule = excluded.rule, author = excluded.author,
  confidence = excluded.confidence,
  changed_in = excluded.changed_in, extra = excluded.extra

-- name: drop_loop
DELETE FROM wyrd_open_loops WHERE thread = ? AND id = ?

-- name: changed_loops
-- What was changed after a checkpoint: a fork from there takes it back.
SELECT id FROM wyrd_open_loops WHERE thread = ? AND (changed_in > ? OR ns <> '')

-- name: drop_all_loops
DELETE FROM wyrd_open_loops WHERE thread = ?

-- name: put_intention
INSERT INTO wyrd_intentions (thread, thread_id, id, text, aim, opened_at, closed_at, closed_in,
  outcome, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author,
  confidence,
  changed_in, extra)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, id) DO UPDATE SET text = excluded.text, aim = excluded.aim, opened_at =
  excluded.opened_at, closed_at = excluded.closed_at, closed_in = excluded.closed_in, outcome =
  excluded.outcome, checkpoint = excluded.checkpoint, ns = excluded.ns, node = excluded.node,
  channel = excluded.channel, message_id = excluded.message_id, task_id = excluded.task_id,
  tool_call_id = excluded.tool_call_id, rule = excluded.rule, author = excluded.author,
  confidence = excluded.confidence,
  changed_in = excluded.changed_in, extra = excluded.extra

-- name: drop_intention
DELETE FROM wyrd_intentions WHERE thread = ? AND id = ?

-- name: changed_intentions
-- What was changed after a checkpoint: a fork from there takes it back.
SELECT id FROM wyrd_intentions WHERE thread = ? AND (changed_in > ? OR ns <> '')

-- name: drop_all_intentions
DELETE FROM wyrd_intentions WHERE thread = ?

-- name: put_event
INSERT INTO wyrd_events (thread, ns, checkpoint, task, n, pillar, op, item, body, source, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, ns, checkpoint, task, n) DO UPDATE SET pillar = excluded.pillar,
  op = excluded.op, item = excluded.item, body = excluded.body, source = excluded.source,
  sum = excluded.sum

-- name: drop_events
-- What a checkpoint, or one of its tasks, said before: it is said anew.
DELETE FROM wyrd_events WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = ?

-- name: drop_checkpoint_events
DELETE FROM wyrd_events WHERE thread = ? AND ns = ? AND checkpoint = ?

-- name: drop_all_events
DELETE FROM wyrd_events WHERE thread = ?

-- name: events
-- The ledger of some checkpoints that follow each other by id.
SELECT checkpoint, task, n, pillar, op, item, body, source, sum FROM wyrd_events
WHERE thread = ? AND ns = ? AND checkpoint BETWEEN ? AND ? ORDER BY checkpoint, task, n

-- name: show_thread
UPDATE wyrd_threads SET status = coalesce(?, status), reason = coalesce(?, reason),
  due = coalesce(?, due), title = nullif(coalesce(?, title), ''), user_id = coalesce(?, user_id),
  open_loops = coalesce(?, open_loops), open_todos = coalesce(?, open_todos)
WHERE id = ?

-- name: find_thread
SELECT id, thread_id FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- name: newest_until
-- LangGraph's times are ISO text in UTC, all of one length, so they sort as they are.
SELECT id FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND ts <= ? ORDER BY id DESC LIMIT 1

-- name: top
-- The root's newest checkpoint: the thread's head.
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = ''

-- name: top_that_is_text
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND CAST(id AS TEXT) = id

-- name: newest_of_run
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND run_id = ?

-- name: past
-- Checkpoints of the root, as a history tells of them; which, and the end, are put behind it.
SELECT id, parent, ts, step, source, run_id, CAST(due AS TEXT), CAST(metadata AS TEXT),
  exact, strand, seq, length, chain, sum
FROM wyrd_checkpoints WHERE thread = ? AND ns = ''

-- name: past_one
AND id = ?

-- name: past_before
AND id < ?

-- name: past_newest
ORDER BY id DESC LIMIT ?

-- name: offspring
-- The children of a stretch of root checkpoints, wherever their own ids stand.
SELECT parent, id FROM wyrd_checkpoints
WHERE thread = ? AND ns = '' AND parent BETWEEN ? AND ? ORDER BY id

-- name: goes_on
-- Whether another checkpoint goes on from this one.
SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND parent = ? LIMIT 1

-- name: said_of_item
-- The root checkpoints whose subgraphs said something of an item.
SELECT DISTINCT c.root FROM wyrd_events e JOIN wyrd_checkpoints c
ON c.thread = e.thread AND c.ns = e.ns AND c.id = e.checkpoint
WHERE e.thread = ? AND e.item = ? AND e.ns <> '' AND c.root IS NOT NULL

-- name: children
-- The newest checkpoints of the subgraphs that run at a root checkpoint.
SELECT ns, max(id) FROM wyrd_checkpoints WHERE thread = ? AND root = ? GROUP BY ns ORDER BY ns

-- name: steps
-- A checkpoint and what came before it, as far as ids tell.
SELECT id, parent, ts, CAST(due AS TEXT), root, sum FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?

-- name: events_of_steps
-- The ledger of such a page of checkpoints.
WITH page AS (
  SELECT id FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?
)
SELECT checkpoint, task, n, pillar, op, item, body, source, sum FROM wyrd_events
WHERE thread = ? AND ns = ? AND checkpoint <= ? AND checkpoint >= (SELECT min(id) FROM page)
ORDER BY checkpoint, task, n

-- name: write_paths
-- Which tasks of a checkpoint wrote to what, without the values.
SELECT task, path, channel FROM wyrd_writes
WHERE thread = ? AND ns = ? AND checkpoint = ? ORDER BY path, task, idx

-- ---- across threads
-- Each is a beginning, conditions that are put behind it, and an end.

-- name: list_loops
SELECT i.checkpoint, i.thread, i.id, i.thread_id, i.kind, i.description, CAST(i.context AS TEXT),
  i.ref, i.opened_at, i.changed_at, i.closed_at, i.closed_in, i.outcome, i.ns, i.node, i.channel,
  i.message_id, i.task_id, i.tool_call_id, i.rule, i.author, i.confidence, CAST(i.extra AS TEXT)
FROM wyrd_open_loops i WHERE

-- name: list_todos
SELECT i.checkpoint, i.thread, i.id, i.thread_id, i.place, i.listed, i.content, i.status,
  i.priority, i.tracker, i.ref, i.opened_at, i.changed_at, i.closed_at, i.ns, i.node, i.channel,
  i.message_id, i.task_id, i.tool_call_id, i.rule, i.author, i.confidence, CAST(i.extra AS TEXT)
FROM wyrd_todos i WHERE

-- name: list_intentions
SELECT i.checkpoint, i.thread, i.id, i.thread_id, i.text, i.aim, i.opened_at, i.closed_at,
  i.closed_in, i.outcome, i.ns, i.node, i.channel, i.message_id, i.task_id, i.tool_call_id,
  i.rule, i.author,
  i.confidence, CAST(i.extra AS TEXT)
FROM wyrd_intentions i WHERE

-- name: list_threads
-- The head is the root's newest checkpoint; wyrd_threads.head counts subgraphs in. It is looked up
-- for the page alone.
SELECT t.updated, t.id, t.thread_id, t.status, t.reason, t.title, CAST(t.due AS TEXT), t.user_id,
  t.created, t.open_loops, t.open_todos,
  (SELECT max(c.id) FROM wyrd_checkpoints c WHERE c.thread = t.id AND c.ns = '')
FROM wyrd_threads t WHERE t.deleted_at IS NULL AND t.head IS NOT NULL

-- name: still_open
i.closed_at IS NULL AND i.closed_in IS NULL

-- name: now_over
(i.closed_at IS NOT NULL OR i.closed_in IS NOT NULL)

-- name: todo_open
i.status NOT IN ('completed', 'cancelled')

-- name: todo_over
i.status IN ('completed', 'cancelled')

-- name: item_sure
AND i.confidence <> 'heuristic'

-- name: item_kind
AND i.kind = ?

-- name: item_kinds
-- Within CASE nothing is estimated: else Postgres takes what it knows nothing of for rare, and reads
-- and sorts all there is. To go along the index, until a page is full, is right in either case.
AND CASE WHEN i.kind IN (?

-- name: item_aim
AND CASE WHEN i.aim IN (?

-- name: item_status
AND CASE WHEN i.status IN (?

-- name: item_confidence
AND CASE WHEN i.confidence IN (?

-- name: item_node
AND CASE WHEN i.node IN (?

-- name: end_case
) THEN TRUE ELSE FALSE END

-- name: item_thread
AND i.thread IN (?

-- name: item_found_in
-- In one of a thread's messages, or by a model in any.
AND i.thread = ? AND (i.rule = 'model' OR i.message_id = ?)

-- name: item_user
-- Looked up for each row that the index gives: a join was planned upside down on fresh tables, and
-- took 200 ms where this takes 3.
AND (SELECT user_id FROM wyrd_threads WHERE id = i.thread) IN (?

-- name: user_threads
SELECT id FROM wyrd_threads WHERE user_id IN (?

-- name: user_threads_end
) LIMIT ?

-- name: item_since
AND i.opened_at >= ?

-- name: item_until
AND i.opened_at <= ?

-- name: item_after
AND (i.checkpoint, i.thread, i.id) < (?, ?, ?)

-- name: items_newest
ORDER BY i.checkpoint DESC, i.thread DESC, i.id DESC LIMIT ?

-- name: threads_status
AND t.status IN (?

-- name: threads_user
AND t.user_id IN (?

-- name: threads_since
AND t.updated >= ?

-- name: threads_until
AND t.updated <= ?

-- name: threads_after
AND (t.updated, t.id) < (?, ?)

-- name: threads_newest
ORDER BY t.updated DESC, t.id DESC LIMIT ?

-- name: or_value
, ?

-- name: end_values
)

-- ---- upkeep of the pillars

-- name: thread_status
SELECT status FROM wyrd_threads WHERE id = ?

-- name: early_writes
-- Checkpoints that tasks wrote to already, though they are not there yet.
SELECT DISTINCT checkpoint FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint > ?

-- name: early_events
SELECT DISTINCT checkpoint FROM wyrd_events WHERE thread = ? AND ns = ? AND checkpoint > ?

-- name: own_events
SELECT n, op FROM wyrd_events
WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = '' ORDER BY n

-- name: clear_thread
-- Nothing of the root is left that could be shown.
UPDATE wyrd_threads SET status = NULL, reason = NULL, due = NULL, title = NULL, user_id = NULL,
  open_loops = 0, open_todos = 0
WHERE id = ?

-- name: newest_of_each
SELECT ns, max(id) FROM wyrd_checkpoints WHERE thread = ? GROUP BY ns

-- name: set_derived
UPDATE wyrd_checkpoints SET due = ?, root = ?, sum = ? WHERE thread = ? AND ns = ? AND id = ?

-- name: threads_to_weave
SELECT t.thread_id, count(*) FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.deleted_at IS NULL GROUP BY t.id, t.thread_id ORDER BY t.id

-- name: count_checkpoints
SELECT count(*) FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.key = ? AND t.deleted_at IS NULL

-- name: copy_shown
UPDATE wyrd_threads SET (status, reason, due, title, user_id, open_loops, open_todos) = (
  SELECT status, reason, due, title, user_id, open_loops, open_todos
  FROM wyrd_threads WHERE id = ?)
WHERE id = ?

-- name: copy_events
INSERT INTO wyrd_events (thread, ns, checkpoint, task, n, pillar, op, item, body, source, sum)
SELECT ?, ns, checkpoint, task, n, pillar, op, item, body, source, (sum | ?) & ~(sum & ?)
FROM wyrd_events WHERE thread = ?

-- name: copy_todos
INSERT INTO wyrd_todos (thread, thread_id, id, place, listed, content, status, priority, tracker,
  ref, opened_at, changed_at, closed_at, checkpoint, ns, node, channel, message_id, task_id,
  tool_call_id, rule, author, confidence, changed_in, extra)
SELECT ?, ?, id, place, listed, content, status, priority, tracker, ref, opened_at, changed_at,
  closed_at, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author,
  confidence,
  changed_in, extra
FROM wyrd_todos WHERE thread = ?

-- name: copy_contexts
INSERT INTO wyrd_context (thread, thread_id, id, key, value, metadata, opened_at, changed_at,
  checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author, confidence,
  changed_in,
  extra)
SELECT ?, ?, id, key, value, metadata, opened_at, changed_at, checkpoint, ns, node, channel,
  message_id, task_id, tool_call_id, rule, author, confidence, changed_in, extra
FROM wyrd_context WHERE thread = ?

-- name: copy_loops
INSERT INTO wyrd_open_loops (thread, thread_id, id, kind, description, context, ref, opened_at,
  changed_at, closed_at, closed_in, outcome, checkpoint, ns, node, channel, message_id, task_id,
  tool_call_id, rule, author, confidence, changed_in, extra)
SELECT ?, ?, id, kind, description, context, ref, opened_at, changed_at, closed_at, closed_in,
  outcome, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author,
  confidence,
  changed_in, extra
FROM wyrd_open_loops WHERE thread = ?

-- name: copy_intentions
INSERT INTO wyrd_intentions (thread, thread_id, id, text, aim, opened_at, closed_at, closed_in,
  outcome, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author,
  confidence,
  changed_in, extra)
SELECT ?, ?, id, text, aim, opened_at, closed_at, closed_in, outcome, checkpoint, ns, node,
  channel, message_id, task_id, tool_call_id, rule, author, confidence, changed_in, extra
FROM wyrd_intentions WHERE thread = ?

-- ---- forks

-- name: other_head
-- The root's newest checkpoint but for one that is being put (again, perhaps).
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id <> ?

-- name: sibling
-- Whether another checkpoint goes on from the same parent; children are newer than their parents.
SELECT 1 FROM wyrd_checkpoints
WHERE thread = ? AND ns = '' AND id > ? AND id <> ? AND coalesce(parent, '') = ? LIMIT 1

-- name: earlier_head
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id < ?

-- name: next_sibling
SELECT id FROM wyrd_checkpoints
WHERE thread = ? AND ns = '' AND id > ? AND id < ? AND coalesce(parent, '') = ? ORDER BY id LIMIT 1

-- ---- labels: of checkpoints that are there, a label of one that never came does not show

-- name: put_label
INSERT INTO wyrd_labels (thread, name, checkpoint, created_at, automatic, keys, missing, context,
  sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, name, checkpoint) DO UPDATE SET created_at = excluded.created_at,
  automatic = excluded.automatic, keys = excluded.keys, missing = excluded.missing,
  context = excluded.context, sum = excluded.sum

-- name: set_label
-- On a boundary, which may be met again: what stands there already stays.
INSERT INTO wyrd_labels (thread, name, checkpoint, created_at, automatic, keys, missing, context,
  sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, name, checkpoint) DO NOTHING

-- name: label_at
-- The newest checkpoint of that label.
SELECT l.checkpoint FROM wyrd_labels l
JOIN wyrd_checkpoints c ON c.thread = l.thread AND c.ns = '' AND c.id = l.checkpoint
WHERE l.thread = ? AND l.name = ? ORDER BY l.checkpoint DESC LIMIT 1

-- name: get_label
SELECT name, checkpoint, created_at, automatic, CAST(keys AS TEXT), CAST(missing AS TEXT),
  sum, CAST(context AS TEXT)
FROM wyrd_labels WHERE thread = ? AND name = ? AND checkpoint = ?

-- name: labels
SELECT l.name, l.checkpoint, l.created_at, l.automatic, CAST(l.keys AS TEXT),
  CAST(l.missing AS TEXT), l.sum, EXISTS (SELECT 1 FROM wyrd_checkpoints c
    WHERE c.thread = l.thread AND c.ns = '' AND c.id = l.checkpoint)
FROM wyrd_labels l WHERE l.thread = ? ORDER BY l.checkpoint, l.name

-- name: drop_label
DELETE FROM wyrd_labels WHERE thread = ? AND name = ? AND checkpoint = ?

-- name: drop_labels
DELETE FROM wyrd_labels WHERE thread = ? AND checkpoint = ?

-- name: drop_all_labels
DELETE FROM wyrd_labels WHERE thread = ?

-- name: copy_labels
INSERT INTO wyrd_labels (thread, name, checkpoint, created_at, automatic, keys, missing, context,
  sum)
SELECT ?, name, checkpoint, created_at, automatic, keys, missing, context,
  (sum | ?) & ~(sum & ?)
FROM wyrd_labels WHERE thread = ?

-- name: roots_since
-- How many checkpoints of the root there are behind the newest one with a label.
SELECT count(*) FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id > coalesce(
  (SELECT max(checkpoint) FROM wyrd_labels WHERE thread = ? AND name = ?), '')

-- ---- heads

-- name: newest_before
SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id < ?

-- name: roots_of_subgraphs
SELECT ns, id, root FROM wyrd_checkpoints WHERE thread = ? AND ns <> ''

-- name: path_rows
-- A checkpoint and what came before it, as far as ids tell, with what it takes to read it.
SELECT id, parent, strand, seq, length, chain, CAST(metadata AS TEXT), exact
FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id <= ? ORDER BY id DESC LIMIT ?

-- ---- leases

-- name: lease_wanted
SELECT wanted FROM wyrd_leases WHERE key = ? AND owner = ?

-- name: want_lease
UPDATE wyrd_leases SET wanted = 1 WHERE key = ?

-- name: hear_lease
-- Only where it was seen: somebody may ask while this goes on.
UPDATE wyrd_leases SET wanted = 0 WHERE key = ? AND owner = ?

-- name: leave_lease
DELETE FROM wyrd_leases WHERE key = ? AND owner = ?

-- name: drop_lease
DELETE FROM wyrd_leases WHERE key = ?
