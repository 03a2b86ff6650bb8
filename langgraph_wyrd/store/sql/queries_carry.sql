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
