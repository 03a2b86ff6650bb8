-- name: lock_thread
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
FOR NO KEY UPDATE

-- name: alive
-- Shared with other writes; a deletion (FOR UPDATE) waits for it.
SELECT id FROM wyrd_threads WHERE id = ? AND deleted_at IS NULL FOR KEY SHARE

-- name: lock_to_bury
-- Waits for every write that is under way in the thread.
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
FOR UPDATE

-- name: lineage_frames
-- Every frame strand that a page of `lineage` names, whole: one look-up each, whatever the
-- statistics say.
SELECT s.strand, s.seq, s.part, s.keep, s.cut, s.count, s.data, s.sum, s.chain
FROM (
  SELECT DISTINCT strand FROM (
    SELECT strand FROM wyrd_checkpoints
    WHERE thread = ? AND ns = ? AND id <= ? ORDER BY id DESC LIMIT ?
  ) AS page
) AS named CROSS JOIN LATERAL (
  SELECT strand, seq, part, keep, cut, count, data, sum, chain FROM wyrd_splices
  WHERE thread = ? AND strand = named.strand ORDER BY seq, part
) AS s

-- ---- across threads: only ASCII is folded, in both databases; the plan looks at the rest

-- name: loop_says
AND lower(i.description COLLATE "C") LIKE ? ESCAPE '!'

-- name: todo_says
AND lower(i.content COLLATE "C") LIKE ? ESCAPE '!'

-- name: intention_says
AND lower(i.text COLLATE "C") LIKE ? ESCAPE '!'

-- name: threads_say
AND (lower(t.title COLLATE "C") LIKE ? ESCAPE '!' OR lower(t.reason COLLATE "C") LIKE ? ESCAPE '!')

-- ---- the file is the server's

-- name: file_state
SELECT 0, 0

-- name: file_check
SELECT 'ok'
