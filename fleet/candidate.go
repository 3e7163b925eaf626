package fleet

import (
	"slices"
	"strings"
)

// Candidate describes one of several agents that work on the same task in competition, and the
// result of its work. Each candidate has its own task in the run.
type Candidate struct {
	Task    string `json:"task"` // id of this candidate's task in the run
	Agent   string `json:"agent"`
	Model   string `json:"model,omitempty"`
	Status  Status `json:"status"`
	Outcome string `json:"outcome,omitempty"` // why the task or its last attempt failed or was cancelled, such as timeout
	Branch  string `json:"branch,omitempty"`

	Checks   int   `json:"checks"` // number of executed verify commands, which check the work
	Passed   int   `json:"passed"`
	Files    int   `json:"files"` // number of changed files
	Added    int   `json:"added"`
	Removed  int   `json:"removed"`
	Spent    Cost  `json:"spent,omitzero"` // cost of all attempts of this candidate
	WorkedMS int64 `json:"worked_ms"`      // working time of all attempts that have ended

	Summary string `json:"summary,omitempty"` // the agent's last message, or what went wrong
	Picked  bool   `json:"picked,omitempty"`
}

// Count sets c.Checks to the number of checks, and c.Passed to the number of those that passed.
func (c *Candidate) Count(checks []Check) {
	c.Checks, c.Passed = len(checks), 0
	for _, check := range checks {
		if check.OK {
			c.Passed++
		}
	}
}

// CandidateOf returns the result of the candidate whose task is t.
func CandidateOf(t Task) Candidate {
	c := Candidate{Task: t.ID, Agent: t.Agent, Model: t.Model, Status: t.Status, Outcome: t.Outcome, Branch: t.Branch}
	if a := t.Attempt; a != nil {
		c.Spent, c.WorkedMS, c.Summary = t.Spent, max(t.WorkedMS, a.WorkedMS), a.Summary
		// Add the cost of the last attempt if t.Spent does not contain it. This is so if the
		// attempt has not ended, or if an old version of gaffer has stored no cost for the task.
		if a.Ended.IsZero() || c.Spent == (Cost{}) {
			c.Spent.USD, c.Spent.Tokens = c.Spent.USD+a.Spent.USD, c.Spent.Tokens+a.Spent.Tokens
		}
		c.Count(a.Checks)
		if a.Diff != nil {
			c.Files, c.Added, c.Removed = a.Diff.Changed, a.Diff.Added, a.Diff.Removed
		}
	}
	return c
}

// Comparison has the results of all candidates of a task, to show them side by side.
type Comparison struct {
	Run        string      `json:"run"`
	Task       string      `json:"task"`             // id of the task that chooses one candidate
	Status     Status      `json:"status"`           // status of the task that chooses one candidate
	Picked     string      `json:"picked,omitempty"` // id of the chosen candidate's task; empty if none is chosen yet
	Why        string      `json:"why,omitempty"`
	Question   *Question   `json:"question,omitempty"` // the question that asks the user to choose; nil if there is none
	Candidates []Candidate `json:"candidates"`         // in the order of the plan
}

// Compare returns the results of all candidates. The parameter id is the id of the task that
// chooses one of them, or of the task of a candidate or a judge. Compare returns false if the run
// has no such task, or if there are no candidates.
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

// Picked returns the id of the candidate's task that t has chosen, and the reason. Both are empty
// if t has not chosen yet, or is not a task that chooses a candidate.
func (t Task) Picked() (id, why string) {
	if t.Attempt == nil || t.Status != Complete || len(t.Candidates) == 0 {
		return "", ""
	}
	return PickedIn(t.Attempt.Summary)
}

// PickedIn reads the output of a task that chooses a candidate. It returns the id of the chosen
// candidate's task, and the reason. If several lines of the output name a candidate, the last of
// these lines counts. If none does, both results are empty.
func PickedIn(output string) (id, why string) {
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), PickedPrefix); ok {
			id, why, _ = strings.Cut(text, ": ")
		}
	}
	return id, why
}

// PickedPrefix is the start of the output line with which a task says which candidate it has
// chosen.
const PickedPrefix = "picked "
