-- JSON is kept as text: what gaffer writes is JSON, and the server need not read
-- all of it again to find that out.
DROP VIEW runs, tasks, attempts, events;
DROP FUNCTION readable(JSON);

ALTER TABLE run ALTER data TYPE TEXT;
ALTER TABLE plan ALTER plan TYPE TEXT;
ALTER TABLE task ALTER data TYPE TEXT, ALTER spec TYPE TEXT;
ALTER TABLE attempt ALTER data TYPE TEXT;
ALTER TABLE worker ALTER data TYPE TEXT;
ALTER TABLE question ALTER data TYPE TEXT;
ALTER TABLE lane ALTER data TYPE TEXT;
ALTER TABLE promise ALTER data TYPE TEXT;
ALTER TABLE cursor ALTER data TYPE TEXT;
ALTER TABLE event ALTER data TYPE TEXT, ALTER row TYPE TEXT, ALTER tried TYPE TEXT;

-- A text in JSON may have a zero byte, and a text in PostgreSQL may not.
CREATE FUNCTION readable(data TEXT) RETURNS JSON IMMUTABLE LANGUAGE SQL
	AS $$ SELECT replace(data, '\u0000', '\ufffd')::json $$;

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
