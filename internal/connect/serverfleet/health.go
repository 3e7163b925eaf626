package serverfleet

import (
	"context"
	"errors"
	"slices"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// Health describes the state of a server, as [Fleet.Doctor] has found it.
type Health struct {
	Server    string           `json:"server"`
	Version   string           `json:"version,omitempty"`
	Name      string           `json:"name,omitempty"` // name of the access token that this client uses
	Role      string           `json:"role,omitempty"` // role of this token, for example operator or viewer
	Project   string           `json:"project"`
	Workers   []Worker         `json:"workers"`
	Runs      []fleet.Run      `json:"runs"` // unfinished runs, without their tasks
	Questions []fleet.Question `json:"questions"`
	Lanes     []fleet.Lane     `json:"lanes"` // paused agent accounts, and cost limits that are reached
	Advice    []string         `json:"advice"`
}

// Doctor examines a server. It returns an error if the server cannot be reached.
func (f *Fleet) Doctor(ctx context.Context) (Health, error) {
	h := Health{
		Server: f.opts.Address, Project: f.opts.Project,
		Workers: []Worker{}, Runs: []fleet.Run{}, Questions: []fleet.Question{}, Lanes: []fleet.Lane{}, Advice: []string{},
	}
	self, err := f.client.Self(ctx)
	if err != nil && !lacksRoute(err) {
		return h, f.problem(err)
	}
	h.Version, h.Name, h.Role = self.Version, self.Name, self.Role
	if h.Workers, err = f.Workers(ctx); err != nil {
		return h, err
	}
	runs, err := f.client.Runs.List(ctx, coordinator.RunQuery{Limit: coordinator.MaxRuns})
	if err != nil {
		return h, f.problem(err)
	}
	questions, err := f.Questions(ctx)
	if err != nil {
		return h, err
	}
	h.Runs, h.Questions = append(h.Runs, runs...), append(h.Questions, questions...)
	h.Lanes = append(h.Lanes, lanesOf(runs)...)
	h.Advice = append(h.Advice, h.advice()...)
	return h, nil
}

// lacksRoute reports whether a request failed because the server has no HTTP route for it. This
// happens if the server is older than this gaffer.
func lacksRoute(err error) bool {
	refusal, ok := errors.AsType[*coordinator.Error](err)
	return ok && refusal.NotFound()
}

func lanesOf(runs []fleet.Run) (lanes []fleet.Lane) {
	for _, r := range runs {
		for _, l := range r.Lanes {
			if !slices.ContainsFunc(lanes, func(known fleet.Lane) bool { return known.Name == l.Name }) {
				lanes = append(lanes, l)
			}
		}
	}
	return lanes
}

// Projects returns the names of the projects that online workers serve, each with the number of
// tasks that these workers can run at the same time.
func (h Health) Projects() map[string]int {
	slots := map[string]int{}
	for _, w := range h.Workers {
		for _, project := range w.Projects() {
			if w.Online() {
				slots[project] += max(w.Slots, 1)
			}
		}
	}
	return slots
}

// advice returns advice for the user: one sentence for each problem that h shows.
func (h Health) advice() (list []string) {
	online := h.Projects()
	if h.Role == "viewer" || h.Role == "worker" {
		list = append(list, "your token is a "+h.Role+"'s, which may not run, cancel or answer: 'gaffer token create --role operator' makes one that may")
	}
	if online[h.Project] == 0 {
		list = append(list, "no worker of project "+h.Project+" is online: 'gaffer worker' in a checkout of it starts one")
	}
	waiting := map[string]bool{}
	for _, r := range h.Runs {
		if r.Project != h.Project && r.Project != "" && online[r.Project] == 0 && !waiting[r.Project] {
			waiting[r.Project] = true
			list = append(list, "run "+r.ID+" waits for a worker of project "+r.Project)
		}
	}
	if len(h.Questions) > 0 {
		list = append(list, "agents wait for the user: 'gaffer answer' lists their questions")
	}
	return list
}
