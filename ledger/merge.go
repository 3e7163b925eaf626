package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Attempt is one attempt of a task, merged from its run record, its result
// record or both, in whatever form they are.
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
	CostUSD         *float64 `json:"cost_usd,omitempty"` // absent if it is not known
	HasRun          bool     `json:"has_run"`
	HasResult       bool     `json:"has_result"`

	// What only the run record says, as it stands there; null if it does not.
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

	// What the result record says.
	ResultStatus     jsontree.Value `json:"result_status"`
	ResultFinishedAt jsontree.Value `json:"result_finished_at"`
	ResultReason     jsontree.Value `json:"result_reason"`

	started, finished time.Time // zero if they cannot be read
	failure           string    // the reason of a failure as one word, if the run has it
}

// begin is when the attempt started, or ended if that is all that is known.
func (a Attempt) begin() time.Time {
	if a.started.IsZero() {
		return a.finished
	}
	return a.started
}

// moment is when the attempt ended, or started if that is all that is known.
func (a Attempt) moment() time.Time {
	if a.finished.IsZero() {
		return a.started
	}
	return a.finished
}

func (a Attempt) hasFailed() bool { return a.Status == Failed || a.Status == TimedOut }

// isTimed says whether the attempt has ended and tells how long it took.
func (a Attempt) isTimed() bool { return a.DurationSeconds != nil && a.Status != Running }

// isStuck tells an attempt that says "running" although nothing can be: see
// the finding of the same name.
func (a Attempt) isStuck(now time.Time) bool {
	if a.Status != Running {
		return false
	}
	return a.HasResult || a.FinishedAt != "" || !a.started.IsZero() && now.Sub(a.started) > RunLimit
}

// leftOut is a file that a report does not count.
type leftOut struct{ reason, path string }

// merged is what a report takes from one task.
type merged struct {
	attempts []Attempt
	left     []leftOut
}

// mergeTask reads the files of one task and joins runs and results by attempt.
func mergeTask(h host.Host, t task) merged {
	var m merged
	for i := len(t) - 1; i >= 0; i-- { // the latest record of an attempt counts
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
		taken := m.attempt(r.bead, number(rec, r.fileName)).take(rec)
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

// attempt returns the attempt with number n, made if need be.
func (m *merged) attempt(bead string, n int) *Attempt {
	for i := range m.attempts {
		if m.attempts[i].Attempt == n {
			return &m.attempts[i]
		}
	}
	m.attempts = append(m.attempts, Attempt{Bead: bead, Attempt: n})
	return &m.attempts[len(m.attempts)-1]
}

// number returns the record's attempt; one that says none is the first.
func number(rec fields, name fileName) int {
	if n, ok := intOf(rec.get("attempt")); ok && n > 0 && n < 1<<31 {
		return int(n)
	}
	return max(name.attempt, 1)
}

// take adds what one record says, unless another record of its kind was taken.
// Results are taken before runs, so what a field has already is the outcome's
// word.
func (a *Attempt) take(rec fields) bool {
	switch {
	case rec.kind == ResultKind && !a.HasResult:
		a.HasResult = true
		a.WillRetry, _ = rec.get("will_retry").Bool()
		a.ResultStatus, a.ResultFinishedAt, a.ResultReason = rec.get("status"), rec.get("finished_at"), rec.get("reason")
	case rec.kind == RunKind && !a.HasRun:
		a.HasRun = true
		a.takeRun(rec)
	default:
		return false
	}
	fill(&a.Agent, rec.text("agent"))
	fill(&a.FinishedAt, rec.text("finished_at"))
	fill(&a.StartedAt, rec.text("started_at"))
	fill(&a.Reason, rec.text("reason"))
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

// takeRun adds what only a run knows.
func (a *Attempt) takeRun(run fields) {
	a.Model, a.Repo, a.Template = run.text("model"), run.text("repo"), run.text("template_name")
	a.PromptHash, a.TaskType = run.text("prompt_hash"), taskType(run.text("prompt"))
	a.takeStart(run.text("started_at"))
	a.failure = run.text("failure_reason")
	a.SchemaVersion, a.Prompt, a.PromptFull = run.get("schema_version"), run.get("prompt"), run.get("prompt_full")
	a.MaxRetries, a.SessionName, a.ResultFile = run.get("max_retries"), run.get("session_name"), run.get("result_file")
	a.OutputSummary, a.FailureReason = run.get("output_summary"), run.get("failure_reason")
	a.TemplateName, a.Verification = run.get("template_name"), run.get("verification")
}

// takeStart prefers the run's word on when it began, unless it is no time and
// the result's is one. A result that began when it ended did not know it: see
// filled.
func (a *Attempt) takeStart(said string) {
	if known := a.StartedAt != "" && a.StartedAt != a.FinishedAt; !known || !timeOf(said).IsZero() {
		a.StartedAt = said
	}
}

// derive fills in what follows from the rest. An attempt that has no outcome is
// running as far as anyone knows.
func (a *Attempt) derive() {
	a.started, a.finished = timeOf(a.StartedAt), timeOf(a.FinishedAt)
	if a.DurationSeconds == nil && !a.started.IsZero() && !a.finished.Before(a.started) {
		n := a.finished.Sub(a.started).Seconds()
		if n == 0 {
			n = 1 // the times are to the second; 0 would be read as unknown
		}
		if n < mostSeconds {
			a.DurationSeconds = &n
		}
	}
	if a.Status == "" {
		a.Status = Running
	}
	if a.hasFailed() { // a result's reason is a sentence, which groups nothing
		a.Reason = cmp.Or(a.failure, a.Reason)
	}
	fill(&a.Agent, "unknown")
	fill(&a.Model, "unknown")
	fill(&a.Template, noTemplate)
	fill(&a.TaskType, "other")
}

// noTemplate stands for the template of a prompt that was written by hand.
const noTemplate = "custom"

// taskTypes are the first words of a prompt that say what sort of task it is.
var taskTypes = []string{"build", "fix", "update", "review", "design", "implement", "add", "refactor", "test", "document"}

func taskType(prompt string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(prompt), " ")
	word = strings.ToLower(strings.TrimRight(word, ":,."))
	for _, t := range taskTypes {
		if word == t {
			return t
		}
	}
	return "other"
}
