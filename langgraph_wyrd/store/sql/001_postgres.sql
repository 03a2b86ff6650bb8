CREATE TABLE wyrd_migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  min_reader integer NOT NULL, -- the oldest schema that a library must know to read this one
  applied_at timestamptz NOT NULL
);

-- Kept HOT: room in the page for updates, and no index on what every put changes.
CREATE TABLE wyrd_threads (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never used again
  thread_id text NOT NULL,
  key bytea NOT NULL, -- sha256 of thread_id
  created timestamptz NOT NULL,
  updated timestamptz NOT NULL,
  head text COLLATE "C", -- the newest checkpoint
  buried text COLLATE "C", -- the newest checkpoint of deleted threads of this id
  tick bigint NOT NULL DEFAULT 0, -- raised by every put, prune and deletion
  strands bigint NOT NULL DEFAULT 0, -- how many strand numbers were given out
  deleted_at timestamptz
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX wyrd_threads_key ON wyrd_threads (key) WHERE deleted_at IS NULL;
CREATE INDEX wyrd_threads_deleted ON wyrd_threads (key) WHERE deleted_at IS NOT NULL;

CREATE TABLE wyrd_checkpoints (
  thread bigint NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  parent text COLLATE "C",
  ts text,
  step bigint,
  source text,
  run_id text,
  metadata json NOT NULL, -- json, not jsonb: kept as written
  exact bytea, -- metadata that JSON can't carry, as the serde packs it
  strand bigint NOT NULL, -- where the frame stands in wyrd_splices
  seq integer NOT NULL,
  length integer NOT NULL,
  chain bigint NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY (thread, ns, id)
);
CREATE INDEX wyrd_checkpoints_run ON wyrd_checkpoints (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE wyrd_splices (
  thread bigint NOT NULL,
  strand bigint NOT NULL,
  seq integer NOT NULL, -- the version that this row belongs to
  part integer NOT NULL, -- nth splice of that version
  keep integer NOT NULL,
  cut integer NOT NULL,
  count integer NOT NULL,
  data bytea NOT NULL,
  sum bigint NOT NULL,
  chain bigint NOT NULL,
  PRIMARY KEY (thread, strand, seq, part)
);
-- Blocks come compressed where that pays.
ALTER TABLE wyrd_splices ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE wyrd_writes (
  thread bigint NOT NULL,
  ns text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL,
  idx integer NOT NULL,
  channel text NOT NULL,
  path text COLLATE "C" NOT NULL,
  shape text NOT NULL,
  data bytea NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY (thread, ns, checkpoint, task, idx)
);
ALTER TABLE wyrd_writes ALTER COLUMN data SET STORAGE EXTERNAL;
