-- Each table holds its rows as JSON in data. The other columns repeat what
-- queries need. Times are in nanoseconds since 1970. Ask the views runs, tasks,
-- attempts and events rather than the tables.

-- The number of the last event. Whoever writes holds this row from the
-- beginning of the transaction, so that there is one writer at a time and the
-- events are numbered without a gap in the order of their commits.
-- writes counts the transactions, so that a process can tell whether others have
-- written since it last did.
CREATE TABLE last_event (seq BIGINT NOT NULL, writes BIGINT NOT NULL) WITH (fillfactor = 10);
INSERT INTO last_event VALUES (0, 0);

CREATE TABLE run (
	id      TEXT COLLATE "C" PRIMARY KEY,
	status  TEXT NOT NULL,
	created BIGINT NOT NULL,
	data    JSON NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX run_created ON run (created, id);
CREATE INDEX run_running ON run (created, id) WHERE status = 'running';

-- A plan is big and never changes, and its run is written often.
CREATE TABLE plan (
	run  TEXT COLLATE "C" PRIMARY KEY,
	plan JSON NOT NULL
);

CREATE TABLE task (
	run        TEXT COLLATE "C" NOT NULL,
	task       TEXT COLLATE "C" NOT NULL,
	seq        BIGINT NOT NULL,
	status     TEXT NOT NULL,
	ready      BOOLEAN NOT NULL, -- may be claimed
	idle       BOOLEAN NOT NULL, -- only time, wave or lane keep it from being ready
	wave       BIGINT NOT NULL,
	not_before BIGINT,
	priority   BIGINT NOT NULL,
	labels     TEXT COLLATE "C" NOT NULL,
	lane       TEXT COLLATE "C" NOT NULL,
	data       JSON NOT NULL,
	spec       JSON,
	PRIMARY KEY (run, task)
) WITH (fillfactor = 80);
CREATE INDEX task_ready ON task (labels, lane, priority DESC, seq) WHERE ready;
CREATE INDEX task_idle ON task (run, wave, lane, priority DESC, seq) WHERE idle;
CREATE INDEX task_delayed ON task (not_before, seq) WHERE idle AND not_before IS NOT NULL;

CREATE TABLE need (
	run  TEXT COLLATE "C" NOT NULL,
	need TEXT COLLATE "C" NOT NULL,
	task TEXT COLLATE "C" NOT NULL, -- the one that needs it
	PRIMARY KEY (run, need, task)
);

CREATE TABLE attempt (
	id      TEXT COLLATE "C" PRIMARY KEY,
	run     TEXT COLLATE "C" NOT NULL,
	task    TEXT COLLATE "C" NOT NULL,
	status  TEXT NOT NULL,
	started BIGINT NOT NULL,
	due     BIGINT NOT NULL, -- lease or deadline, whichever is earlier
	data    JSON NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX attempt_task ON attempt (run, task);
CREATE INDEX attempt_due ON attempt (due, id) WHERE status = 'running';

CREATE TABLE worker (
	id   TEXT COLLATE "C" PRIMARY KEY,
	data JSON NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE question (
	id      TEXT COLLATE "C" PRIMARY KEY,
	attempt TEXT COLLATE "C" NOT NULL,
	closed  BOOLEAN NOT NULL,
	asked   BIGINT NOT NULL,
	expires BIGINT,
	data    JSON NOT NULL
);
CREATE INDEX question_asked ON question (asked, id);
CREATE INDEX question_open ON question (asked, id) WHERE NOT closed;
CREATE INDEX question_expires ON question (expires, id) WHERE NOT closed AND expires IS NOT NULL;

CREATE TABLE lane (
	name TEXT COLLATE "C" PRIMARY KEY,
	data JSON NOT NULL
);

CREATE TABLE promise (
	key  TEXT COLLATE "C" PRIMARY KEY,
	made BIGINT NOT NULL,
	data JSON NOT NULL
);

CREATE TABLE cursor (
	name TEXT COLLATE "C" PRIMARY KEY,
	seq  BIGINT NOT NULL,
	data JSON NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE event (
	seq  BIGINT PRIMARY KEY,
	at   BIGINT NOT NULL,
	kind TEXT NOT NULL,
	run  TEXT COLLATE "C" NOT NULL,
	task TEXT COLLATE "C" NOT NULL,
	data JSON NOT NULL,
	row   JSON, -- what the changed row was afterwards
	tried JSON  -- and the attempt that began or ended with it
);

-- A text in JSON may have a zero byte, and a text in PostgreSQL may not.
CREATE FUNCTION readable(data JSON) RETURNS JSON IMMUTABLE LANGUAGE SQL
	AS $$ SELECT replace(data::text, '\u0000', '\ufffd')::json $$;

CREATE VIEW runs AS SELECT
	id, j ->> 'name' AS name, status,
	(j ->> 'open')::bigint AS open, (j ->> 'active')::bigint AS active, (j ->> 'failed')::bigint AS failed,
	coalesce((j #>> '{spent,micro_usd}')::bigint, 0) / 1e6 AS usd,
	(j ->> 'created')::timestamptz AS created, (j ->> 'ended')::timestamptz AS ended
FROM run, LATERAL readable(data) j;

CREATE VIEW tasks AS SELECT
	run, task, j ->> 'name' AS name, status, wave, priority, labels, lane,
	(j ->> 'tries')::bigint AS tries, (j ->> 'retries')::bigint AS retries, j ->> 'outcome' AS outcome,
	(j ->> 'not_before')::timestamptz AS not_before, j ->> 'attempt' AS attempt
FROM task, LATERAL readable(data) j;

CREATE VIEW attempts AS SELECT
	id, run, task, (j ->> 'number')::bigint AS number, j ->> 'worker' AS worker, status,
	j ->> 'class' AS class, j ->> 'summary' AS summary,
	coalesce((j #>> '{spent,micro_usd}')::bigint, 0) / 1e6 AS usd,
	(j ->> 'started')::timestamptz AS started, (j ->> 'ended')::timestamptz AS ended
FROM attempt, LATERAL readable(data) j;

CREATE VIEW events AS SELECT
	seq, (j ->> 'at')::timestamptz AS at, kind, run, task, j ->> 'attempt' AS attempt,
	j ->> 'from' AS "from", j ->> 'to' AS "to", j ->> 'who' AS who, j ->> 'why' AS why
FROM event, LATERAL readable(data) j;
