CREATE TABLE wyrd_migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  min_reader INTEGER NOT NULL, -- the oldest schema that a library must know to read this one
  applied_at TEXT NOT NULL
);

CREATE TABLE wyrd_threads (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
  thread_id TEXT NOT NULL,
  key BLOB NOT NULL, -- sha256 of thread_id
  created TEXT NOT NULL,
  updated TEXT NOT NULL,
  head TEXT, -- the newest checkpoint
  buried TEXT, -- the newest checkpoint of deleted threads of this id
  tick INTEGER NOT NULL DEFAULT 0, -- raised by every put, prune and deletion
  strands INTEGER NOT NULL DEFAULT 0, -- how many strand numbers were given out
  writer INTEGER NOT NULL DEFAULT 0, -- the saver whose put was the last: it knows what tasks wrote
  status TEXT, -- of the head: idle, interrupted, error, due, done
  reason TEXT,
  due TEXT, -- JSON: the nodes that are about to run
  title TEXT, -- the first request, shortened
  user_id TEXT,
  open_loops INTEGER NOT NULL DEFAULT 0,
  open_todos INTEGER NOT NULL DEFAULT 0,
  deleted_at TEXT
);
CREATE UNIQUE INDEX wyrd_threads_key ON wyrd_threads (key) WHERE deleted_at IS NULL;
CREATE INDEX wyrd_threads_user ON wyrd_threads (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX wyrd_threads_updated ON wyrd_threads (updated, id)
WHERE deleted_at IS NULL AND head IS NOT NULL;
CREATE INDEX wyrd_threads_deleted ON wyrd_threads (key) WHERE deleted_at IS NOT NULL;

-- The second witness of which number a thread has: it is found where its row agrees.
CREATE TABLE wyrd_names (
  key BLOB NOT NULL, -- sha256 of thread_id
  thread INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (key, thread)
) WITHOUT ROWID;

CREATE TABLE wyrd_checkpoints (
  thread INTEGER NOT NULL,
  ns TEXT NOT NULL,
  id TEXT NOT NULL,
  parent TEXT,
  ts TEXT,
  step INTEGER,
  source TEXT,
  run_id TEXT,
  metadata TEXT NOT NULL, -- JSON
  exact BLOB, -- metadata that JSON can't carry, as the serde packs it
  strand INTEGER NOT NULL, -- where the frame stands in wyrd_splices
  seq INTEGER NOT NULL,
  length INTEGER NOT NULL,
  chain INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  due TEXT, -- derived, JSON: the nodes that this checkpoint is about to run
  root TEXT, -- a subgraph's: the root checkpoint that its run belongs to
  PRIMARY KEY (thread, ns, id)
);
CREATE INDEX wyrd_checkpoints_root ON wyrd_checkpoints (thread, root) WHERE root IS NOT NULL;
CREATE INDEX wyrd_checkpoints_run ON wyrd_checkpoints (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE wyrd_splices (
  thread INTEGER NOT NULL,
  strand INTEGER NOT NULL,
  seq INTEGER NOT NULL, -- the version that this row belongs to
  part INTEGER NOT NULL, -- nth splice of that version
  keep INTEGER NOT NULL,
  cut INTEGER NOT NULL,
  count INTEGER NOT NULL,
  data BLOB NOT NULL,
  sum INTEGER NOT NULL,
  chain INTEGER NOT NULL,
  PRIMARY KEY (thread, strand, seq, part)
);

CREATE TABLE wyrd_writes (
  thread INTEGER NOT NULL,
  ns TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  task TEXT NOT NULL,
  idx INTEGER NOT NULL,
  channel TEXT NOT NULL,
  path TEXT NOT NULL,
  shape TEXT NOT NULL,
  data BLOB NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (thread, ns, checkpoint, task, idx)
);

-- The ledger: what each checkpoint, and each task's writes, changed in the pillars. Append-only.
-- Everything below this table is its projection, as of the head of each thread.
CREATE TABLE wyrd_events (
  thread INTEGER NOT NULL,
  ns TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  task TEXT NOT NULL, -- empty: of the checkpoint itself
  n INTEGER NOT NULL,
  pillar TEXT NOT NULL, -- todo, context, loop, intention, thread
  op TEXT NOT NULL, -- open, change, close, drop, base, failed, fork
  item TEXT NOT NULL,
  body TEXT NOT NULL, -- JSON, sealed where values are encrypted
  source TEXT NOT NULL, -- JSON
  sum INTEGER NOT NULL,
  PRIMARY KEY (thread, ns, checkpoint, task, n)
) WITHOUT ROWID;

CREATE TABLE wyrd_todos (
  thread INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  id TEXT NOT NULL,
  place INTEGER NOT NULL, -- its place in the list
  listed INTEGER NOT NULL, -- false: it left the list, finished or given up
  content TEXT NOT NULL,
  status TEXT NOT NULL, -- pending, in_progress, completed, cancelled
  priority TEXT NOT NULL, -- low, medium, high, critical, or what the tracker says
  tracker TEXT NOT NULL, -- the list that it stands in
  ref TEXT, -- its id in that list
  opened_at TEXT,
  changed_at TEXT,
  closed_at TEXT,
  checkpoint TEXT NOT NULL, -- where it was opened
  ns TEXT NOT NULL,
  node TEXT,
  channel TEXT,
  message_id TEXT,
  task_id TEXT,
  tool_call_id TEXT,
  rule TEXT, -- which extractor's
  author TEXT, -- who declared it
  confidence TEXT NOT NULL, -- declared, structural, model, heuristic
  changed_in TEXT, -- the checkpoint that changed it last
  extra TEXT,
  PRIMARY KEY (thread, id)
) WITHOUT ROWID;
CREATE INDEX wyrd_todos_open ON wyrd_todos (checkpoint, thread, id)
WHERE status NOT IN ('completed', 'cancelled');
CREATE INDEX wyrd_todos_over ON wyrd_todos (checkpoint, thread, id)
WHERE status IN ('completed', 'cancelled');

CREATE TABLE wyrd_context (
  thread INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT, -- JSON
  metadata TEXT,
  opened_at TEXT,
  changed_at TEXT,
  checkpoint TEXT NOT NULL, -- where it was opened
  ns TEXT NOT NULL,
  node TEXT,
  channel TEXT,
  message_id TEXT,
  task_id TEXT,
  tool_call_id TEXT,
  rule TEXT, -- which extractor's
  author TEXT, -- who declared it
  confidence TEXT NOT NULL, -- declared, structural, model, heuristic
  changed_in TEXT, -- the checkpoint that changed it last
  extra TEXT,
  PRIMARY KEY (thread, id)
) WITHOUT ROWID;

CREATE TABLE wyrd_open_loops (
  thread INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL, -- interrupt, error, tool_call, question, request, …
  description TEXT NOT NULL,
  context TEXT,
  ref TEXT, -- a tool call's id, an interrupt's, a message's
  opened_at TEXT,
  changed_at TEXT,
  closed_at TEXT, -- null: still open
  closed_in TEXT, -- the checkpoint that closed it
  outcome TEXT, -- how
  checkpoint TEXT NOT NULL, -- where it was opened
  ns TEXT NOT NULL,
  node TEXT,
  channel TEXT,
  message_id TEXT,
  task_id TEXT,
  tool_call_id TEXT,
  rule TEXT, -- which extractor's
  author TEXT, -- who declared it
  confidence TEXT NOT NULL, -- declared, structural, model, heuristic
  changed_in TEXT, -- the checkpoint that changed it last
  extra TEXT,
  PRIMARY KEY (thread, id)
) WITHOUT ROWID;
CREATE INDEX wyrd_open_loops_open ON wyrd_open_loops (checkpoint, thread, id)
WHERE closed_at IS NULL AND closed_in IS NULL;
CREATE INDEX wyrd_open_loops_over ON wyrd_open_loops (checkpoint, thread, id)
WHERE closed_at IS NOT NULL OR closed_in IS NOT NULL;
CREATE INDEX wyrd_open_loops_kind ON wyrd_open_loops (kind, checkpoint, thread, id)
WHERE closed_at IS NULL AND closed_in IS NULL;

CREATE TABLE wyrd_intentions (
  thread INTEGER NOT NULL,
  thread_id TEXT NOT NULL,
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  aim TEXT NOT NULL, -- explicit, request, task
  opened_at TEXT,
  closed_at TEXT, -- null: what it is after now
  closed_in TEXT,
  outcome TEXT,
  checkpoint TEXT NOT NULL, -- where it was opened
  ns TEXT NOT NULL,
  node TEXT,
  channel TEXT,
  message_id TEXT,
  task_id TEXT,
  tool_call_id TEXT,
  rule TEXT, -- which extractor's
  author TEXT, -- who declared it
  confidence TEXT NOT NULL, -- declared, structural, model, heuristic
  changed_in TEXT, -- the checkpoint that changed it last
  extra TEXT,
  PRIMARY KEY (thread, id)
) WITHOUT ROWID;
CREATE INDEX wyrd_intentions_open ON wyrd_intentions (checkpoint, thread, id)
WHERE closed_at IS NULL AND closed_in IS NULL;
CREATE INDEX wyrd_intentions_over ON wyrd_intentions (checkpoint, thread, id)
WHERE closed_at IS NOT NULL OR closed_in IS NOT NULL;

CREATE TABLE wyrd_labels (
  thread INTEGER NOT NULL,
  name TEXT NOT NULL,
  checkpoint TEXT NOT NULL, -- one of the root
  created_at TEXT NOT NULL,
  automatic INTEGER NOT NULL, -- true: set on a boundary, by nobody
  keys TEXT NOT NULL, -- JSON: what was promoted
  missing TEXT NOT NULL, -- JSON: what was asked for, and not there
  context TEXT NOT NULL, -- JSON: the promoted items
  sum INTEGER NOT NULL,
  PRIMARY KEY (thread, name, checkpoint)
) WITHOUT ROWID;

-- With single_writer=True: who runs a thread now. A row lasts as long as a run, or its process.
CREATE TABLE wyrd_leases (
  key BLOB PRIMARY KEY, -- sha256 of thread_id
  thread_id TEXT NOT NULL,
  owner TEXT NOT NULL, -- one run of one process
  host TEXT NOT NULL,
  place TEXT NOT NULL, -- where the pid means something
  pid INTEGER NOT NULL,
  born TEXT NOT NULL, -- when the process started, so that a later one of its pid is known
  since REAL NOT NULL, -- seconds since 1970, as is the next
  seen REAL NOT NULL, -- the last sign of life
  wanted INTEGER NOT NULL -- 1: somebody was refused since
) WITHOUT ROWID;

-- What was damaged and met by a load, once each, and what was done about it.
CREATE TABLE wyrd_heals (
  thread INTEGER NOT NULL,
  id TEXT NOT NULL,
  ns TEXT NOT NULL,
  checkpoint TEXT NOT NULL, -- where it was met first
  channel TEXT NOT NULL,
  kind TEXT NOT NULL, -- exact, placeholder, left_out, ancestor, empty
  what TEXT NOT NULL, -- sealed where values are encrypted
  healed_at TEXT NOT NULL,
  acknowledged_at TEXT,
  sum INTEGER NOT NULL,
  PRIMARY KEY (thread, id)
) WITHOUT ROWID;

-- Damaged rows that a repair took out of their table: nothing is thrown away.
CREATE TABLE wyrd_quarantine (
  thread INTEGER NOT NULL,
  origin TEXT NOT NULL, -- the table that it stood in
  place TEXT NOT NULL, -- its key there
  data TEXT NOT NULL, -- JSON: its columns as they were; bytes as base64
  moved_at TEXT NOT NULL,
  sum INTEGER NOT NULL,
  PRIMARY KEY (thread, origin, place)
) WITHOUT ROWID;

-- The keys that the store was ever sealed with, if `keys=` was given. Not the keys: their ids.
CREATE TABLE wyrd_keys (
  id TEXT PRIMARY KEY,
  proof TEXT NOT NULL, -- something sealed with it: another key of that id does not open it
  since TEXT NOT NULL
) WITHOUT ROWID;

-- Values that belong to a user: of channels that `Channels(user=…)` names, as splices like those of
-- wyrd_splices; and what `saver.user` keeps, of thread 0. Erased, a channel's rows stay, empty.
CREATE TABLE wyrd_user_data (
  thread INTEGER NOT NULL,
  strand INTEGER NOT NULL, -- below zero
  seq INTEGER NOT NULL,
  part INTEGER NOT NULL,
  keep INTEGER NOT NULL,
  cut INTEGER NOT NULL,
  count INTEGER NOT NULL,
  data BLOB NOT NULL, -- behind a salt
  sum INTEGER NOT NULL,
  chain INTEGER NOT NULL,
  user_id TEXT, -- null: erased
  name TEXT NOT NULL, -- the channel, or the key
  PRIMARY KEY (thread, strand, seq, part)
);
CREATE INDEX wyrd_user_data_user ON wyrd_user_data (user_id, thread) WHERE user_id IS NOT NULL;
