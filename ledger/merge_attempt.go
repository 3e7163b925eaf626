package ledger

import (
	"cmp"
	"slices"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Attempt is one attempt of a task. It combines the run record and the result record of the
// attempt. Either record may be missing, and either may have missing or invalid fields.
type Attempt struct {
	Bead            string   `json:"bead"`
	Attempt         int      `json:"attempt"`
	Agent           string   `json:"agent"`
	Model           string   `json:"model"`
	Template        string   `json:"template"`
	TaskType        string   `json:"task_type"`
	Repo            string   `json:"repo"`
	Status          Status   `json:"status"`
	StartedAt       string   `json:"started_at"`
	FinishedAt      string   `json:"finished_at,omitempty"`
	DurationSeconds *float64 `json:"duration_seconds"`
	ExitCode        *int64   `json:"exit_code"`
	Reason          string   `json:"reason,omitempty"`
	WillRetry       bool     `json:"will_retry,omitempty"`
	PromptHash      string   `json:"prompt_hash,omitempty"`
	CostUSD         *float64 `json:"cost_usd,omitempty"` // in US dollars; nil if unknown
	HasRun          bool     `json:"has_run"`
	HasResult       bool     `json:"has_result"`

	// The fields below are copied from the run record; null if it lacks them.
	SchemaVersion jsontree.Value `json:"schema_version"`
	Prompt        jsontree.Value `json:"prompt"`
	PromptFull    jsontree.Value `json:"prompt_full"`
	MaxRetries    jsontree.Value `json:"max_retries"`
	SessionName   jsontree.Value `json:"session_name"`
	ResultFile    jsontree.Value `json:"result_file"`
	OutputSummary jsontree.Value `json:"output_summary"`
	FailureReason jsontree.Value `json:"failure_reason"`
	TemplateName  jsontree.Value `json:"template_name"`
	Verification  jsontree.Value `json:"verification"`

	// The fields below are copied from the result record; null if it lacks them.
	ResultStatus     jsontree.Value `json:"result_status"`
	ResultFinishedAt jsontree.Value `json:"result_finished_at"`
	ResultReason     jsontree.Value `json:"result_reason"`

	started, finished time.Time // zero if the time is missing or invalid
	failure           string    // the field failure_reason of the run record
}

// begin returns when the attempt started or, if that is unknown, when it ended.
func (a Attempt) begin() time.Time {
	if a.started.IsZero() {
		return a.finished
	}
	return a.started
}

// moment returns when the attempt ended or, if that is unknown, when it started.
func (a Attempt) moment() time.Time {
	if a.finished.IsZero() {
		return a.started
	}
	return a.finished
}

func (a Attempt) hasFailed() bool { return a.Status == Failed || a.Status == TimedOut }

// isTimed reports whether the attempt has ended and has a duration.
func (a Attempt) isTimed() bool { return a.DurationSeconds != nil && a.Status != Running }

// isStuck reports whether the attempt has the status "running" although it has ended or was
// probably abandoned. The validation of records reports this problem under the name stuckRunning.
func (a Attempt) isStuck(now time.Time) bool {
	if a.Status != Running {
		return false
	}
	return a.HasResult || a.FinishedAt != "" || !a.started.IsZero() && now.Sub(a.started) > RunLimit
}

// leftOut is a file that a report does not count, with the reason. But if reason is noStart, it is
// an attempt that the report does not count, and path holds the id of its task.
type leftOut struct{ reason, path string }

// merged holds the attempts of one task, each combined from its run record and its result record.
// The field left lists the files of the task that a report does not count.
type merged struct {
	attempts []Attempt
	left     []leftOut
}

// mergeTask reads the files of one task, and combines the records of each attempt.
func mergeTask(h host.Host, t task) merged {
	var m merged
	// Read the files from last to first. So result records come before run records. If two files
	// have records of the same kind for the same attempt, the last file in t counts.
	for i := len(t) - 1; i >= 0; i-- {
		r := read(h, t[i])
		if r.name == "" && r.value.Kind() != jsontree.Object {
			r.name = notObject
		}
		if r.name != "" {
			m.left = append(m.left, leftOut{r.name, r.path()})
			continue
		}
		rec := fields{kind: r.kind}
		rec.collect(r.value)
		taken := m.attempt(r.bead, attemptNumber(rec, r.fileName)).addRecord(rec)
		if !taken && r.bead != nameOf(r.file.file).bead {
			m.left = append(m.left, leftOut{sameAttempt, r.path()})
		}
	}
	slices.SortFunc(m.attempts, func(a, b Attempt) int { return a.Attempt - b.Attempt })
	for i := range m.attempts {
		m.attempts[i].derive()
	}
	return m
}

// attempt returns the attempt with the number n. If m has no such attempt, it adds an empty one for
// the task with the id bead. The pointer is valid only until the next attempt is added to m.
func (m *merged) attempt(bead string, n int) *Attempt {
	for i := range m.attempts {
		if m.attempts[i].Attempt == n {
			return &m.attempts[i]
		}
	}
	m.attempts = append(m.attempts, Attempt{Bead: bead, Attempt: n})
	return &m.attempts[len(m.attempts)-1]
}

// attemptNumber returns the attempt number in a record. If the record has no valid number, it
// returns the number in the file name. If the file name has no number either, it returns 1.
func attemptNumber(rec fields, name fileName) int {
	if n, ok := intOf(rec.get("attempt")); ok && n > 0 && n < 1<<31 {
		return int(n)
	}
	return max(name.attempt, 1)
}

// addRecord adds the fields of one record to the attempt. If the attempt already has a record of
// that kind, addRecord changes nothing and returns false. It usually keeps fields that are already
// set. So the caller must add the result record before the run record, to give its values priority.
func (a *Attempt) addRecord(rec fields) bool {
	switch {
	case rec.kind == ResultKind && !a.HasResult:
		a.HasResult = true
		a.WillRetry, _ = rec.get("will_retry").Bool()
		a.ResultStatus, a.ResultFinishedAt, a.ResultReason = rec.get("status"), rec.get("finished_at"), rec.get("reason")
	case rec.kind == RunKind && !a.HasRun:
		a.HasRun = true
		a.addRun(rec)
	default:
		return false
	}
	setIfEmpty(&a.Agent, rec.text("agent"))
	setIfEmpty(&a.FinishedAt, rec.text("finished_at"))
	setIfEmpty(&a.StartedAt, rec.text("started_at"))
	setIfEmpty(&a.Reason, rec.text("reason"))
	if a.Status == "" || a.Status == Running {
		a.Status = Status(rec.text("status"))
	}
	if n, ok := intOf(rec.get("exit_code")); ok && a.ExitCode == nil {
		a.ExitCode = &n
	}
	if n, ok := rec.get("duration_seconds").Float(); ok && n >= 0 && n < mostSeconds && a.DurationSeconds == nil {
		a.DurationSeconds = &n
	}
	return true
}

// addRun sets the fields whose values come only from the run record. It also sets the start time,
// which the result record may have set before.
func (a *Attempt) addRun(run fields) {
	a.Model, a.Repo, a.Template = run.text("model"), run.text("repo"), run.text("template_name")
	a.PromptHash, a.TaskType = run.text("prompt_hash"), taskType(run.text("prompt"))
	a.setStart(run.text("started_at"))
	a.failure = run.text("failure_reason")
	a.SchemaVersion, a.Prompt, a.PromptFull = run.get("schema_version"), run.get("prompt"), run.get("prompt_full")
	a.MaxRetries, a.SessionName, a.ResultFile = run.get("max_retries"), run.get("session_name"), run.get("result_file")
	a.OutputSummary, a.FailureReason = run.get("output_summary"), run.get("failure_reason")
	a.TemplateName, a.Verification = run.get("template_name"), run.get("verification")
}

// setStart sets the start time to runStart, the start time in the run record. But if runStart is
// not a valid time, setStart keeps the start time of the result record, unless it is missing or
// equals the end time: fillResult writes the end time if the start is unknown.
func (a *Attempt) setStart(runStart string) {
	if known := a.StartedAt != "" && a.StartedAt != a.FinishedAt; !known || !timeOf(runStart).IsZero() {
		a.StartedAt = runStart
	}
}

// derive sets the fields that are computed from other fields, and gives empty fields their default
// values. If the attempt has no status, derive sets the status to running.
func (a *Attempt) derive() {
	a.started, a.finished = timeOf(a.StartedAt), timeOf(a.FinishedAt)
	if a.DurationSeconds == nil && !a.started.IsZero() && !a.finished.Before(a.started) {
		n := a.finished.Sub(a.started).Seconds()
		if n == 0 {
			n = 1 // both times are equal, but readers of a report take a duration of 0 as unknown
		}
		if n < mostSeconds {
			a.DurationSeconds = &n
		}
	}
	if a.Status == "" {
		a.Status = Running
	}
	// Prefer the failure_reason of the run record, which is usually one word, so that a report can
	// count equal reasons together. The reason in a result record may be a sentence, and two
	// sentences are rarely equal.
	if a.hasFailed() {
		a.Reason = cmp.Or(a.failure, a.Reason)
	}
	setIfEmpty(&a.Agent, "unknown")
	setIfEmpty(&a.Model, "unknown")
	setIfEmpty(&a.Template, noTemplate)
	setIfEmpty(&a.TaskType, "other")
}

// noTemplate is the template name under which a report counts attempts without a template.
const noTemplate = "custom"
