// Package build is the state machine of an autonomous build in chunks: what a
// plan of chunks becomes for the engine, and what follows from the engine's
// events for the build run and the feed of the workflow protocol. It is pure:
// files, clocks and the store belong to its callers.
package build

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/plan"
	"gaffer/workflow"
)

// Plan is a plan of chunks, as a person writes it.
type Plan struct {
	Name           string        `yaml:"name"`
	Priorities     []string      `yaml:"priorities"`
	PrioritySource string        `yaml:"prioritySource"` // global, project or user-prompt
	SpecVersion    string        `yaml:"specVersion"`    // the spec's own if empty
	Convergence    []Phase       `yaml:"convergence"`
	Parallel       int           `yaml:"parallel"`
	Agent          string        `yaml:"agent"`
	Model          string        `yaml:"model"`
	Timeout        time.Duration `yaml:"timeout"`
	Retries        *int          `yaml:"retries"`
	Questions      string        `yaml:"questions"`
	Chunks         []Chunk       `yaml:"chunks"`

	File string `yaml:"-"` // that it was read from
}

// Phase is a step of convergence: chunks that bring the project closer to one
// state.
type Phase struct {
	Name   string `yaml:"phase"`
	Chunks []ID   `yaml:"chunks"`
}

// Chunk is one piece of the plan.
type Chunk struct {
	ID        ID            `yaml:"id"`
	Name      string        `yaml:"name"`
	Sections  []string      `yaml:"sections"`
	Scenarios []string      `yaml:"scenarios"`
	DependsOn []ID          `yaml:"dependsOn"`
	Prompt    string        `yaml:"prompt"`
	Verify    []Check       `yaml:"verify"`
	Serve     string        `yaml:"serve"` // a shell command that serves the pages which are checked
	Agent     string        `yaml:"agent"`
	Model     string        `yaml:"model"`
	Timeout   time.Duration `yaml:"timeout"`
	Retries   *int          `yaml:"retries"`
}

// defaultRetries is how often a chunk is tried again if the plan says nothing.
const defaultRetries = 1

// Check is one check of a chunk's work: a shell command alone, or one of command,
// file and url with what belongs to it.
type Check struct {
	Name       string        `yaml:"name" json:"name,omitempty"`
	Command    string        `yaml:"command" json:"command,omitempty"`
	File       string        `yaml:"file" json:"file,omitempty"`
	URL        string        `yaml:"url" json:"url,omitempty"`
	Status     int           `yaml:"status" json:"status,omitempty"`
	Contains   string        `yaml:"contains" json:"contains,omitempty"`
	Screenshot bool          `yaml:"screenshot" json:"screenshot,omitempty"`
	Timeout    time.Duration `yaml:"timeout" json:"timeout,omitempty"`
}

// Build is a build as the engine's run carries it: what was approved, and how
// the chunks stood that it goes on from.
type Build struct {
	Run    workflow.BuildRun `json:"run"`
	Phases []Phase           `json:"phases,omitempty"`
	Tasks  map[string]string `json:"tasks"`  // of the engine, by the chunk's id; a chunk without one is kept as it is
	Checks string            `json:"checks"` // the folder of what is checked and what came of it

	Command workflow.Command `json:"command,omitempty"` // that the build is a step of; [workflow.Execute] if empty

	Source *Plan `json:"source"` // what it was made from
}

// Start is what a build begins with.
type Start struct {
	RunID       string
	Now         time.Time
	SpecVersion string
	Checks      string // the name of the folder of its checks
	Command     workflow.Command
	// Done are the completed chunks that are kept from an interrupted build, by
	// their id.
	Done map[workflow.ID]workflow.Chunk
	// Held are the chunks that are not built and stay as they are.
	Held map[workflow.ID]workflow.Chunk
	// VerifyCommand returns the shell command that checks a chunk's work.
	VerifyCommand func(c Chunk) string
}

// New makes a build of a plan that was checked, and the engine's plan of it.
func New(p Plan, s Start) (Build, plan.Plan, error) {
	b := Build{Phases: p.Convergence, Tasks: map[string]string{}, Checks: s.Checks, Command: s.Command, Source: &p, Run: workflow.BuildRun{
		RunID: s.RunID, Status: workflow.Running, StartedAt: stamp(s.Now),
		Plan: workflow.Plan{
			TotalChunks: len(p.Chunks), Priorities: filled(p.Priorities), PrioritySource: p.PrioritySource,
			SpecVersion: or(p.SpecVersion, s.SpecVersion),
		},
	}}
	out := plan.Plan{
		Name: or(p.Name, "build"), Source: plan.SourceOrchestrate, SourceFile: p.File, Parallel: p.Parallel, OnFailure: plan.Continue,
	}
	for _, c := range p.Chunks {
		chunk := workflow.Chunk{
			ID: c.ID.Workflow(), Name: c.Name, Status: workflow.Planned,
			Sections: filled(c.Sections), Scenarios: filled(c.Scenarios), DependsOn: workflowIDs(c.DependsOn),
		}
		kept, is := s.Done[chunk.ID]
		if !is {
			kept, is = s.Held[chunk.ID]
		}
		if is {
			b.Run.Chunks = append(b.Run.Chunks, kept)
			continue
		}
		b.Run.Chunks = append(b.Run.Chunks, chunk)
		b.Tasks[string(chunk.ID)] = TaskName(c.ID)
		out.Tasks = append(out.Tasks, p.task(c, s))
	}
	b.Run.ConvergencePhase = b.phase()
	text, err := json.Marshal(b)
	out.Build = text
	return b, out, err
}

