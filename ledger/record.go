package ledger

import (
	"bytes"
	"encoding/json"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Version is the schema_version of the run and result records that gaffer creates. They have the
// full form, which has more required fields. A record without a schema_version has the minimal
// form. gaffer reads such records but does not create them.
const Version = 1

// DefaultMaxRetries is the maximum number of retries of a task if the caller gives no maximum.
const DefaultMaxRetries = 2

// Status is the status of an attempt.
type Status string

// The statuses of an attempt.
const (
	Running  Status = "running"
	Done     Status = "done"
	Failed   Status = "failed"
	TimedOut Status = "timeout"
)

// nextStatuses lists the statuses that may follow each status. A status without an entry is final.
var nextStatuses = map[Status][]Status{
	Running: {Done, Failed, TimedOut},
}

// Run is the run record of one attempt: what was started and, later, how it ended.
type Run struct {
	SchemaVersion   int           `json:"schema_version"`
	Bead            string        `json:"bead"`
	Agent           string        `json:"agent"`
	Model           string        `json:"model"`
	Repo            string        `json:"repo"`
	Prompt          string        `json:"prompt"` // the first characters of the prompt; see the function Excerpt
	PromptFull      string        `json:"prompt_full"`
	PromptHash      string        `json:"prompt_hash"` // hash of the full prompt; see the function Hash
	StartedAt       string        `json:"started_at"`
	FinishedAt      *string       `json:"finished_at"`
	DurationSeconds *int          `json:"duration_seconds"`
	Status          Status        `json:"status"`
	Attempt         int           `json:"attempt"` // number of the attempt, from 1
	MaxRetries      int           `json:"max_retries"`
	SessionName     string        `json:"session_name"`
	ResultFile      string        `json:"result_file"`
	ExitCode        *int          `json:"exit_code"`
	OutputSummary   *string       `json:"output_summary,omitempty"` // the last characters of the agent's output; see the function Summary
	FailureReason   *string       `json:"failure_reason,omitempty"`
	TemplateName    *string       `json:"template_name,omitempty"`
	Verification    *Verification `json:"verification,omitempty"`
}

// Result is the result record of one attempt: how the attempt ended.
type Result struct {
	SchemaVersion   int           `json:"schema_version"`
	Bead            string        `json:"bead"`
	Agent           string        `json:"agent"`
	Status          Status        `json:"status"`
	Reason          string        `json:"reason"`
	StartedAt       string        `json:"started_at"`
	FinishedAt      string        `json:"finished_at"`
	DurationSeconds *int          `json:"duration_seconds"`
	Attempt         int           `json:"attempt"`
	MaxRetries      int           `json:"max_retries"`
	WillRetry       bool          `json:"will_retry"`
	ExitCode        *int          `json:"exit_code"`
	SessionName     string        `json:"session_name"`
	OutputSummary   *string       `json:"output_summary,omitempty"`
	Verification    *Verification `json:"verification,omitempty"`
}

// Verification holds the results of checks of the agent's work.
type Verification struct {
	Lint        string         `json:"lint,omitempty"`  // pass, fail or skipped
	Tests       string         `json:"tests,omitempty"` // pass, fail or skipped
	UBS         string         `json:"ubs,omitempty"`   // clean, issues or skipped
	LintDetails jsontree.Value `json:"lint_details,omitzero"`
	Overall     string         `json:"overall,omitempty"` // pass or fail
}

// Dispatch holds the parameters that the user or the engine chooses for an attempt.
type Dispatch struct {
	Bead, Agent, Model string
	Repo               string // absolute path of the repository
	Prompt             string // the complete prompt
	Template           string // name of the prompt's template; "" for none
	Session            string // name of the tmux session; "" means agent-<bead>
	Attempt            int    // number of the attempt; 0 means 1
	MaxRetries         int    // 0 means DefaultMaxRetries
}

// NewRun returns the run record of an attempt that starts at the time now. Where a field of d is
// empty, it uses the default value. It leaves ResultFile empty; [Store.Begin] sets this field.
func NewRun(d Dispatch, now time.Time) Run {
	r := Run{
		SchemaVersion: Version,
		Bead:          d.Bead, Agent: d.Agent, Model: d.Model, Repo: d.Repo,
		Prompt: Excerpt(d.Prompt), PromptFull: d.Prompt, PromptHash: Hash(d.Prompt),
		StartedAt:   timestamp.Format(now),
		Status:      Running,
		Attempt:     max(d.Attempt, 1),
		MaxRetries:  d.MaxRetries,
		SessionName: d.Session,
	}
	if r.MaxRetries == 0 {
		r.MaxRetries = DefaultMaxRetries
	}
	if r.SessionName == "" {
		r.SessionName = sessionName(d.Bead)
	}
	if d.Template != "" {
		r.TemplateName = &d.Template
	}
	return r
}

func sessionName(bead string) string { return "agent-" + bead }

// encode returns the indented JSON text of a record. It does not escape <, > and &.
func encode(record any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return nil, err
	}
	return jsontree.Format(b.Bytes())
}
