package connect

import (
	"cmp"
	"context"
	"os"
	"path"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/ui/phrase"
)

// Asked is an open question and where it can be answered.
type Asked struct {
	fleet.Question
	Server string `json:"server,omitempty"` // empty for this machine
	// Terminal is set if only the agent's own terminal takes the answer: a user has
	// started the agent, and the setting hooks.answer_within is 0.
	Terminal bool   `json:"terminal,omitempty"`
	Dir      string `json:"dir,omitempty"`  // where that agent works
	Pane     string `json:"pane,omitempty"` // of tmux

	fleet Fleet
}

// Answer answers the question where it was asked.
func (a Asked) Answer(ctx context.Context, text string, deny bool) error {
	return a.fleet.Answer(ctx, a.ID, text, deny)
}

// Unattended returns the run of the question if it is a run of this machine that no
// gaffer works on.
func (a Asked) Unattended(ctx context.Context) (run string, ok bool) {
	if a.Run == "" || a.fleet == nil || a.fleet.Where() != "" {
		return "", false
	}
	r, err := a.fleet.Run(ctx, a.Run)
	return a.Run, err == nil && r.Owner.Gone
}

// Line is the question in a line, with how it is answered.
func (a Asked) Line() string {
	if a.Terminal {
		return phrase.Line(a.Name) + " asks: " + phrase.Line(a.Text) + "; answer it in its own terminal"
	}
	return phrase.Asks(a.Question)
}

// ByHand are the agents that users have started: those of this machine, and those
// that the fleet knows of. Without everywhere, only those in the project count: on
// this machine by their folder, elsewhere by its name.
func ByHand(ctx context.Context, e *env.Env, f Fleet, everywhere bool) ([]fleet.Worker, error) {
	opts, err := Options(e, nil)
	if err != nil {
		return nil, err
	}
	list, err := f.Workers(ctx)
	if err != nil {
		return nil, err
	}
	if f.Where() != "" { // a server hears of this machine's agents only from a worker here
		here, err := app.WorkersByHand(ctx, opts)
		if err != nil {
			return nil, err
		}
		list = fleet.MergeWorkers(list, here)
	}
	machine, _ := os.Hostname() // as the agents' workers are told
	return slices.DeleteFunc(list, func(w fleet.Worker) bool {
		switch {
		case !w.ByHand || !w.Online():
			return true
		case everywhere || w.Dir == "":
			return false
		case w.Host == machine:
			return !opts.Project.Holds(w.Dir)
		}
		return path.Base(w.Dir) != opts.Config.ProjectName()
	}), nil
}

// Questions are the open questions of a fleet, and what the given agents that users
// have started wait for at their own prompts, the oldest first.
func Questions(ctx context.Context, f Fleet, byHand []fleet.Worker) ([]Asked, error) {
	list, err := questionsOf(ctx, f)
	return withPrompts(list, byHand), err
}

func questionsOf(ctx context.Context, f Fleet) (list []Asked, err error) {
	questions, err := f.Questions(ctx)
	for _, q := range questions {
		list = append(list, Asked{Question: q, Server: f.Where(), fleet: f})
	}
	return list, err
}

// withPrompts adds what agents wait for whose question is not in the list.
func withPrompts(list []Asked, byHand []fleet.Worker) []Asked {
	for _, w := range byHand {
		asked := slices.ContainsFunc(list, func(a Asked) bool { return a.Name == w.Name })
		if w.ClaudeStatus == "waiting" && !asked {
			q := fleet.Question{Name: w.Name, Task: w.Name, Text: w.For, Asked: w.ClaudeSince}
			list = append(list, Asked{Question: q, Terminal: true, Dir: w.Dir, Pane: w.Pane})
		}
	}
	slices.SortStableFunc(list, func(a, b Asked) int { return a.Asked.Compare(b.Asked) })
	return list
}

// Everything is what can be asked from here about questions.
type Everything struct {
	Fleets []Fleet // the server that is named, and this machine
	Asked  []Asked // every open question of them, the oldest first
	Failed error   // why the server could not be asked
}

// WithQuestions collects every open question: of the server that is named and of
// this machine. A server that cannot be asked does not hide what this machine asks.
func WithQuestions(ctx context.Context, e *env.Env, do func(Everything) error) (err error) {
	fleets, err := fleetsOf(ctx, e)
	defer func() {
		for _, f := range fleets {
			if closed := f.Close(); err == nil {
				err = closed
			}
		}
	}()
	if err != nil {
		return err
	}
	opts, err := Options(e, nil)
	if err != nil {
		return err
	}
	all := Everything{Fleets: fleets}
	var byHand []fleet.Worker
	known := map[string]bool{} // the server may have this machine's database
	for _, f := range fleets {
		list, err := questionsOf(ctx, f)
		workers, failed := f.Workers(ctx)
		if err = cmp.Or(err, failed); err != nil && f.Where() == "" {
			return err
		}
		all.Failed = cmp.Or(all.Failed, err)
		byHand = fleet.MergeWorkers(byHand, workers)
		for _, a := range list {
			if !known[a.ID] {
				known[a.ID] = true
				all.Asked = append(all.Asked, a)
			}
		}
	}
	here, err := app.WorkersByHand(ctx, opts)
	if err != nil {
		return err
	}
	byHand = fleet.MergeWorkers(byHand, here)
	all.Asked = withPrompts(all.Asked, slices.DeleteFunc(byHand, func(w fleet.Worker) bool { return !w.ByHand || !w.Online() }))
	return do(all)
}

// fleetsOf opens the server that is named, and this machine if it has a database.
func fleetsOf(ctx context.Context, e *env.Env) (fleets []Fleet, err error) {
	f, err := New(ctx, e, nil)
	if err != nil {
		return nil, err
	}
	if fleets = append(fleets, f); f.Where() == "" {
		return fleets, nil
	}
	opts, err := Options(e, nil)
	if err != nil {
		return fleets, err
	}
	if there, err := app.Exists(opts); err != nil || !there {
		return fleets, err
	}
	a, err := App(ctx, e, nil)
	if err != nil {
		return fleets, err
	}
	return append(fleets, Here(a)), nil
}
