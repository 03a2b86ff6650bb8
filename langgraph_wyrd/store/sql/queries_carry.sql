-- Threads on their way in and out, and what is kept of them. `?` is a parameter.

-- name: threads_counted
SELECT t.thread_id, count(*) FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.id
WHERE t.deleted_at IS NULL GROUP BY t.id, t.thread_id ORDER BY t.id

-- name: parents_of
SELECT ns, id, parent FROM wyrd_checkpoints WHERE thread = ?

-- name: writes_counted
SELECT ns, checkpoint, count(*), min(idx) FROM wyrd_writes WHERE thread = ? GROUP BY ns, checkpoint

-- name: thread_times
SELECT created, updated, status, user_id FROM wyrd_threads WHERE id = ?

-- name: set_times
UPDATE wyrd_threads SET created = ?, updated = ? WHERE id = ?

-- name: first_and_last
SELECT min(ts), max(ts) FROM wyrd_checkpoints WHERE thread = ? AND ns = ''

-- name: labels_whole
SELECT l.name, l.checkpoint, l.created_at, l.automatic, CAST(l.keys AS TEXT),
  CAST(l.missing AS TEXT), l.sum, CAST(l.context AS TEXT)
FROM wyrd_labels l
JOIN wyrd_checkpoints c ON c.thread = l.thread AND c.ns = '' AND c.id = l.checkpoint
WHERE l.thread = ? ORDER BY l.checkpoint, l.name

-- name: carry_heal
-- What was seen here stays seen.
INSERT INTO wyrd_heals (thread, id, kind, ns, checkpoint, channel, what, healed_at, acknowledged_at,
  sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, id) DO UPDATE SET
  acknowledged_at = coalesce(wyrd_heals.acknowledged_at, excluded.acknowledged_at)

-- ---- retention

-- name: threads_page
SELECT id, thread_id FROM wyrd_threads WHERE deleted_at IS NULL AND id > ? ORDER BY id LIMIT ?

-- name: threads_alive
SELECT count(*) FROM wyrd_threads WHERE deleted_at IS NULL

-- name: ages
SELECT ns, id, ts FROM wyrd_checkpoints WHERE thread = ? ORDER BY ns, id

-- name: thread_state
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- name: moved
-- As `touch`, but nobody used the thread: when it was used last stays.
UPDATE wyrd_threads SET tick = tick + 1, strands = ?,
  head = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = wyrd_threads.id)
WHERE id = ?

-- name: oldest_root
SELECT ts FROM wyrd_checkpoints WHERE thread = ? AND ns = '' ORDER BY id LIMIT 1

-- name: one_too_many
-- Whether there are more checkpoints than so many; reads no more of them.
SELECT id FROM wyrd_checkpoints WHERE thread = ? AND ns = '' ORDER BY id DESC LIMIT 1 OFFSET ?

-- name: idle_threads
SELECT thread_id FROM wyrd_threads
WHERE deleted_at IS NULL AND head IS NOT NULL AND updated < ? ORDER BY updated LIMIT ?

-- name: still_idle
SELECT 1 FROM wyrd_threads WHERE id = ? AND updated < ?

-- name: writes_weighed
SELECT ns, checkpoint, count(*), sum(length(data)) FROM wyrd_writes
WHERE thread = ? GROUP BY ns, checkpoint

-- name: events_weighed
SELECT ns, checkpoint, count(*), sum(length(body) + length(source)) FROM wyrd_events
WHERE thread = ? GROUP BY ns, checkpoint

-- name: strands_weighed
SELECT strand, count(*), sum(length(data)) FROM wyrd_splices WHERE thread = ? GROUP BY strand

-- name: splices_weighed
SELECT strand, seq, sum(length(data)) FROM wyrd_splices WHERE thread = ? GROUP BY strand, seq

-- name: checkpoints_weighed
SELECT ns, id, ts, strand, seq, length, chain,
  length(CAST(metadata AS TEXT)) + coalesce(length(exact), 0)
FROM wyrd_checkpoints WHERE thread = ? ORDER BY id DESC, ns LIMIT ?

-- name: stray_writes
-- Writes to checkpoints that are not there.
SELECT DISTINCT w.ns, w.checkpoint FROM wyrd_writes w WHERE w.thread = ? AND NOT EXISTS (
  SELECT 1 FROM wyrd_checkpoints c
  WHERE c.thread = w.thread AND c.ns = w.ns AND c.id = w.checkpoint)

-- name: stray_events
SELECT DISTINCT e.ns, e.checkpoint FROM wyrd_events e WHERE e.thread = ? AND NOT EXISTS (
  SELECT 1 FROM wyrd_checkpoints c
  WHERE c.thread = e.thread AND c.ns = e.ns AND c.id = e.checkpoint)

-- name: old_tombstones
-- Of a thread id that is in use again, or was deleted so long ago that no run can still write.
SELECT id, key FROM wyrd_threads WHERE deleted_at < ?
AND NOT EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = wyrd_threads.id) LIMIT ?

-- name: drop_tombstone
DELETE FROM wyrd_threads WHERE id = ? AND deleted_at IS NOT NULL

-- ---- sizes

-- name: size_checkpoints
SELECT thread, count(*), sum(length(CAST(metadata AS TEXT))) FROM wyrd_checkpoints GROUP BY thread

-- name: size_splices
SELECT thread, count(*), sum(length(data)) FROM wyrd_splices GROUP BY thread

-- name: size_writes
SELECT thread, count(*), sum(length(data)) FROM wyrd_writes GROUP BY thread

-- name: size_events
SELECT thread, count(*), sum(length(body) + length(source)) FROM wyrd_events GROUP BY thread

-- name: size_todos
SELECT thread, count(*), sum(length(content)) FROM wyrd_todos GROUP BY thread

-- name: size_context
SELECT thread, count(*), sum(length(CAST(value AS TEXT))) FROM wyrd_context GROUP BY thread

-- name: size_open_loops
SELECT thread, count(*), sum(length(description)) FROM wyrd_open_loops GROUP BY thread

-- name: size_intentions
SELECT thread, count(*), sum(length(text)) FROM wyrd_intentions GROUP BY thread

-- name: size_labels
SELECT thread, count(*), sum(length(name) + length(CAST(context AS TEXT))) FROM wyrd_labels
GROUP BY thread

-- name: size_heals
SELECT thread, count(*), sum(length(what)) FROM wyrd_heals GROUP BY thread

-- name: size_quarantine
SELECT thread, count(*), sum(length(CAST(data AS TEXT))) FROM wyrd_quarantine GROUP BY thread

-- name: thread_names
SELECT id, thread_id, deleted_at IS NOT NULL FROM wyrd_threads
