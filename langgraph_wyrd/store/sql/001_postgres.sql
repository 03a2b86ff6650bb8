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
  writer bigint NOT NULL DEFAULT 0, -- the saver whose put was the last: it knows what tasks wrote
  status text, -- of the head: idle, interrupted, error, due, done
  reason text,
  due json, -- the nodes that are about to run
  title text, -- the first request, shortened
  user_id text,
  open_loops integer NOT NULL DEFAULT 0,
  open_todos integer NOT NULL DEFAULT 0,
  deleted_at timestamptz
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX wyrd_threads_key ON wyrd_threads (key) WHERE deleted_at IS NULL;
CREATE INDEX wyrd_threads_user ON wyrd_threads (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX wyrd_threads_deleted ON wyrd_threads (key) WHERE deleted_at IS NOT NULL;

-- The second witness of which number a thread has: it is found where its row agrees.
CREATE TABLE wyrd_names (
  key bytea NOT NULL, -- sha256 of thread_id
  thread bigint NOT NULL,
  thread_id text NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY (key, thread)
);

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
  due json, -- derived: the nodes that this checkpoint is about to run
  root text COLLATE "C", -- a subgraph's: the root checkpoint that its run belongs to
  PRIMARY KEY (thread, ns, id)
);
CREATE INDEX wyrd_checkpoints_root ON wyrd_checkpoints (thread, root) WHERE root IS NOT NULL;
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

-- The ledger: what each checkpoint, and each task's writes, changed in the pillars. Append-only.
-- Everything below this table is its projection, as of the head of each thread.
CREATE TABLE wyrd_events (
  thread bigint NOT NULL,
  ns text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL, -- empty: of the checkpoint itself
  n integer NOT NULL,
  pillar text NOT NULL, -- todo, context, loop, intention, thread
  op text NOT NULL, -- open, change, close, drop, base, failed, fork
  item text NOT NULL,
  body text NOT NULL, -- JSON, sealed where values are encrypted
  source text NOT NULL, -- JSON
  sum bigint NOT NULL,
  PRIMARY KEY (thread, ns, checkpoint, task, n)
);

CREATE TABLE wyrd_todos (
  thread bigint NOT NULL,
  thread_id text NOT NULL,
  id text COLLATE "C" NOT NULL,
  place integer NOT NULL, -- its place in the list
  listed boolean NOT NULL, -- false: it left the list, finished or given up
  content text NOT NULL,
  status text NOT NULL, -- pending, in_progress, completed, cancelled
  priority text NOT NULL, -- low, medium, high, critical, or what the tracker says
  tracker text NOT NULL, -- the list that it stands in
  ref text, -- its id in that list
  opened_at timestamptz,
  changed_at timestamptz,
  closed_at timestamptz,
  checkpoint text COLLATE "C" NOT NULL, -- where it was opened
  ns text COLLATE "C" NOT NULL,
  node text,
  channel text,
  message_id text,
  task_id text,
  tool_call_id text,
  rule text, -- which extractor's
  author text, -- who declared it
  confidence text NOT NULL, -- declared, structural, model, heuristic
  changed_in text COLLATE "C", -- the checkpoint that changed it last
  extra json,
  PRIMARY KEY (thread, id)
);
CREATE INDEX wyrd_todos_open ON wyrd_todos (checkpoint, thread, id)
WHERE status NOT IN ('completed', 'cancelled');
CREATE INDEX wyrd_todos_over ON wyrd_todos (checkpoint, thread, id)
WHERE status IN ('completed', 'cancelled');

CREATE TABLE wyrd_context (
  thread bigint NOT NULL,
  thread_id text NOT NULL,
  id text COLLATE "C" NOT NULL,
  key text NOT NULL,
  value json, -- JSON
  metadata json,
  opened_at timestamptz,
  changed_at timestamptz,
  checkpoint text COLLATE "C" NOT NULL, -- where it was opened
  ns text COLLATE "C" NOT NULL,
  node text,
  channel text,
  message_id text,
  task_id text,
  tool_call_id text,
  rule text, -- which extractor's
  author text, -- who declared it
  confidence text NOT NULL, -- declared, structural, model, heuristic
  changed_in text COLLATE "C", -- the checkpoint that changed it last
  extra json,
  PRIMARY KEY (thread, id)
);

CREATE TABLE wyrd_open_loops (
  thread bigint NOT NULL,
  thread_id text NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL, -- interrupt, error, tool_call, question, request, …
  description text NOT NULL,
  context json,
  ref text, -- a tool call's id, an interrupt's, a message's
  opened_at timestamptz,
  changed_at timestamptz,
  closed_at timestamptz, -- null: still open
  closed_in text COLLATE "C", -- the checkpoint that closed it
  outcome text, -- how
  checkpoint text COLLATE "C" NOT NULL, -- where it was opened
  ns text COLLATE "C" NOT NULL,
  node text,
  channel text,
  message_id text,
  task_id text,
  tool_call_id text,
  rule text, -- which extractor's
  author text, -- who declared it
  confidence text NOT NULL, -- declared, structural, model, heuristic
  changed_in text COLLATE "C", -- the checkpoint that changed it last
  extra json,
  PRIMARY KEY (thread, id)
);
CREATE INDEX wyrd_open_loops_open ON wyrd_open_loops (checkpoint, thread, id)
WHERE closed_at IS NULL AND closed_in IS NULL;
CREATE INDEX wyrd_open_loops_over ON wyrd_open_loops (checkpoint, thread, id)
WHERE closed_at IS NOT NULL OR closed_in IS NOT NULL;
CREATE INDEX wyrd_open_loops_kind ON wyrd_open_loops (kind, checkpoint, thread, id)
WHERE closed_at IS NULL AND closed_in IS NULL;

