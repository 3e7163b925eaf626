package postgres

// statement is one that writes, and is prepared on each connection.
type statement struct{ name, query string }

// statements lists all.
func statements() []statement {
	return []statement{
		moveHead, putRuns, putPlans, changeTasks, putTasks, putNeeds, putAttempts, putQuestions, putWorkers, putLanes,
		putPromises, putCursors, addEvents, notify, commit,
	}
}

var (
	// moveHead takes the turn and the row that all sessions wait for. If another
	// session was there meanwhile, it divides by zero: this one was made on what is
	// not so any more.
	moveHead = statement{"head", `UPDATE last_event SET seq = $1, writes = $2::bigint / (writes = $3)::int
		FROM (SELECT pg_advisory_xact_lock($4::int, $5::int)) AS turn`}

	putRuns = statement{"runs", `INSERT INTO run (id, status, created, data)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, created = excluded.created, data = excluded.data`}
	putPlans = statement{"plans", `INSERT INTO plan (run, plan) SELECT run, plan FROM unnest($1::text[], $2::text[]) AS p (run, plan)
		ON CONFLICT DO NOTHING`}

	// changeTasks changes tasks that are known to be there, and leaves the spec,
	// which hardly ever changes.
	changeTasks = statement{"change_tasks", `UPDATE task SET seq = t.seq, status = t.status, ready = t.ready, idle = t.idle, wave = t.wave,
		not_before = t.not_before, priority = t.priority, labels = t.labels, lane = t.lane, data = t.data
		FROM ` + taskArrays + `) AS t (` + taskColumns + `) WHERE task.run = t.run AND task.task = t.task`}
	putTasks = statement{"tasks", `INSERT INTO task (` + taskColumns + `, spec)
		SELECT run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, data, spec
		FROM ` + taskArrays + `, $13::text[]) AS t (` + taskColumns + `, spec)
		ON CONFLICT (run, task) DO UPDATE SET seq = excluded.seq, status = excluded.status, ready = excluded.ready,
		idle = excluded.idle, wave = excluded.wave, not_before = excluded.not_before, priority = excluded.priority,
		labels = excluded.labels, lane = excluded.lane, data = excluded.data, spec = excluded.spec`}
	putNeeds = statement{"needs", `INSERT INTO need (run, need, task) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
		ON CONFLICT DO NOTHING`}

	putAttempts = statement{"attempts", `INSERT INTO attempt (id, run, task, status, started, due, data)
		SELECT id, run, task, status, started, due, data
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
			AS a (id, run, task, status, started, due, data)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, started = excluded.started, due = excluded.due, data = excluded.data`}
	putQuestions = statement{"questions", `INSERT INTO question (id, attempt, closed, asked, expires, data)
		SELECT id, attempt, closed, asked, expires, data
		FROM unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::bigint[], $6::text[])
			AS q (id, attempt, closed, asked, expires, data)
		ON CONFLICT (id) DO UPDATE SET closed = excluded.closed, asked = excluded.asked, expires = excluded.expires, data = excluded.data`}
	putWorkers = statement{"workers", `INSERT INTO worker (id, data) SELECT id, data FROM unnest($1::text[], $2::text[]) AS w (id, data)
		ON CONFLICT (id) DO UPDATE SET data = excluded.data`}
	putLanes = statement{"lanes", `INSERT INTO lane (name, data) SELECT name, data FROM unnest($1::text[], $2::text[]) AS l (name, data)
		ON CONFLICT (name) DO UPDATE SET data = excluded.data`}
	putPromises = statement{"promises", `INSERT INTO promise (key, made, data)
		SELECT key, made, data FROM unnest($1::text[], $2::bigint[], $3::text[]) AS p (key, made, data)
		ON CONFLICT (key) DO UPDATE SET made = excluded.made, data = excluded.data`}
	putCursors = statement{"cursors", `INSERT INTO cursor (name, seq, data)
		SELECT name, seq, data FROM unnest($1::text[], $2::bigint[], $3::text[]) AS c (name, seq, data)
		ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, data = excluded.data`}

	addEvents = statement{"events", `INSERT INTO event (seq, at, kind, run, task, data, row, tried)
		SELECT seq, at, kind, run, task, data, row, tried
		FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
			AS e (seq, at, kind, run, task, data, row, tried)`}

	notify = statement{"notify", `SELECT pg_notify($1::text, $2::text)`}
	commit = statement{"commit", `COMMIT`}
)

const (
	taskColumns = `run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, data`
	taskArrays  = `unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[],
		$8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[]`
)
