package openfleet

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

// Asked is an open question, together with the fleet to which the answer must be sent.
type Asked struct {
	fleet.Question
	Server string `json:"server,omitempty"` // address of the fleet's server; empty for this machine
	// Terminal is true if the question can only be answered in the agent's own terminal. That is
	// so if the agent was started by a user, and its hook did not pass the question to gaffer.
	Terminal bool   `json:"terminal,omitempty"`
	Dir      string `json:"dir,omitempty"`  // folder in which the waiting agent works
	Pane     string `json:"pane,omitempty"` // the tmux pane of the waiting agent

	fleet Fleet
}

// Answer sends the user's answer to the fleet that has the question.
func (a Asked) Answer(ctx context.Context, reply fleet.Reply) error {
	return a.fleet.Answer(ctx, a.ID, reply)
}

// Unattended returns ok = true and the id of the question's run if the run is on this machine and
// no gaffer process works on it any more.
func (a Asked) Unattended(ctx context.Context) (run string, ok bool) {
	if a.Run == "" || a.fleet == nil || a.fleet.Where() != "" {
		return "", false
	}
	r, err := a.fleet.Run(ctx, a.Run)
	return a.Run, err == nil && r.Owner.Gone
}

// Line returns the question on one line, with a hint how to answer it.
func (a Asked) Line() string {
	if a.Terminal {
		return phrase.Line(a.Name) + " asks: " + phrase.Line(a.Text) + "; answer it in its own terminal"
	}
	return phrase.QuestionLine(a.Question)
}

// ByHand returns the online agents that users have started by hand, on this machine and in the
// fleet f. If everywhere is false, it leaves out agents of other projects, but not agents whose
// folder is unknown. An agent on this machine belongs to the command's project if its folder is in
// the project's folder. An agent on another machine belongs to it if the last element of its
// folder's path is the project's name.
func ByHand(ctx context.Context, e *env.Env, f Fleet, everywhere bool) ([]fleet.Worker, error) {
	opts, err := Options(e, nil)
	if err != nil {
		return nil, err
	}
	list, err := f.Workers(ctx)
	if err != nil {
		return nil, err
	}
	// A server learns about the agents on this machine only from a worker that runs here. There may
	// be no such worker, so add these agents.
	if f.Where() != "" {
		here, err := app.WorkersByHand(ctx, opts)
		if err != nil {
			return nil, err
		}
		list = fleet.MergeWorkers(list, here)
	}
	machine, _ := os.Hostname() // agents on this machine report this host name
	return slices.DeleteFunc(list, func(w fleet.Worker) bool {
		switch {
		case !w.ByHand || !w.Online():
			return true
		case everywhere || w.Dir == "":
			return false
		case w.Host == machine:
			return !opts.Project.Contains(w.Dir)
		}
		return path.Base(w.Dir) != opts.Config.ProjectName()
	}), nil
}

// Questions returns the open questions of a fleet, and those that the agents in byHand, which users
// have started by hand, ask only in their own terminals. The oldest question comes first.
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

// withPrompts returns list with an additional question for each agent in byHand that waits at its
// own prompt and has no question in list. It sorts the result by age, the oldest first.
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

// Everything holds the fleets that were searched for questions, and the open questions that were
// found.
type Everything struct {
	// Fleets holds the fleets of the configured server, if any, and of this machine. If a server is
	// configured and this machine has no database, it holds only the server's fleet.
	Fleets []Fleet
	Asked  []Asked // open questions of the fleets, the oldest first
	Failed error   // why the server did not answer; nil if it did
}

// WithQuestions collects the open questions of the configured server and of this machine, and calls
// fn with them. If the server does not answer, fn gets only this machine's questions, and the
// server's error is in Failed.
func WithQuestions(ctx context.Context, e *env.Env, fn func(Everything) error) (err error) {
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
	// known holds the ids of the questions found so far. If the server uses this machine's
	// database, both fleets return the same questions.
	known := map[string]bool{}
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
	return fn(all)
}

// fleetsOf opens the fleets to search for questions: that of the configured server, if any, and
// that of this machine. If a server is configured and this machine has no database yet, it opens
// only the server's fleet. Even if fleetsOf returns an error, the caller must close the returned
// fleets.
func fleetsOf(ctx context.Context, e *env.Env) (fleets []Fleet, err error) {
	f, err := OpenFleet(ctx, e, nil)
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
	if there, err := app.DatabaseExists(opts); err != nil || !there {
		return fleets, err
	}
	a, err := OpenApp(ctx, e, nil)
	if err != nil {
		return fleets, err
	}
	return append(fleets, LocalFleet(a)), nil
}
