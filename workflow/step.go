package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile/jsontree"
)

// Command is one of the commands that a person gives.
type Command string

// The commands.
const (
	Init    Command = "init"
	Evolve  Command = "evolve"
	Ref     Command = "ref"
	Review  Command = "review"
	Execute Command = "execute"
)

// Commands lists every command.
func Commands() []Command { return []Command{Init, Evolve, Ref, Review, Execute} }

// Step is one agent's part of a command.
type Step string

// The steps.
const (
	StateOwnerScan   Step = "state-owner-scan"
	Interviewer      Step = "interviewer"
	Researcher       Step = "researcher"
	VisualTranslator Step = "visual-translator"
	ScenarioCrafter  Step = "scenario-crafter"
	SpecWriter       Step = "spec-writer"
	ExecutorPlan     Step = "executor-plan"
	ExecutorBuild    Step = "executor-build"
	Observer         Step = "observer"
)

// steps says who does each step, what a person calls the work, and under which
// key of agentOutputs its summary stands.
var steps = []struct {
	step                Step
	agent, work, output string
}{
	{StateOwnerScan, "State Owner", "State Owner scan", "state-owner"},
	{Interviewer, "Interviewer", "Interviewer", "interviewer"},
	{Researcher, "Researcher", "Researcher", "researcher"},
	{VisualTranslator, "Visual Translator", "Visual Translator", "visual-translator"},
	{ScenarioCrafter, "Scenario Crafter", "Scenario Crafter", "scenario-crafter"},
	{SpecWriter, "Spec Writer", "Spec Writer", "spec-writer"},
	{ExecutorPlan, "Executor", "Executor plan", "executor-plan"},
	{ExecutorBuild, "Executor", "Executor build", "executor-build"},
	{Observer, "Observer", "Observer", "observer"},
}

// Steps lists every step, in the order of the table above.
func Steps() []Step {
	all := make([]Step, len(steps))
	for i, row := range steps {
		all[i] = row.step
	}
	return all
}

// Agent is the name of the agent that does the step.
func (s Step) Agent() string {
	for _, row := range steps {
		if row.step == s {
			return row.agent
		}
	}
	return string(s)
}

func (s Step) work() string {
	for _, row := range steps {
		if row.step == s {
			return row.work
		}
	}
	return string(s)
}

// Output is the key of agentOutputs under which the step's summary stands.
func (s Step) Output() string {
	for _, row := range steps {
		if row.step == s {
			return row.output
		}
	}
	return string(s)
}

// BeginCommand starts a command: what an earlier one completed no longer
// counts. It returns the command that was under way, if it never ended.
func BeginCommand(root *jsontree.Node, command Command) (Command, error) {
	if !slices.Contains(Commands(), command) {
		return "", &ArgumentError{
			What:    fmt.Sprintf("command %q", shorten(string(command))),
			Problem: "unknown, want " + list(Commands(), "or"),
		}
	}
	unended := Command(root.Get("currentCommand").Text())
	root.Set("currentCommand", command)
	for _, name := range []string{"workflowStep", "completedSteps", "agentOutputs"} {
		clearField(root, name)
	}
	return unended, nil
}

// EndCommand ends the command under way. Its completed steps stay until the
// next one begins.
func EndCommand(root *jsontree.Node) error {
	if root.Get("currentCommand").Absent() {
		return &TransitionError{What: "command", From: "none", To: "ended", Why: "no command is under way"}
	}
	clearField(root, "currentCommand")
	clearField(root, "workflowStep")
	return nil
}

// BeginStep says that a step is being worked on. If a prerequisite is missing
// the error is a [*PrerequisiteError], unless skip says to go on without.
func BeginStep(root *jsontree.Node, step Step, skip bool) error {
	if err := checkStep(step); err != nil {
		return err
	}
	state, _ := Read(root.Value())
	missing := Missing(state.CurrentCommand, step, state.CompletedSteps)
	if len(missing) > 0 && !skip {
		return &PrerequisiteError{
			Command: state.CurrentCommand, Step: step, Missing: missing,
			Next: runnable(state.CurrentCommand, step, state.CompletedSteps),
		}
	}
	root.Set("workflowStep", step)
	return nil
}

// DoneStep says that a step is complete, and keeps its summary, if there is
// one, for the agents after it. Where another step is being worked on in
// parallel, that one stays the step shown.
func DoneStep(root *jsontree.Node, step Step, summary string) error {
	if err := checkStep(step); err != nil {
		return err
	}
	if err := checkText("summary", summary); err != nil {
		return err
	}
	completed, err := array(root, "completedSteps", "completedSteps")
	if err != nil {
		return err
	}
	if !holds(completed.Value(), string(step)) {
		completed.Append(step)
	}
	if root.Get("workflowStep").Text() == string(step) {
		clearField(root, "workflowStep")
	}
	if summary == "" {
		return nil
	}
	return keepSummary(root, step.Output(), summary)
}

func keepSummary(root *jsontree.Node, key, summary string) error {
	outputs, err := object(root, "agentOutputs", "agentOutputs")
	if err != nil {
		return err
	}
	output, err := object(outputs, "agentOutputs."+key, key)
	if err != nil {
		return err
	}
	output.Set("summary", summary)
	return nil
}

func holds(items jsontree.Value, text string) bool {
	for _, item := range items.Items() {
		if item.Text() == text {
			return true
		}
	}
	return false
}

func checkStep(step Step) error {
	if slices.Contains(Steps(), step) {
		return nil
	}
	return &ArgumentError{
		What:    fmt.Sprintf("step %q", shorten(string(step))),
		Problem: "unknown, want " + list(Steps(), "or"),
	}
}
