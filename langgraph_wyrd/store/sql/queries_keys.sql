-- A store that a key ring seals: which keys, and whole rows to be sealed anew. `?` is a parameter.

-- name: keys
SELECT id, proof FROM wyrd_keys

-- name: add_key
INSERT INTO wyrd_keys (id, proof, since) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING

-- name: proofs
-- The last is for what is wrong with one.
SELECT id, proof, NULL FROM wyrd_keys ORDER BY id

-- name: drop_key
DELETE FROM wyrd_keys WHERE id = ?

-- name: first_checkpoints
SELECT substr(exact, 1, 80) FROM wyrd_checkpoints LIMIT 5

-- name: some_writes
SELECT data FROM wyrd_writes ORDER BY thread DESC LIMIT 5

-- name: thread_of
SELECT thread_id FROM wyrd_threads WHERE id = ?

-- ---- with what opens a row behind it: the beginning of what is sealed, or what it is bound to

-- name: ancestor_sealed
SELECT id, parent, strand, seq, length, chain, substr(exact, 1, 80) FROM wyrd_checkpoints
WHERE thread = ? AND ns = ? AND id = ?

-- name: checkpoint_ids_sealed
SELECT ns, id, parent, run_id, strand, seq, length, chain, substr(exact, 1, 80)
FROM wyrd_checkpoints WHERE thread = ? ORDER BY ns, id

-- name: path_rows_sealed
SELECT id, parent, strand, seq, length, chain, CAST(metadata AS TEXT), exact, ts
FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id <= ? ORDER BY id DESC LIMIT ?

-- name: set_derived_sealed
-- The other bits of a checksum are masked.
UPDATE wyrd_checkpoints SET due = ?, root = ?, sum = (sum & ~32767) | ?
WHERE thread = ? AND ns = ? AND id = ?

-- ---- whole rows, a page at a time

-- name: whole_splices
SELECT thread, strand, seq, part, keep, cut, count, data, sum, chain FROM wyrd_splices
WHERE thread = ? AND (strand, seq, part) > (?, ?, ?) ORDER BY strand, seq, part LIMIT ?

-- name: whole_user_data
SELECT thread, strand, seq, part, keep, cut, count, data, sum, chain, user_id, name
FROM wyrd_user_data
WHERE thread = ? AND (strand, seq, part) > (?, ?, ?) ORDER BY strand, seq, part LIMIT ?

-- name: put_user_whole
INSERT INTO wyrd_user_data (thread, strand, seq, part, keep, cut, count, data, sum, chain, user_id,
  name)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, strand, seq, part) DO UPDATE SET keep = excluded.keep, cut = excluded.cut,
  count = excluded.count, data = excluded.data, sum = excluded.sum, chain = excluded.chain,
  user_id = excluded.user_id, name = excluded.name

-- name: whole_writes
SELECT thread, ns, checkpoint, task, idx, channel, path, shape, data, sum FROM wyrd_writes
WHERE thread = ? AND (ns, checkpoint, task, idx) > (?, ?, ?, ?)
ORDER BY ns, checkpoint, task, idx LIMIT ?

-- name: whole_checkpoints
SELECT thread, ns, id, parent, ts, step, source, run_id, CAST(metadata AS TEXT), exact, strand, seq,
  length, chain, sum, CAST(due AS TEXT), root
FROM wyrd_checkpoints WHERE thread = ? AND (ns, id) > (?, ?) ORDER BY ns, id LIMIT ?

-- name: whole_events
SELECT thread, ns, checkpoint, task, n, pillar, op, item, body, source, sum FROM wyrd_events
WHERE thread = ? AND (ns, checkpoint, task, n) > (?, ?, ?, ?)
ORDER BY ns, checkpoint, task, n LIMIT ?

-- name: whole_todos
SELECT thread, thread_id, id, place, listed, content, status, priority, tracker, ref, opened_at,
  changed_at, closed_at, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule,
  author, confidence, changed_in, CAST(extra AS TEXT)
FROM wyrd_todos WHERE thread = ? AND id > ? ORDER BY id LIMIT ?

-- name: whole_contexts
SELECT thread, thread_id, id, key, CAST(value AS TEXT), CAST(metadata AS TEXT), opened_at,
  changed_at, checkpoint, ns, node, channel, message_id, task_id, tool_call_id, rule, author,
  confidence, changed_in, CAST(extra AS TEXT)
FROM wyrd_context WHERE thread = ? AND id > ? ORDER BY id LIMIT ?

-- name: whole_loops
SELECT thread, thread_id, id, kind, description, CAST(context AS TEXT), ref, opened_at, changed_at,
  closed_at, closed_in, outcome, checkpoint, ns, node, channel, message_id, task_id, tool_call_id,
  rule, author, confidence, changed_in, CAST(extra AS TEXT)
FROM wyrd_open_loops WHERE thread = ? AND id > ? ORDER BY id LIMIT ?

-- name: whole_intentions
SELECT thread, thread_id, id, text, aim, opened_at, closed_at, closed_in, outcome, checkpoint, ns,
  node, channel, message_id, task_id, tool_call_id, rule, author, confidence, changed_in,
  CAST(extra AS TEXT)
FROM wyrd_intentions WHERE thread = ? AND id > ? ORDER BY id LIMIT ?

-- name: whole_labels
SELECT thread, name, checkpoint, created_at, automatic, CAST(keys AS TEXT), CAST(missing AS TEXT),
  CAST(context AS TEXT), sum
FROM wyrd_labels WHERE thread = ? AND (name, checkpoint) > (?, ?) ORDER BY name, checkpoint LIMIT ?

-- name: whole_heals
SELECT thread, id, what, sum FROM wyrd_heals WHERE thread = ? AND id > ? ORDER BY id LIMIT ?

-- name: fix_heal
UPDATE wyrd_heals SET what = ?, sum = ? WHERE thread = ? AND id = ?

-- name: whole_quarantine
SELECT thread, origin, place, CAST(data AS TEXT), sum FROM wyrd_quarantine
WHERE thread = ? AND (origin, place) > (?, ?) ORDER BY origin, place LIMIT ?

-- name: fix_quarantine
UPDATE wyrd_quarantine SET data = ?, sum = ? WHERE thread = ? AND origin = ? AND place = ?

-- name: whole_threads
SELECT id, reason, title FROM wyrd_threads WHERE id = ? AND id > ? LIMIT ?
