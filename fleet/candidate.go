package fleet

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
