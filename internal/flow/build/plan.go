// Package build is the state machine of an autonomous build. A build is done in chunks, each by one
// agent. The package turns a plan of chunks into a plan for the engine. From the engine's events it
// computes the build run and the activity feed of the workflow protocol. It is pure: its callers
// handle files, clocks and the store.
package build

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/plan"
	"gaffer/statefile/timestamp"
	"gaffer/workflow"
)

// Plan is the plan of a build, as the user writes it. It divides the work into chunks, each done by
// one agent.
type Plan struct {
	Name           string        `yaml:"name"`
	Priorities     []string      `yaml:"priorities"`
	PrioritySource string        `yaml:"prioritySource"` // where the priorities come from: global, project or user-prompt
	SpecVersion    string        `yaml:"specVersion"`    // version of the project's spec; empty means the version in the spec file
	Convergence    []Phase       `yaml:"convergence"`
	Parallel       int           `yaml:"parallel"`
	Agent          string        `yaml:"agent"`
	Model          string        `yaml:"model"`
	Timeout        time.Duration `yaml:"timeout"`
	Retries        *int          `yaml:"retries"`
	Questions      string        `yaml:"questions"`
	Chunks         []Chunk       `yaml:"chunks"`

	File string `yaml:"-"` // path of the plan's file
}

// Phase is a milestone of the build: a named group of chunks. The milestone is reached when all
// these chunks are completed.
type Phase struct {
	Name   string `yaml:"phase"`
	Chunks []ID   `yaml:"chunks"`
}

// Chunk is one part of the work in a plan, done by one agent.
type Chunk struct {
	ID        ID            `yaml:"id"`
	Name      string        `yaml:"name"`
	Sections  []string      `yaml:"sections"`
	Scenarios []string      `yaml:"scenarios"`
	DependsOn []ID          `yaml:"dependsOn"`
	Prompt    string        `yaml:"prompt"`
	Verify    []Check       `yaml:"verify"`
	Serve     string        `yaml:"serve"` // shell command that starts a web server for the pages that the checks fetch
	Agent     string        `yaml:"agent"`
	Model     string        `yaml:"model"`
	Timeout   time.Duration `yaml:"timeout"`
	Retries   *int          `yaml:"retries"`
}

// defaultRetries is the number of retries of a chunk if the plan sets none.
const defaultRetries = 1

// Check is one check of the work on a chunk. In the plan's file, it is a shell command or a
// mapping. A mapping has exactly one of the keys command, file and url, and may have further keys
// as options.
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

// Build is stored with the engine's run. It describes the build: the approved plan, and the status
// of the chunks at the start.
type Build struct {
	Run    workflow.BuildRun `json:"run"`
	Phases []Phase           `json:"phases,omitempty"`
	// Tasks maps the id of a chunk to the id of the engine's task for it. A chunk has no task if it
	// is already completed, or if gaffer must not build it.
	Tasks  map[string]string `json:"tasks"`
	Checks string            `json:"checks"` // name of the folder with the files that describe the checks, and with their results

	Command workflow.Command `json:"command,omitempty"` // the workflow command to which the build belongs; empty means [workflow.Execute]

	Source *Plan `json:"source"` // the user's plan that the build was created from
}

// Start holds the parameters of a new build, in addition to its plan.
type Start struct {
	RunID       string
	Now         time.Time
	SpecVersion string
	Checks      string // name of the folder with the files that describe the checks
	Command     workflow.Command
	// Done maps ids to the chunks that an interrupted build has completed. They are not built
	// again.
	Done map[workflow.ID]workflow.Chunk
	// Held maps ids to the chunks that gaffer must not build, for example because only the user can
	// do them. The new build contains them unchanged.
	Held map[workflow.ID]workflow.Chunk
	// VerifyCommand returns the shell command that checks the work on the chunk c.
	VerifyCommand func(c Chunk) string
}

// New creates a build from a valid plan. It returns the build and a plan for the engine, which has
// one task for each chunk that is neither in s.Done nor in s.Held.
func New(p Plan, s Start) (Build, plan.Plan, error) {
	b := Build{Phases: p.Convergence, Tasks: map[string]string{}, Checks: s.Checks, Command: s.Command, Source: &p, Run: workflow.BuildRun{
		RunID: s.RunID, Status: workflow.Running, StartedAt: timestamp.Format(s.Now),
		Plan: workflow.Plan{
			TotalChunks: len(p.Chunks), Priorities: filled(p.Priorities), PrioritySource: p.PrioritySource,
			SpecVersion: cmp.Or(p.SpecVersion, s.SpecVersion),
		},
	}}
	out := plan.Plan{
		Name: cmp.Or(p.Name, "build"), Source: plan.SourceOrchestrate, SourceFile: p.File, Parallel: p.Parallel, OnFailure: plan.Continue,
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

// Of parses the build that is stored in the field Build of a [plan.Plan]. It returns nil if the
// text is empty or null, because then the plan is not the plan of a build.
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

// TaskName returns the id of the engine's task for the chunk with this id.
func TaskName(id ID) string { return "chunk-" + string(id) }

// FromState creates a plan from the build run in the workflow state (the project's state.json), for
// example if another program has started the build. FromState returns a [*StateError] if the build
// cannot be continued, because ids of chunks are missing or not unique, or the plan would not be
// valid.
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
		chunk := Chunk{ID: ID(c.ID), Name: cmp.Or(c.Name, "chunk "+string(c.ID)), Sections: c.Sections, Scenarios: c.Scenarios}
		for _, id := range c.DependsOn {
			// Keep a dependency only if chunk c is not completed and a chunk with this id exists.
			// [workflow.BuildRun.Resume] handles dependencies on unknown ids.
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

// StateError reports a build in the workflow state that cannot be continued.
type StateError struct{ Problem string }

func (e *StateError) Error() string {
	return "the build in the state cannot be continued: " + e.Problem
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *StateError) Invalid() bool { return true }

// Hint returns what the user can do next.
func (e *StateError) Hint() string { return "'gaffer build PLAN --fresh' starts anew" }

func (p Plan) task(c Chunk, s Start) plan.Task {
	t := plan.Task{
		ID: TaskName(c.ID), Name: label(c), Prompt: prompt(c, p.Priorities), Agent: cmp.Or(c.Agent, p.Agent), Model: cmp.Or(c.Model, p.Model),
		Limits: plan.Limits{Timeout: c.Timeout, Retries: defaultRetries}, QuestionRules: plan.QuestionRules{Questions: plan.QuestionPolicy(cmp.Or(p.Questions, string(plan.Ask)))},
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

// prompt returns the prompt for the agent that builds the chunk c.
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

// phase returns the name of the first phase that has an incomplete chunk. If all chunks are
// complete, it returns the name of the last phase, or "" if the build has no phases.
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
