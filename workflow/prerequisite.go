package workflow

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/statefile/jsontree"
)

// Need is a prerequisite of a workflow step. It is met if any of the steps in Need is completed.
type Need []Step

// prerequisites lists what each step of a workflow command needs before it can start, as the
// workflow protocol defines it. The first row that matches the step and the command applies; a row
// without commands matches every command. The protocol does not say what the step SpecWriter needs
// if the command is execute or if there is no command. In these cases gaffer requires the step
// StateOwnerScan, because all other commands begin with it.
var prerequisites = []struct {
	step     Step
	commands []Command
	needs    []Need
}{
	{StateOwnerScan, nil, nil},
	{Observer, nil, nil},
	{Interviewer, nil, []Need{{StateOwnerScan}}},
	{Researcher, []Command{Ref}, nil}, // no prerequisites: runs in parallel with StateOwnerScan
	{Researcher, nil, []Need{{StateOwnerScan}}},
	{VisualTranslator, []Command{Ref}, nil}, // no prerequisites: runs in parallel with StateOwnerScan
	{VisualTranslator, nil, []Need{{StateOwnerScan}}},
	{ScenarioCrafter, nil, []Need{{Interviewer}}},
	{SpecWriter, []Command{Init, Evolve}, []Need{{Interviewer}, {ScenarioCrafter}}},
	{SpecWriter, []Command{Ref}, []Need{{StateOwnerScan}, {Researcher, VisualTranslator}}},
	{SpecWriter, nil, []Need{{StateOwnerScan}}},
	{ExecutorPlan, nil, []Need{{StateOwnerScan}}},
	{ExecutorBuild, nil, []Need{{StateOwnerScan}}},
}

// Needs returns the prerequisites of a step in the given workflow command.
func Needs(command Command, step Step) []Need {
	for _, row := range prerequisites {
		if row.step == step && (row.commands == nil || slices.Contains(row.commands, command)) {
			return row.needs
		}
	}
	return nil
}

// Missing returns the prerequisites of step that are not met by the completed steps.
func Missing(command Command, step Step, completed []Step) []Need {
	var missing []Need
	for _, need := range Needs(command, step) {
		met := slices.ContainsFunc(need, func(s Step) bool { return slices.Contains(completed, s) })
		if !met {
			missing = append(missing, need)
		}
	}
	return missing
}

// runnable returns a step whose prerequisites are all met. That is step itself or, if a
// prerequisite of step is missing, a step that must run before step.
func runnable(command Command, step Step, completed []Step) Step {
	if missing := Missing(command, step, completed); len(missing) > 0 {
		return runnable(command, missing[0][0], completed)
	}
	return step
}

// PrerequisiteError reports that a workflow step cannot start, because its prerequisites are not
// met. The user chooses how to continue; see Choices.
type PrerequisiteError struct {
	Command Command
	Step    Step
	Missing []Need
	Next    Step // a step that Step needs, and whose own prerequisites are met
}

// Choice is one of the ways in which the user can continue, such as "Start fresh with a new plan".
type Choice struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// The numbers of the choices that [PrerequisiteError.Choices] returns.
const (
	RunMissing = 1
	Skip       = 2
	Abort      = 3
)

// Choices lists the ways in which the user can continue.
func (e *PrerequisiteError) Choices() []Choice {
	return []Choice{
		{RunMissing, fmt.Sprintf("Run %s now (recommended)", e.Next.work())},
		{Skip, "Skip (not recommended — may produce inaccurate results)"},
		{Abort, "Abort this command"},
	}
}

// Choose continues in the way that the user chose. The choice RunMissing starts the missing step
// that can run now (e.Next). Skip starts the step e.Step without its prerequisites. Abort ends the
// command. If the current command has changed since the error occurred, Choose returns an error,
// because the choice was about the earlier command.
func (e *PrerequisiteError) Choose(root *jsontree.Node, choice int) error {
	if now := Command(root.Get("currentCommand").Text()); now != e.Command {
		return &TransitionError{
			What: "step " + string(e.Step), From: "asked", To: fmt.Sprintf("choice %d", choice),
			Why: fmt.Sprintf("the command was %s and is now %s", orNone(e.Command), orNone(now)),
		}
	}
	switch choice {
	case RunMissing:
		return BeginStep(root, e.Next, false)
	case Skip:
		return BeginStep(root, e.Step, true)
	case Abort:
		if e.Command == "" {
			return nil // there is no current command to end
		}
		return EndCommand(root)
	}
	return &ArgumentError{What: fmt.Sprintf("choice %d", choice), Problem: "unknown, want 1, 2 or 3"}
}

func orNone(c Command) string {
	if c == "" {
		return "none"
	}
	return shorten(string(c))
}

// Error returns the error text that the workflow protocol prescribes, with numbered choices.
func (e *PrerequisiteError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Workflow error: %s must run before %s can proceed.", agentNames(e.Missing), e.Step.Agent())
	for _, c := range e.Choices() {
		fmt.Fprintf(&b, "\n(%d) %s", c.Number, c.Text)
	}
	return b.String()
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *PrerequisiteError) Conflict() bool { return true }

func agentNames(needs []Need) string {
	names := make([]string, len(needs))
	for i, need := range needs {
		either := make([]string, len(need))
		for j, step := range need {
			either[j] = step.Agent()
		}
		names[i] = joinWords(either, "or")
	}
	return joinWords(names, "and")
}
