-- What belongs to users. `?` is a parameter.

-- name: put_user_splice
INSERT INTO wyrd_user_data (thread, strand, seq, part, keep, cut, count, data, sum, chain, user_id,
  name)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_user_write
-- What an ordinary write of a task stands for, unless that is stored: a repeated one is a retry, and
-- what was erased since does not come back by one.
INSERT INTO wyrd_user_data (thread, strand, seq, part, keep, cut, count, data, sum, chain, user_id,
  name)
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
WHERE NOT EXISTS (SELECT 1 FROM wyrd_writes
  WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = ? AND idx = ?)

-- name: user_strand
SELECT strand, seq, part, keep, cut, count, data, sum, chain, user_id, name FROM wyrd_user_data
WHERE thread = ? AND strand = ? AND seq <= ? ORDER BY seq, part

-- name: newest_user_seq
SELECT max(seq) FROM wyrd_user_data WHERE thread = ? AND strand = ?

-- ---- with the thread that they are of

-- name: user_strands
SELECT strand, max(seq) FROM wyrd_user_data WHERE thread = ? GROUP BY strand

-- name: writes_of_users
-- What stands among a thread's writes for what belongs to users.
SELECT ns, checkpoint, task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ? AND shape = ?

-- name: drop_user_strand
DELETE FROM wyrd_user_data WHERE thread = ? AND strand = ?

-- name: cut_user_strand
DELETE FROM wyrd_user_data WHERE thread = ? AND strand = ? AND seq > ?

-- name: drop_all_user_data
DELETE FROM wyrd_user_data WHERE thread = ?

-- name: copy_user_data
INSERT INTO wyrd_user_data (thread, strand, seq, part, keep, cut, count, data, sum, chain, user_id,
  name)
SELECT ?, strand, seq, part, keep, cut, count, data, sum, chain, user_id, name FROM wyrd_user_data
WHERE thread = ?

-- name: all_user_data
SELECT strand, seq, part, keep, cut, count, data, sum, chain, user_id, name FROM wyrd_user_data
WHERE thread = ? ORDER BY strand, seq, part

-- name: fix_user_data
UPDATE wyrd_user_data SET keep = ?, cut = ?, count = ?, data = ?, sum = ?, chain = ?, user_id = ?,
  name = ?
WHERE thread = ? AND strand = ? AND seq = ? AND part = ?

-- name: size_user_data
SELECT thread, count(*), sum(length(data)) FROM wyrd_user_data WHERE thread <> 0 GROUP BY thread

-- ---- erasing

-- name: threads_with
-- Threads that hold something of a user.
SELECT DISTINCT t.id, t.thread_id FROM wyrd_user_data d JOIN wyrd_threads t ON t.id = d.thread
WHERE d.user_id = ? AND t.deleted_at IS NULL ORDER BY t.id

-- name: threads_of
SELECT id, thread_id FROM wyrd_threads WHERE user_id = ? AND deleted_at IS NULL ORDER BY id

-- name: thread_owner
SELECT id, user_id, (SELECT 1 FROM wyrd_checkpoints c
  WHERE c.thread = t.id AND c.ns = '' LIMIT 1)
FROM wyrd_threads t WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = t.key AND n.thread = t.id AND n.thread_id = t.thread_id)

-- name: of_user
AND t.user_id = ?

-- name: is_users_thread
SELECT 1 FROM wyrd_threads WHERE id = ? AND user_id = ?

-- name: count_user_data
SELECT count(*) FROM wyrd_user_data WHERE thread = ? AND user_id = ?

-- name: erase_in_thread
UPDATE wyrd_user_data SET keep = 0, cut = 0, count = 0, data = ?, sum = 0, chain = 0, user_id = NULL
WHERE thread = ? AND user_id = ?

-- name: erase_homeless
-- What stands under no thread that is there.
DELETE FROM wyrd_user_data WHERE user_id = ? AND (thread = 0 OR thread NOT IN (
  SELECT id FROM wyrd_threads WHERE deleted_at IS NULL))

-- name: count_homeless
SELECT count(*) FROM wyrd_user_data WHERE user_id = ? AND (thread = 0 OR thread NOT IN (
  SELECT id FROM wyrd_threads WHERE deleted_at IS NULL))

-- name: rows_by_table
SELECT 'checkpoints', count(*) FROM wyrd_checkpoints WHERE thread = ?
UNION ALL SELECT 'splices', count(*) FROM wyrd_splices WHERE thread = ?
UNION ALL SELECT 'writes', count(*) FROM wyrd_writes WHERE thread = ?
UNION ALL SELECT 'events', count(*) FROM wyrd_events WHERE thread = ?
UNION ALL SELECT 'todos', count(*) FROM wyrd_todos WHERE thread = ?
UNION ALL SELECT 'context', count(*) FROM wyrd_context WHERE thread = ?
UNION ALL SELECT 'open_loops', count(*) FROM wyrd_open_loops WHERE thread = ?
UNION ALL SELECT 'intentions', count(*) FROM wyrd_intentions WHERE thread = ?
UNION ALL SELECT 'labels', count(*) FROM wyrd_labels WHERE thread = ?
UNION ALL SELECT 'heals', count(*) FROM wyrd_heals WHERE thread = ?
UNION ALL SELECT 'quarantine', count(*) FROM wyrd_quarantine WHERE thread = ?
UNION ALL SELECT 'user_data', count(*) FROM wyrd_user_data WHERE thread = ?

-- ---- what is kept for users beside the threads

-- name: set_user_value
INSERT INTO wyrd_user_data (thread, strand, seq, part, keep, cut, count, data, sum, chain, user_id,
  name)
VALUES (0, ?, 0, 0, 0, 0, ?, ?, ?, 0, ?, ?)
ON CONFLICT (thread, strand, seq, part) DO UPDATE SET count = excluded.count, data = excluded.data,
  sum = excluded.sum

-- name: user_value
SELECT strand, count, data, sum, user_id, name FROM wyrd_user_data
WHERE thread = 0 AND strand = ? AND seq = 0 AND part = 0

-- name: user_values
SELECT strand, count, data, sum, user_id, name FROM wyrd_user_data
WHERE thread = 0 AND user_id = ? ORDER BY name

-- name: user_keys
SELECT name, strand FROM wyrd_user_data WHERE thread = 0 AND user_id = ? ORDER BY name

-- name: all_user_values
-- One in another place has no strand.
SELECT CASE WHEN seq = 0 AND part = 0 AND keep = 0 AND cut = 0 AND chain = 0 THEN strand END,
  count, data, sum, user_id, name FROM wyrd_user_data WHERE thread = 0

-- name: drop_user_value
DELETE FROM wyrd_user_data WHERE thread = 0 AND strand = ?
