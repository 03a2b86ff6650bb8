-- name: lock_thread
-- A write transaction has the whole database.
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL

-- name: alive
SELECT id FROM wyrd_threads WHERE id = ? AND deleted_at IS NULL

-- name: lock_to_bury
-- Waits for every write that is under way in the thread.
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL

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

-- ---- the file

-- name: file_state
SELECT (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_count FROM pragma_page_count)

-- name: file_check
PRAGMA quick_check(20)
