-- What an event is about is in its data, and nobody looks for it: events are read
-- in the order of their numbers.
DROP VIEW events;
ALTER TABLE event DROP at, DROP kind, DROP run, DROP task;
CREATE VIEW events AS SELECT
	seq, (j ->> 'at')::timestamptz AS at, j ->> 'kind' AS kind, coalesce(j ->> 'run', '') AS run,
	coalesce(j ->> 'task', '') AS task, j ->> 'attempt' AS attempt,
	j ->> 'from' AS "from", j ->> 'to' AS "to", j ->> 'who' AS who, j ->> 'why' AS why
FROM event, LATERAL readable(data) j;

-- A task is written when it is claimed and when it ends. With room for that where
-- it is, the end needs no new entry in an index.
ALTER TABLE task SET (fillfactor = 50);
