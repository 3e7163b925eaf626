package fleet

import (
	"slices"
	"strings"
)

// Candidate is the result of one of several agents that did the same task.
type Candidate struct {
	Task    string `json:"task"` // the id of its own task
	Agent   string `json:"agent"`
	Model   string `json:"model,omitempty"`
	Status  Status `json:"status"`
	Outcome string `json:"outcome,omitempty"` // why it is not complete
	Branch  string `json:"branch,omitempty"`

	Checks   int   `json:"checks"` // verify commands that ran, and those that succeeded
	Passed   int   `json:"passed"`
	Files    int   `json:"files"` // changed files, and lines
	Added    int   `json:"added"`
	Removed  int   `json:"removed"`
	Spent    Cost  `json:"spent,omitzero"` // of its last attempt
	WorkedMS int64 `json:"worked_ms"`

	Summary string `json:"summary,omitempty"` // the agent's last message
	Picked  bool   `json:"picked,omitempty"`
}

// Count sets the number of checks.
func (c *Candidate) Count(checks []Check) {
	c.Checks, c.Passed = len(checks), 0
	for _, check := range checks {
		if check.OK {
			c.Passed++
		}
	}
}

// CandidateOf returns the result of a candidate's task.
func CandidateOf(t Task) Candidate {
	c := Candidate{Task: t.ID, Agent: t.Agent, Model: t.Model, Status: t.Status, Outcome: t.Outcome, Branch: t.Branch}
	if a := t.Attempt; a != nil {
		c.Spent, c.WorkedMS, c.Summary = a.Spent, a.WorkedMS, a.Summary
		c.Count(a.Checks)
		if a.Diff != nil {
			c.Files, c.Added, c.Removed = a.Diff.Changed, a.Diff.Added, a.Diff.Removed
		}
	}
	return c
}

// Comparison shows the candidates of a task side by side.
type Comparison struct {
	Run        string      `json:"run"`
	Task       string      `json:"task"`             // the task that picks
	Status     Status      `json:"status"`           // of that task
	Picked     string      `json:"picked,omitempty"` // the id of the picked candidate
	Why        string      `json:"why,omitempty"`
	Question   *Question   `json:"question,omitempty"` // set while the user must pick
	Candidates []Candidate `json:"candidates"`         // in the order of the plan
}

// Compare compares the candidates of a task. id is that of the task that picks, or of one
// of its candidates. Compare returns false if that task has no candidates.
func (r Run) Compare(id string) (Comparison, bool) {
	of := func(t Task) bool { return t.ID == id }
	at := slices.IndexFunc(r.Tasks, of)
	if at >= 0 && r.Tasks[at].Candidate != "" {
		id = r.Tasks[at].Candidate
		at = slices.IndexFunc(r.Tasks, of)
	}
	if at < 0 || len(r.Tasks[at].Candidates) == 0 {
		return Comparison{}, false
	}
	t := r.Tasks[at]
	c := Comparison{Run: r.ID, Task: t.ID, Status: t.Status, Question: t.Question}
	c.Picked, c.Why = t.Picked()
	for _, one := range r.Tasks {
		if slices.Contains(t.Candidates, one.ID) {
			candidate := CandidateOf(one)
			candidate.Picked = candidate.Task == c.Picked
			c.Candidates = append(c.Candidates, candidate)
		}
	}
	return c, true
}

// Picked returns the candidate that a task has picked, and why. id is empty if it has not
// picked one yet.
func (t Task) Picked() (id, why string) {
	if t.Attempt == nil || t.Status != Complete || len(t.Candidates) == 0 {
		return "", ""
	}
	return PickedIn(t.Attempt.Summary)
}

// PickedIn returns the candidate that the output of a task that picks names, and why.
func PickedIn(output string) (id, why string) {
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), PickedPrefix); ok {
			id, why, _ = strings.Cut(text, ": ")
		}
	}
	return id, why
}

// PickedPrefix begins the line of output with which a task that picks names the
// candidate.
const PickedPrefix = "picked "
