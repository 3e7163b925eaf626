package postgres

// statement is a writing statement. It is prepared on each connection.
type statement struct{ name, query string }

// statements returns all statements.
func statements() []statement {
	return append([]statement{
		moveHead, changeRuns, putRuns, putPlans, moveTasks, putTasks, putNeeds, changeAttempts, putAttempts, putQuestions,
		putWorkers, putLanes, putPromises, putCursors, putItems, dropItems, addEvents, notify, commit,
	}, takers()...)
}

var (
	// moveHead takes the advisory lock and updates the row of last_event. It divides by
	// zero if another session has written in the meantime, because this session is then
	// stale.
	moveHead = statement{"head", `UPDATE last_event SET seq = $1, writes = $2::bigint / (writes = $3)::int
		FROM (SELECT pg_advisory_xact_lock($4::int, $5::int)) AS turn`}

	// changeRuns updates runs that are known to exist.
	changeRuns = statement{"change_runs", `UPDATE run SET status = r.status, created = r.created, data = r.data
		FROM ` + runArrays + ` WHERE run.id = r.id`}
	putRuns = statement{"runs", `INSERT INTO run (id, status, created, data) SELECT id, status, created, data FROM ` + runArrays + `
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, created = excluded.created, data = excluded.data`}
	putPlans = statement{"plans", `INSERT INTO plan (run, plan) SELECT run, plan FROM unnest($1::text[], $2::text[]) AS p (run, plan)
		ON CONFLICT DO NOTHING`}

	// moveTasks updates tasks that are known to exist and keep their position in the
	// queue.
	moveTasks = statement{"move_tasks", `UPDATE task SET status = t.status, ready = t.ready, idle = t.idle, not_before = t.not_before,
		data = t.data FROM unnest(` + taskArrays + `) AS t (` + taskColumns + `) WHERE task.run = t.run AND task.task = t.task`}
	putTasks = statement{"tasks", `INSERT INTO task (` + taskColumns + `, seq, wave, priority, labels, lane, spec)
		SELECT ` + taskColumns + `, seq, wave, priority, labels, lane, spec
		FROM unnest(` + taskArrays + `, $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[])
			AS t (` + taskColumns + `, seq, wave, priority, labels, lane, spec)
		ON CONFLICT (run, task) DO UPDATE SET seq = excluded.seq, status = excluded.status, ready = excluded.ready,
		idle = excluded.idle, wave = excluded.wave, not_before = excluded.not_before, priority = excluded.priority,
		labels = excluded.labels, lane = excluded.lane, data = excluded.data, spec = excluded.spec`}
	putNeeds = statement{"needs", `INSERT INTO need (run, need, task) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
		ON CONFLICT DO NOTHING`}

	// changeAttempts updates attempts that are known to exist.
	changeAttempts = statement{"change_attempts", `UPDATE attempt SET status = a.status, due = a.due, data = a.data
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS a (id, status, due, data) WHERE attempt.id = a.id`}
	putAttempts = statement{"attempts", `INSERT INTO attempt (id, status, due, data, run, task, started)
		SELECT id, status, due, data, run, task, started
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[])
			AS a (id, status, due, data, run, task, started)
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

	putItems = statement{"items", `INSERT INTO item (kind, id, parent, seq, data) SELECT kind, id, parent, seq, data
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) AS i (kind, id, parent, seq, data)
		ON CONFLICT (kind, id) DO UPDATE SET parent = excluded.parent, seq = excluded.seq, data = excluded.data`}
	dropItems = statement{"drop_items", `DELETE FROM item USING unnest($1::text[], $2::text[]) AS i (kind, id)
		WHERE item.kind = i.kind AND item.id = i.id`}

	addEvents = statement{"events", `INSERT INTO event (seq, data, row, tried) SELECT seq, data, row, tried
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS e (seq, data, row, tried)`}

	notify = statement{"notify", `SELECT pg_notify($1::text, $2::text)`}
	commit = statement{"commit", `COMMIT`}
)

const (
	runArrays   = `unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS r (id, status, created, data)`
	taskColumns = `run, task, status, ready, idle, not_before, data`
	taskArrays  = `$1::text[], $2::text[], $3::text[], $4::boolean[], $5::boolean[], $6::bigint[], $7::text[]`
)
