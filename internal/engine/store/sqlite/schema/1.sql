-- Each table holds its rows as JSON in data. The other columns repeat what
-- queries need. Times are in nanoseconds since 1970. Ask the views runs, tasks
-- and attempts rather than the tables.

CREATE TABLE run (
	id      TEXT PRIMARY KEY,
	status  TEXT NOT NULL,
	created INTEGER NOT NULL,
	data    TEXT NOT NULL
);
CREATE INDEX run_created ON run (created, id);
CREATE INDEX run_running ON run (created, id) WHERE status = 'running';

-- A plan is big and never changes, and its run is written often.
CREATE TABLE plan (
	run  TEXT PRIMARY KEY,
	plan TEXT NOT NULL
);

CREATE TABLE task (
	run        TEXT NOT NULL,
	task       TEXT NOT NULL,
	seq        INTEGER NOT NULL,
	status     TEXT NOT NULL,
	ready      INTEGER NOT NULL, -- may be claimed
	idle       INTEGER NOT NULL, -- only time, wave or lane keep it from being ready
	wave       INTEGER NOT NULL,
	not_before INTEGER,
	priority   INTEGER NOT NULL,
	labels     TEXT NOT NULL,
	lane       TEXT NOT NULL,
	data       TEXT NOT NULL,
	spec       TEXT
);
CREATE UNIQUE INDEX task_key ON task (run, task);
CREATE INDEX task_ready ON task (labels, lane, priority DESC, seq) WHERE ready = 1;
CREATE INDEX task_idle ON task (run, wave, lane, priority DESC, seq) WHERE idle = 1;
CREATE INDEX task_delayed ON task (not_before, seq) WHERE idle = 1 AND not_before IS NOT NULL;

CREATE TABLE need (
	run  TEXT NOT NULL,
	need TEXT NOT NULL,
	task TEXT NOT NULL, -- the one that needs it
	PRIMARY KEY (run, need, task)
) WITHOUT ROWID;

CREATE TABLE attempt (
	id      TEXT PRIMARY KEY,
	run     TEXT NOT NULL,
	task    TEXT NOT NULL,
	status  TEXT NOT NULL,
	started INTEGER NOT NULL,
	due     INTEGER NOT NULL, -- lease or deadline, whichever is earlier
	data    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX attempt_task ON attempt (run, task);
CREATE INDEX attempt_due ON attempt (due, id) WHERE status = 'running';

CREATE TABLE worker (
	id   TEXT PRIMARY KEY,
	data TEXT NOT NULL
);

CREATE TABLE question (
	id      TEXT PRIMARY KEY,
	attempt TEXT NOT NULL,
	closed  INTEGER NOT NULL,
	asked   INTEGER NOT NULL,
	expires INTEGER,
	data    TEXT NOT NULL
);
CREATE INDEX question_asked ON question (asked, id);
CREATE INDEX question_open ON question (asked, id) WHERE closed = 0;
CREATE INDEX question_expires ON question (expires, id) WHERE closed = 0 AND expires IS NOT NULL;

CREATE TABLE lane (
	name TEXT PRIMARY KEY,
	data TEXT NOT NULL
);

CREATE TABLE promise (
	key  TEXT PRIMARY KEY,
	made INTEGER NOT NULL,
	data TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE cursor (
	name TEXT PRIMARY KEY,
	seq  INTEGER NOT NULL,
	data TEXT NOT NULL
);

CREATE TABLE event (
	seq  INTEGER PRIMARY KEY,
	at   INTEGER NOT NULL,
	kind TEXT NOT NULL,
	run  TEXT NOT NULL,
	task TEXT NOT NULL,
	data TEXT NOT NULL,
	row   TEXT, -- what the changed row was afterwards
	tried TEXT  -- and the attempt that began or ended with it
);

CREATE VIEW runs AS SELECT
	id, data ->> 'name' AS name, status,
	data ->> 'open' AS open, data ->> 'active' AS active, data ->> 'failed' AS failed,
	coalesce(data ->> '$.spent.micro_usd', 0) / 1e6 AS usd,
	data ->> 'created' AS created, data ->> 'ended' AS ended
FROM run;

CREATE VIEW tasks AS SELECT
	run, task, data ->> 'name' AS name, status, wave, priority, labels, lane,
	data ->> 'tries' AS tries, data ->> 'retries' AS retries, data ->> 'outcome' AS outcome,
	data ->> 'not_before' AS not_before, data ->> 'attempt' AS attempt
FROM task;

CREATE VIEW attempts AS SELECT
	id, run, task, data ->> 'number' AS number, data ->> 'worker' AS worker, status,
	data ->> 'class' AS class, data ->> 'summary' AS summary,
	coalesce(data ->> '$.spent.micro_usd', 0) / 1e6 AS usd,
	data ->> 'started' AS started, data ->> 'ended' AS ended
FROM attempt;

CREATE VIEW events AS SELECT
	seq, data ->> 'at' AS at, kind, run, task, data ->> 'attempt' AS attempt,
	data ->> 'from' AS "from", data ->> 'to' AS "to", data ->> 'who' AS who, data ->> 'why' AS why
FROM event;
