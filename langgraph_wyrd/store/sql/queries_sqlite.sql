-- name: lock_thread
-- No strand's number is given out twice, whatever the row says.
-- A write transaction has the whole database.
SELECT id, tick, max(CAST(strands AS INTEGER), (SELECT coalesce(max(strand), 0) FROM wyrd_splices
  WHERE thread = wyrd_threads.id)), buried
FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- name: alive
SELECT id FROM wyrd_threads
WHERE id = ? AND coalesce(nullif(?, 0), writer) = writer AND deleted_at IS NULL

-- name: lock_to_bury
-- Waits for every write that is under way in the thread.
SELECT id, tick, max(CAST(strands AS INTEGER), (SELECT coalesce(max(strand), 0) FROM wyrd_splices
  WHERE thread = wyrd_threads.id)), buried
FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)

-- name: lineage_frames
-- Every frame strand that a page of `lineage` names, whole.
SELECT s.strand, s.seq, s.part, s.keep, s.cut, s.count, s.data, s.sum, s.chain
FROM (
  SELECT DISTINCT strand FROM (
    SELECT strand FROM wyrd_checkpoints
    WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?
  )
) AS named CROSS JOIN wyrd_splices AS s
WHERE s.thread = ? AND s.strand = named.strand

-- ---- across threads: only ASCII is folded, in both databases; the plan looks at the rest

-- name: loop_says
AND lower(i.description) LIKE ? ESCAPE '!'

-- name: todo_says
AND lower(i.content) LIKE ? ESCAPE '!'

-- name: intention_says
AND lower(i.text) LIKE ? ESCAPE '!'

-- name: threads_say
AND (lower(t.title) LIKE ? ESCAPE '!' OR lower(t.reason) LIKE ? ESCAPE '!')

-- ---- space

-- name: on_disk
SELECT page_count * page_size, freelist_count * page_size
FROM pragma_page_count, pragma_page_size, pragma_freelist_count

-- ---- leases: the times are the database's own

-- name: lease
SELECT owner, host, place, pid, born, since, seen, (julianday('now') - 2440587.5) * 86400.0 - seen
FROM wyrd_leases WHERE key = ?

-- name: holds_lease
SELECT 1 FROM wyrd_leases WHERE key = ? AND owner = ?

-- name: add_lease
INSERT INTO wyrd_leases (key, thread_id, owner, host, place, pid, born, since, seen, wanted)
VALUES (?, ?, ?, ?, ?, ?, ?, (julianday('now') - 2440587.5) * 86400.0,
  (julianday('now') - 2440587.5) * 86400.0, 0)
ON CONFLICT (key) DO NOTHING

-- name: take_lease
UPDATE wyrd_leases SET owner = ?, host = ?, place = ?, pid = ?, born = ?,
  since = (julianday('now') - 2440587.5) * 86400.0,
  seen = (julianday('now') - 2440587.5) * 86400.0, wanted = 0
WHERE key = ?

-- name: beat_lease
UPDATE wyrd_leases SET seen = (julianday('now') - 2440587.5) * 86400.0
WHERE key = ? AND owner = ?

-- ---- the file

-- name: room
SELECT page_count * page_size, freelist_count * page_size, NULL
FROM pragma_page_count, pragma_page_size, pragma_freelist_count

-- name: file_check
PRAGMA integrity_check(20)

-- name: add_thread_again
-- The row that a thread had, under its old number.
INSERT INTO wyrd_threads (id, thread_id, key, created, updated, strands)
VALUES (?, ?, ?, ?, ?, ?)

-- name: lock_user_data
-- There is one writer: nothing needs to be locked.
DELETE FROM wyrd_user_data WHERE 1 = 0