// Of returns the build of an engine's plan, nil if it is none.
func Of(text json.RawMessage) (*Build, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	var b Build
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("build of the plan: %w", err)
	}
	return &b, nil
}

// TaskName is what the engine calls a chunk.
func TaskName(id ID) string { return "chunk-" + string(id) }

// FromState makes a plan of what the state says of a build that another program
// has begun. Without ids that tell its chunks apart it cannot be gone on with.
func FromState(run workflow.BuildRun) (Plan, error) {
	p := Plan{
		Name: run.RunID, Priorities: run.Plan.Priorities, PrioritySource: run.Plan.PrioritySource, SpecVersion: run.Plan.SpecVersion,
	}
	seen := map[workflow.ID]bool{}
	for _, c := range run.Chunks {
		if c.ID == "" || seen[c.ID] {
			return p, &StateError{fmt.Sprintf("two of its chunks have the id %q", c.ID)}
		}
		seen[c.ID] = true
		chunk := Chunk{ID: ID(c.ID), Name: or(c.Name, "chunk "+string(c.ID)), Sections: c.Sections, Scenarios: c.Scenarios}
		for _, id := range c.DependsOn {
			// What a completed chunk waited for does not matter any more. One that
			// waits for no chunk is held by the resume.
			if c.Status != workflow.Completed && slices.ContainsFunc(run.Chunks, func(o workflow.Chunk) bool { return o.ID == id }) {
				chunk.DependsOn = append(chunk.DependsOn, ID(id))
			}
		}
		p.Chunks = append(p.Chunks, chunk)
	}
	c := checker{agents: plan.Agents()}
	if c.plan(p); len(c.problems) > 0 {
		return p, &StateError{c.problems[0].Text}
	}
	return p, nil
}

// StateError is a build in the state that cannot be made sense of.
type StateError struct{ Problem string }

func (e *StateError) Error() string {
	return "the build in the state cannot be gone on with: " + e.Problem
}

// Invalid marks the error as one about a document's content.
func (e *StateError) Invalid() bool { return true }

// Hint says what to do next.
func (e *StateError) Hint() string { return "'gaffer build PLAN --fresh' starts anew" }

func (p Plan) task(c Chunk, s Start) plan.Task {
	t := plan.Task{
		ID: TaskName(c.ID), Name: label(c), Prompt: prompt(c, p.Priorities), Agent: or(c.Agent, p.Agent), Model: or(c.Model, p.Model),
		Timeout: c.Timeout, Retries: defaultRetries, Questions: plan.QuestionPolicy(or(p.Questions, string(plan.Ask))),
	}
	if t.Timeout == 0 {
		t.Timeout = p.Timeout
	}
	for _, said := range []*int{p.Retries, c.Retries} {
		if said != nil {
			t.Retries = *said
		}
	}
	for _, id := range c.DependsOn {
		if _, done := s.Done[id.Workflow()]; !done {
			t.After = append(t.After, TaskName(id))
		}
	}
	if len(c.Verify) > 0 && s.VerifyCommand != nil {
		t.Verify = []string{s.VerifyCommand(c)}
	}
	return t
}

// prompt is what a chunk's agent is told.
func prompt(c Chunk, priorities []string) string {
	var b strings.Builder
	text := strings.TrimSpace(c.Prompt)
	if text == "" {
		text = fmt.Sprintf("Build %s.", label(c))
	}
	b.WriteString(text + "\n")
	if len(c.Sections) > 0 {
		fmt.Fprintf(&b, "\nIt covers these sections of .fctry/spec.md: %s.\n", strings.Join(c.Sections, ", "))
	}
	if len(c.Scenarios) > 0 {
		b.WriteString("\nWhen it is done these scenarios hold:\n")
		for _, s := range c.Scenarios {
			fmt.Fprintf(&b, "- %s\n", s)
		}
	}
	if len(priorities) > 0 {
		fmt.Fprintf(&b, "\nPriorities, the first counts most: %s.\n", strings.Join(priorities, ", "))
	}
	return b.String()
}

func label(c Chunk) string { return workflow.Chunk{ID: c.ID.Workflow(), Name: c.Name}.Label() }

// phase is the first phase that has a chunk which is not completed.
func (b Build) phase() string {
	done := map[workflow.ID]bool{}
	for _, c := range b.Run.Chunks {
		done[c.ID] = c.Status == workflow.Completed
	}
	for _, p := range b.Phases {
		if slices.ContainsFunc(p.Chunks, func(id ID) bool { return !done[id.Workflow()] }) {
			return p.Name
		}
	}
	if n := len(b.Phases); n > 0 {
		return b.Phases[n-1].Name
	}
	return ""
}

func filled(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
