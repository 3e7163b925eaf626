package workflow

import "slices"

// Report is the progress of the steps of the current workflow command.
type Report struct {
	Command   Command      `json:"currentCommand,omitempty"`
	Current   Step         `json:"workflowStep,omitempty"`
	Completed []Step       `json:"completedSteps"`
	Steps     []StepStatus `json:"steps"`
}

// StepStatus is the progress of one step of a workflow command.
type StepStatus struct {
	Step    Step   `json:"step"`
	Agent   string `json:"agent"`
	State   string `json:"state"` // "working", "done", "ready", or "waiting" for the steps in Missing
	Missing []Need `json:"missing"`
}

// WaitsFor returns the names of the agents whose steps must be completed before this step.
func (s StepStatus) WaitsFor() string { return agentNames(s.Missing) }

// StepReport returns the progress of every step of the workflow protocol, followed by other steps
// that state.json names.
func StepReport(s State) Report {
	r := Report{Command: s.CurrentCommand, Current: s.WorkflowStep, Completed: notNil(s.CompletedSteps)}
	all := Steps()
	for _, step := range append(slices.Clone(s.CompletedSteps), s.WorkflowStep) {
		if step != "" && !slices.Contains(all, step) {
			all = append(all, step)
		}
	}
	for _, step := range all {
		missing := Missing(s.CurrentCommand, step, s.CompletedSteps)
		r.Steps = append(r.Steps, StepStatus{step, step.Agent(), stepState(s, step, missing), notNil(missing)})
	}
	return r
}

func stepState(s State, step Step, missing []Need) string {
	switch {
	case step == s.WorkflowStep:
		return "working"
	case slices.Contains(s.CompletedSteps, step):
		return "done"
	case len(missing) > 0:
		return "waiting"
	}
	return "ready"
}
