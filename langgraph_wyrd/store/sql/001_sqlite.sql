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
  deleted_at TEXT
);
CREATE UNIQUE INDEX wyrd_threads_key ON wyrd_threads (key) WHERE deleted_at IS NULL;
CREATE INDEX wyrd_threads_deleted ON wyrd_threads (key) WHERE deleted_at IS NOT NULL;

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
  PRIMARY KEY (thread, ns, id)
);
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
