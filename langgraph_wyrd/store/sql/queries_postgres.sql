-- name: lock_thread
-- No strand's number is given out twice, whatever the row says.
SELECT id, tick, greatest(strands, (SELECT coalesce(max(strand), 0) FROM wyrd_splices
  WHERE thread = wyrd_threads.id)), buried
FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)
FOR NO KEY UPDATE

-- name: alive
-- Shared with other writes; a deletion (FOR UPDATE) waits for it.
SELECT id FROM wyrd_threads
WHERE id = ? AND coalesce(nullif(?, 0), writer) = writer AND deleted_at IS NULL FOR KEY SHARE

-- name: if_there
-- Around `alive` or `advance`: an error where there is nothing. What follows in the pipeline then
-- does not happen.
WITH found AS (

-- name: or_fail
) SELECT 1 / count(*) FROM found

-- name: returned
RETURNING id

-- name: lock_to_bury
-- Waits for every write that is under way in the thread.
SELECT id, tick, greatest(strands, (SELECT coalesce(max(strand), 0) FROM wyrd_splices
  WHERE thread = wyrd_threads.id)), buried
FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL
AND EXISTS (SELECT 1 FROM wyrd_names n
  WHERE n.key = wyrd_threads.key AND n.thread = wyrd_threads.id
  AND n.thread_id = wyrd_threads.thread_id)
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
-- In a CASE for the same reason as item_kinds.
AND CASE WHEN lower(i.description COLLATE "C") LIKE ? ESCAPE '!' THEN TRUE ELSE FALSE END

-- name: todo_says
AND CASE WHEN lower(i.content COLLATE "C") LIKE ? ESCAPE '!' THEN TRUE ELSE FALSE END

-- name: intention_says
AND CASE WHEN lower(i.text COLLATE "C") LIKE ? ESCAPE '!' THEN TRUE ELSE FALSE END

-- name: threads_say
AND (lower(t.title COLLATE "C") LIKE ? ESCAPE '!' OR lower(t.reason COLLATE "C") LIKE ? ESCAPE '!')

-- ---- space

-- name: on_disk
SELECT sum(pg_total_relation_size(c.oid))::bigint, NULL FROM pg_class c
JOIN pg_class own ON own.relnamespace = c.relnamespace
WHERE own.oid = 'wyrd_threads'::regclass AND c.relkind = 'r' AND left(c.relname, 5) = 'wyrd_'

-- ---- leases: the times are the database's own

-- name: lease
SELECT owner, host, place, pid, born, since, seen, CAST(extract(epoch FROM clock_timestamp()) AS double precision) - seen
FROM wyrd_leases WHERE key = ?
FOR UPDATE

-- name: holds_lease
-- Shared with other writes and with signs of life; whoever takes the lease over waits for it.
SELECT 1 FROM wyrd_leases WHERE key = ? AND owner = ?
FOR KEY SHARE

-- name: add_lease
INSERT INTO wyrd_leases (key, thread_id, owner, host, place, pid, born, since, seen, wanted)
VALUES (?, ?, ?, ?, ?, ?, ?, CAST(extract(epoch FROM clock_timestamp()) AS double precision),
  CAST(extract(epoch FROM clock_timestamp()) AS double precision), 0)
ON CONFLICT (key) DO NOTHING

-- name: take_lease
UPDATE wyrd_leases SET owner = ?, host = ?, place = ?, pid = ?, born = ?,
  since = CAST(extract(epoch FROM clock_timestamp()) AS double precision),
  seen = CAST(extract(epoch FROM clock_timestamp()) AS double precision), wanted = 0
WHERE key = ?

-- name: beat_lease
UPDATE wyrd_leases SET seen = CAST(extract(epoch FROM clock_timestamp()) AS double precision)
WHERE key = ? AND owner = ?

-- ---- the file is the server's

-- name: room
-- What is free within tables Postgres does not count; rows that are dead it does.
SELECT (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    JOIN pg_class own ON own.relnamespace = c.relnamespace
    WHERE own.oid = 'wyrd_threads'::regclass AND c.relkind = 'r' AND left(c.relname, 5) = 'wyrd_'),
  NULL,
  (SELECT coalesce(sum(s.n_dead_tup), 0)::bigint FROM pg_stat_all_tables s
    JOIN pg_class own ON own.oid = 'wyrd_threads'::regclass
    JOIN pg_class c ON c.oid = s.relid AND c.relnamespace = own.relnamespace
    WHERE left(s.relname, 5) = 'wyrd_')

-- name: file_check
SELECT 'ok'

-- name: add_thread_again
-- The row that a thread had, under its old number.
INSERT INTO wyrd_threads (id, thread_id, key, created, updated, strands)
OVERRIDING SYSTEM VALUE VALUES (?, ?, ?, ?, ?, ?)

-- ---- erasing

-- name: vacuum_users
VACUUM wyrd_user_data

-- name: vacuum_all
VACUUM wyrd_threads, wyrd_names, wyrd_checkpoints, wyrd_splices, wyrd_writes, wyrd_events,
  wyrd_todos, wyrd_context, wyrd_open_loops, wyrd_intentions, wyrd_labels,
  wyrd_heals, wyrd_quarantine, wyrd_user_data

-- name: lock_user_data
-- While a page of it is sealed anew nobody else writes to it: no thread's row keeps them apart.
LOCK TABLE wyrd_user_data IN SHARE ROW EXCLUSIVE MODE