CREATE TABLE wyrd_intentions (
  thread bigint NOT NULL,
  thread_id text NOT NULL,
  id text COLLATE "C" NOT NULL,
  text text NOT NULL,
  aim text NOT NULL, -- explicit, request, task
  opened_at timestamptz,
  closed_at timestamptz, -- null: what it is after now
  closed_in text COLLATE "C",
  outcome text,
  checkpoint text COLLATE "C" NOT NULL, -- where it was opened
  ns text COLLATE "C" NOT NULL,
  node text,
  channel text,
  message_id text,
  task_id text,
  tool_call_id text,
  rule text, -- which extractor's
  author text, -- who declared it
  confidence text NOT NULL, -- declared, structural, model, heuristic
  changed_in text COLLATE "C", -- the checkpoint that changed it last
  extra json,
  PRIMARY KEY (thread, id)
);
CREATE INDEX wyrd_intentions_open ON wyrd_intentions (checkpoint, thread, id)
WHERE closed_at IS NULL AND closed_in IS NULL;
CREATE INDEX wyrd_intentions_over ON wyrd_intentions (checkpoint, thread, id)
WHERE closed_at IS NOT NULL OR closed_in IS NOT NULL;

CREATE TABLE wyrd_labels (
  thread bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL, -- one of the root
  created_at timestamptz NOT NULL,
  automatic boolean NOT NULL, -- true: set on a boundary, by nobody
  keys json NOT NULL, -- what was promoted
  missing json NOT NULL, -- what was asked for, and not there
  context json NOT NULL, -- the promoted items
  sum bigint NOT NULL,
  PRIMARY KEY (thread, name, checkpoint)
);
-- With single_writer=True: who runs a thread now. A row lasts as long as a run, or its process.
CREATE TABLE wyrd_leases (
  key bytea PRIMARY KEY, -- sha256 of thread_id
  thread_id text NOT NULL,
  owner text NOT NULL, -- one run of one process
  host text NOT NULL,
  place text NOT NULL, -- where the pid means something
  pid bigint NOT NULL,
  born text NOT NULL, -- when the process started, so that a later one of its pid is known
  since double precision NOT NULL, -- seconds of the database's clock, as is the next
  seen double precision NOT NULL, -- the last sign of life
  wanted integer NOT NULL -- 1: somebody was refused since
) WITH (fillfactor = 70);
-- What was damaged and met by a load, once each, and what was done about it.
CREATE TABLE wyrd_heals (
  thread bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL, -- where it was met first
  channel text NOT NULL,
  kind text NOT NULL, -- exact, placeholder, left_out, ancestor, empty
  what text NOT NULL, -- sealed where values are encrypted
  healed_at timestamptz NOT NULL,
  acknowledged_at timestamptz,
  sum bigint NOT NULL,
  PRIMARY KEY (thread, id)
);

-- Damaged rows that a repair took out of their table: nothing is thrown away.
CREATE TABLE wyrd_quarantine (
  thread bigint NOT NULL,
  origin text COLLATE "C" NOT NULL, -- the table that it stood in
  place text COLLATE "C" NOT NULL, -- its key there
  data text NOT NULL, -- JSON: its columns as they were; bytes as base64
  moved_at timestamptz NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY (thread, origin, place)
);

-- The keys that the store was ever sealed with, if `keys=` was given. Not the keys: their ids.
CREATE TABLE wyrd_keys (
  id text PRIMARY KEY,
  proof text NOT NULL, -- something sealed with it: another key of that id does not open it
  since timestamptz NOT NULL
);

-- Values that belong to a user: of channels that `Channels(user=…)` names, as splices like those of
-- wyrd_splices; and what `saver.user` keeps, of thread 0. Erased, a channel's rows stay, empty.
CREATE TABLE wyrd_user_data (
  thread bigint NOT NULL,
  strand bigint NOT NULL, -- below zero
  seq integer NOT NULL,
  part integer NOT NULL,
  keep integer NOT NULL,
  cut integer NOT NULL,
  count integer NOT NULL,
  data bytea NOT NULL, -- behind a salt
  sum bigint NOT NULL,
  chain bigint NOT NULL,
  user_id text COLLATE "C", -- null: erased
  name text COLLATE "C" NOT NULL, -- the channel, or the key
  PRIMARY KEY (thread, strand, seq, part)
);
CREATE INDEX wyrd_user_data_user ON wyrd_user_data (user_id, thread) WHERE user_id IS NOT NULL;
ALTER TABLE wyrd_user_data ALTER COLUMN data SET STORAGE EXTERNAL;
