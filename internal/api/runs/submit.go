package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/plan"
	"gaffer/session"
)

// ProjectLabel returns the label that the tasks and workers of a project have.
func ProjectLabel(project string) string { return "project:" + project }

// Submit implements [server.Runs]. It tries random run ids until one is free.
func (d *runChanger) Submit(ctx context.Context, by credential.Identity, n coordinator.NewRun) (fleet.Run, error) {
	if err := mayChange(by); err != nil {
		return fleet.Run{}, err
	}
	p, err := planOf(n)
	if err != nil {
		return fleet.Run{}, err
	}
	for {
		id, err := session.NewID(d.now(), d.random)
		if err != nil {
			return fleet.Run{}, err
		}
		s := engine.Submission{Plan: p, ID: id, Project: n.Project, OnlyWorker: n.On, Who: clientName(by)}
		if n.Key != "" {
			// Store the key together with the id of the client's token, so that clients with
			// different tokens may send the same key.
			s.Key = "run " + by.ID + " " + n.Key
		}
		if d.addMergeTasks != nil {
			if s.Plan, err = d.addMergeTasks(p, id); err != nil {
				return fleet.Run{}, err
			}
		}
		s.Plan.Tasks = slices.Clone(s.Plan.Tasks)
		for i, t := range s.Plan.Tasks {
			s.Plan.Tasks[i].Labels = append(slices.Clip(t.Labels), ProjectLabel(n.Project))
		}
		id, err = d.engine.Submit(ctx, s)
		if _, taken := errors.AsType[*engine.ConflictError](err); taken {
			continue
		}
		if err != nil {
			return fleet.Run{}, err
		}
		return d.query.Summary(ctx, id)
	}
}

func clientName(by credential.Identity) string { return cmp.Or(by.Name, by.ID) }

// planOf decodes and checks the submitted plan.
func planOf(n coordinator.NewRun) (plan.Plan, error) {
	if err := cmp.Or(checkLabel("project", n.Project, true), checkLabel("on", n.On, false)); err != nil {
		return plan.Plan{}, err
	}
	if hasZero(n.Plan) {
		return plan.Plan{}, protocol.Invalid("plan: has a zero byte in a text")
	}
	p, err := decodePlan(n.Plan)
	if err != nil {
		return p, err
	}
	p.Warnings = nil // do not store warnings that the client has sent
	if err := p.Check(); err != nil {
		return p, protocol.Invalid("plan: %s", err)
	}
	return p, checkSubmittable(p, n.On)
}

// checkLabel returns an error if name cannot be part of a label. An empty name is an error only if
// required is true. field is the name of the request's field, for the error message.
func checkLabel(field, name string, required bool) error {
	switch {
	case name == "" && required:
		return protocol.Invalid("%s: is missing", field)
	case strings.ContainsAny(name, "@,"):
		return protocol.Invalid("%s: %.60q has an @ or a comma", field, name)
	}
	return nil
}

// checkSubmittable returns an error if clients may not submit the plan:
//   - The plan is for a team of agents or for a build, which need a process on their own machine.
//   - All tasks must run on the same machine, but the request does not name a worker in on.
//   - A task has the field Step or a label that only gaffer itself may set.
func checkSubmittable(p plan.Plan, on string) error {
	if len(p.Team) > 0 || len(p.Build) > 0 {
		return protocol.Invalid("plan: a team or a build is conducted by the machine that it runs on, and cannot be submitted")
	}
	if what := p.OneMachineReason(); what != "" && on == "" {
		return protocol.Invalid("plan: %s is on one machine: say on which worker (on, or --on WORKER)", what)
	}
	for _, t := range p.Tasks {
		if len(t.Step) > 0 {
			return protocol.Invalid("plan: task %s is a step of something else", t.ID)
		}
		for _, label := range t.Labels {
			if kind, _, ok := strings.Cut(label, ":"); ok && slices.Contains([]string{"project", "channel"}, kind) {
				return protocol.Invalid("plan: task %s: the label %.60q is given by the coordinator", t.ID, label)
			}
		}
	}
	return nil
}

// hasZero reports whether a string in the JSON text contains a zero byte, written as \u0000.
func hasZero(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(text[i:], []byte(`\u0000`)) {
			return true
		}
		i++ // skip the escaped character
	}
	return false
}

// sentPlan is a plan whose tasks are decoded one by one, so that a plan with too many tasks is
// rejected before it uses much memory. A decoded task may need much more memory than its JSON.
type sentPlan struct {
	Version int `json:"Version"`
	plan.Plan
	Tasks sentTasks `json:"Tasks"`
}

type sentTasks []plan.Task

const (
	maxTasks      = 100_000
	maxReferences = 1_000_000
)

// UnmarshalJSON decodes the tasks. It returns an error as soon as there are more than maxTasks
// tasks, or more than maxReferences dependencies in total.
func (s *sentTasks) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	if open, err := in.Token(); err != nil || open != json.Delim('[') {
		return cmp.Or(err, errors.New("tasks: want a list"))
	}
	references := 0
	for in.More() {
		var t plan.Task
		if err := in.Decode(&t); err != nil {
			return err
		}
		references += len(t.After)
		if len(*s) == maxTasks || references > maxReferences {
			return errors.New("tasks: there are too many, or they wait for too many")
		}
		*s = append(*s, t)
	}
	return nil
}

func decodePlan(text json.RawMessage) (plan.Plan, error) {
	var sent sentPlan
	if len(text) == 0 || string(text) == "null" {
		return plan.Plan{}, protocol.Invalid("plan: is missing")
	}
	err := json.Unmarshal(text, &sent)
	if newer := plan.CheckVersion(sent.Version); newer != nil {
		err = newer
	}
	if err != nil {
		return plan.Plan{}, protocol.Invalid("plan: %s", err)
	}
	p := sent.Plan
	p.Tasks = sent.Tasks
	return p, nil
}
