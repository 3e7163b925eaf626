package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile/jsontree"
)

// Command is the name of a workflow command that the user can start, such as evolve.
type Command string

// The commands of the workflow protocol.
const (
	Init    Command = "init"
	Evolve  Command = "evolve"
	Ref     Command = "ref"
	Review  Command = "review"
	Execute Command = "execute"
)

// Commands lists every workflow command.
func Commands() []Command { return []Command{Init, Evolve, Ref, Review, Execute} }

// Step is a part of a workflow command that one agent does.
type Step string

// The steps of the workflow protocol.
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

// steps lists, for each step of a workflow command, the name of its agent, the name of its work as
// shown to the user, and the key of its output in State.AgentOutputs.
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

// Steps lists every step of the workflow protocol.
func Steps() []Step {
	all := make([]Step, len(steps))
	for i, row := range steps {
		all[i] = row.step
	}
	return all
}

// Agent returns the name of the step's agent, such as State Owner. For a step that the workflow
// protocol does not define, it returns the step's name.
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

// Output returns the key of the step's output in State.AgentOutputs. For a step that the workflow
// protocol does not define, it returns the step's name.
func (s Step) Output() string {
	for _, row := range steps {
		if row.step == s {
			return row.output
		}
	}
	return string(s)
}

// BeginCommand starts a workflow command. It clears the steps and the agentOutputs of the previous
// command. It returns the name of the previous command if that command has not ended, and ""
// otherwise.
func BeginCommand(root *jsontree.Node, command Command) (Command, error) {
	if !slices.Contains(Commands(), command) {
		return "", &ArgumentError{
			What:    fmt.Sprintf("command %q", shorten(string(command))),
			Problem: "unknown, want " + joinWords(Commands(), "or"),
		}
	}
	unended := Command(root.Get("currentCommand").Text())
	root.Set("currentCommand", command)
	for _, name := range []string{"workflowStep", "completedSteps", "agentOutputs"} {
		clearField(root, name)
	}
	return unended, nil
}

// EndCommand ends the current workflow command. The list of completed steps stays until the next
// command starts. If no command is active, EndCommand returns a [*TransitionError].
func EndCommand(root *jsontree.Node) error {
	if root.Get("currentCommand").Absent() {
		return &TransitionError{What: "command", From: "none", To: "ended", Why: "no command is active"}
	}
	clearField(root, "currentCommand")
	clearField(root, "workflowStep")
	return nil
}

// BeginStep makes step the current step of the workflow. If a prerequisite of the step is missing
// and skip is false, BeginStep returns a [*PrerequisiteError].
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

// DoneStep marks a workflow step as completed. If summary is not empty, DoneStep stores it for
// later agents. If two steps run in parallel and the other one is the current step, that step stays
// current.
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
		Problem: "unknown, want " + joinWords(Steps(), "or"),
	}
}
