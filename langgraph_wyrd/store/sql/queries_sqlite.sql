-- name: lock_thread
-- A write transaction has the whole database.
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL

-- name: alive
SELECT id FROM wyrd_threads WHERE id = ? AND deleted_at IS NULL

-- name: lock_to_bury
-- Waits for every write that is under way in the thread.
SELECT id, tick, strands, buried FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
