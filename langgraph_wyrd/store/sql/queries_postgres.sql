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
