-- Every statement that both databases understand as it stands. `?` is a parameter.

-- name: add_thread
-- Two writers may open one id at once: the second adds nothing, and finds the first one's row.
INSERT INTO wyrd_threads (thread_id, key, created, updated, buried) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) WHERE deleted_at IS NULL DO NOTHING

-- name: last_deleted
-- The newest checkpoint that any deleted thread of this id had.
SELECT max(head) FROM wyrd_threads WHERE key = ? AND deleted_at IS NOT NULL

-- name: advance
UPDATE wyrd_threads SET tick = tick + 1, strands = ?, updated = ?,
  head = CASE WHEN head IS NULL OR head < ? THEN ? ELSE head END
WHERE id = ? AND tick = ? AND deleted_at IS NULL

-- name: touch
-- A thread changed by something other than a put: whoever knew it must look again.
UPDATE wyrd_threads SET tick = tick + 1, strands = ?, updated = ?,
  head = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = wyrd_threads.id)
WHERE id = ?

-- name: put_splice
INSERT INTO wyrd_splices (thread, strand, seq, part, keep, cut, count, data, sum, chain)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_checkpoint
INSERT INTO wyrd_checkpoints (thread, ns, id, parent, ts, step, source, run_id, metadata, exact,
  strand, seq, length, chain, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, ns, id) DO UPDATE SET parent = excluded.parent, ts = excluded.ts,
  step = excluded.step, source = excluded.source, run_id = excluded.run_id,
  metadata = excluded.metadata, exact = excluded.exact, strand = excluded.strand,
  seq = excluded.seq, length = excluded.length, chain = excluded.chain, sum = excluded.sum

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

-- name: or_channel
, ?

-- name: of_channels
)

-- name: checkpoint
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.key = ? AND t.deleted_at IS NULL AND c.ns = ? AND c.id = ?

-- name: latest
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.key = ? AND t.deleted_at IS NULL AND c.ns = ?
ORDER BY c.id DESC LIMIT 1

-- name: page
-- A page of checkpoints, newest first; conditions and the end are put behind it.
SELECT t.id, t.tick, t.strands, t.buried, t.thread_id, c.ns, c.id, c.parent, c.ts,
  CAST(c.metadata AS TEXT), c.exact, c.strand, c.seq, c.length, c.chain, c.sum
FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.deleted_at IS NULL

-- name: of_thread
AND t.key = ?

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
SELECT id, parent, strand, seq, length, chain FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?

-- name: ancestor
SELECT id, parent, strand, seq, length, chain FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id = ?

-- name: checkpoint_ids
SELECT ns, id, parent, run_id, strand, seq, length, chain FROM wyrd_checkpoints
WHERE thread = ? ORDER BY ns, id

-- name: checkpoint_row
SELECT ns, id, parent, ts, step, source, run_id, CAST(metadata AS TEXT), exact, strand, seq, length,
  chain
FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?

-- name: checkpoint_rows
-- A page of a thread, for copying.
SELECT ns, id, parent, ts, step, source, run_id, CAST(metadata AS TEXT), exact, strand, seq, length,
  chain
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
  head = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = wyrd_threads.id)
WHERE id = ?

-- name: runs
SELECT DISTINCT t.thread_id FROM wyrd_checkpoints c JOIN wyrd_threads t ON t.id = c.thread
WHERE c.run_id = ? AND t.deleted_at IS NULL

-- name: copy_splices
INSERT INTO wyrd_splices (thread, strand, seq, part, keep, cut, count, data, sum, chain)
SELECT ?, strand, seq, part, keep, cut, count, data, sum, chain FROM wyrd_splices WHERE thread = ?

-- name: copy_writes
INSERT INTO wyrd_writes (thread, ns, checkpoint, task, idx, channel, path, shape, data, sum)
SELECT ?, ns, checkpoint, task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ?

-- name: has_checkpoints
SELECT 1 FROM wyrd_checkpoints WHERE thread = ? LIMIT 1

-- name: schema_version
SELECT max(version), max(min_reader) FROM wyrd_migrations

-- name: record_migration
INSERT INTO wyrd_migrations (version, name, min_reader, applied_at) VALUES (?, ?, ?, ?)
