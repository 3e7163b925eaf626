package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app/localrun"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/text/truncate"
)

// watchKind is the [store.ItemKey.Kind] of the database rows with the state of watched sources. The
// id of such a row consists of the name of the source and the path of the project.
const watchKind = "watched-source"

// watchState is what gaffer's servers store about a watched source, in which they look regularly
// for new items.
type watchState struct {
	LastLook time.Time `json:"last,omitzero"`
	NextLook time.Time `json:"next,omitzero"`
	Taken    int       `json:"taken,omitempty"`
	LastRun  string    `json:"run,omitempty"`
	Failures int       `json:"failures,omitempty"`
	Error    string    `json:"error,omitempty"`
}

func watchKey(name, project string) store.ItemKey {
	return store.ItemKey{Kind: watchKind, ID: name + " " + project}
}

// watchedProject returns the root folder of the project in which the tasks from a watched source
// work.
func (o Options) watchedProject(w config.WatchedSource) string {
	return cmp.Or(w.Project, o.Project.Root)
}

// List returns the watched sources in the user's settings, and the reports on ended tasks that were
// not sent to their sources yet.
func (s *Sources) List(ctx context.Context) (fleet.Sources, error) {
	list := fleet.Sources{Sources: []fleet.WatchedSource{}, Reports: []fleet.SourceReport{}}
	watched := s.app.opts.Config.Sources()
	for _, name := range slices.Sorted(maps.Keys(watched)) {
		w := watched[name]
		state, err := s.watchState(ctx, watchKey(name, s.app.opts.watchedProject(w)))
		if err != nil {
			return list, err
		}
		list.Sources = append(list.Sources, fleet.WatchedSource{
			Name: name, From: w.From, Plan: w.Plan, Project: s.app.opts.watchedProject(w), Every: w.Every.String(),
			LastLook: state.LastLook, NextLook: state.NextLook, Taken: state.Taken, LastRun: state.LastRun, Failures: state.Failures, Error: state.Error,
		})
	}
	reports, err := s.app.engine.ItemReports(ctx, "")
	for _, r := range reports {
		list.Reports = append(list.Reports, fleet.SourceReport{
			Run: r.Run, Task: r.Task, Source: r.Item.Source, Item: r.Item.ID, Status: fleet.Status(r.Status), Ended: r.Ended, Tries: r.Tries, Next: r.Next, Error: r.Error,
		})
	}
	return list, err
}

func (s *Sources) watchState(ctx context.Context, key store.ItemKey) (state watchState, err error) {
	err = s.app.store.Read(ctx, func(r store.Reader) error {
		item, err := r.Item(key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(item.Data, &state)
	})
	return state, err
}

// changeWatchState changes the state of a watched source in one transaction. It returns the new
// state.
func (s *Sources) changeWatchState(ctx context.Context, key store.ItemKey, change func(state *watchState, now time.Time)) (state watchState, err error) {
	err = s.app.engine.Do(ctx, "", func(tx *engine.Tx) error {
		state = watchState{}
		item, err := tx.Item(key)
		if err == nil {
			err = json.Unmarshal(item.Data, &state)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		change(&state, tx.Now())
		data, err := json.Marshal(state)
		if err != nil {
			return err
		}
		tx.PutItem(store.Item{ItemKey: key, Data: data, Made: tx.Now()})
		return nil
	})
	return state, err
}

const (
	watchTick = 5 * time.Second // how often a server checks whether it must look for new items in a source
	// watchPause is the pause after the first failed look at a source. The pause doubles with each
	// further failure, up to maxWatchPause or the interval in the source's settings, whichever is
	// shorter.
	watchPause    = time.Minute
	maxWatchPause = time.Hour
	// lookForReportsEvery is how often a server looks for reports on ended tasks that other
	// processes have stored but not sent, and sends them.
	lookForReportsEvery = 30 * time.Second
)

// watchSources looks for new items in each watched source, at the interval in the source's
// settings, until ctx ends. The function refusal returns nil if this server may start runs, and
// otherwise an error with the reason why not. Such an error counts as a failed look. After a failed
// look, watchSources stores and prints the error, and looks again after a pause.
func (s *Sources) watchSources(ctx context.Context, refusal func() error) {
	watched := s.app.opts.Config.Sources()
	for ; ctx.Err() == nil && len(watched) > 0; pause.For(ctx, watchTick) {
		for _, name := range slices.Sorted(maps.Keys(watched)) {
			s.lookIfDue(ctx, name, watched[name], refusal)
		}
	}
}

// lookIfDue looks for new items in a source if the next look is due. Several servers may share the
// database. So that only one of them looks, lookIfDue first stores when the following look is due.
func (s *Sources) lookIfDue(ctx context.Context, name string, w config.WatchedSource, refusal func() error) {
	key := watchKey(name, s.app.opts.watchedProject(w))
	if state, err := s.watchState(ctx, key); err == nil && state.NextLook.After(s.app.clock()()) {
		return
	}
	due := false
	before, err := s.changeWatchState(ctx, key, func(state *watchState, now time.Time) {
		if due = !state.NextLook.After(now); due {
			state.NextLook = now.Add(w.Every)
		}
	})
	if err != nil || !due {
		if err != nil && ctx.Err() == nil {
			s.app.opts.Notice(fmt.Sprintf("source %s: %v", name, err))
		}
		return
	}
	err = refusal()
	taken, run := 0, ""
	if err == nil {
		taken, run, err = s.look(ctx, name, w)
	}
	if ctx.Err() != nil {
		return
	}
	problem := ""
	if err != nil {
		problem = truncate.Bytes(strings.ReplaceAll(err.Error(), "\n", "; "), 1000)
		if problem != before.Error { // print each problem once, not after each look
			s.app.opts.Notice(fmt.Sprintf("source %s: %s; it is looked at again later", name, problem))
		}
	}
	_, err = s.changeWatchState(ctx, key, func(state *watchState, now time.Time) {
		state.LastLook, state.Error, state.Taken = now, problem, state.Taken+taken
		state.LastRun = cmp.Or(run, state.LastRun)
		state.Failures++
		if state.NextLook = now.Add(min(w.Every, watchPause<<min(state.Failures-1, 10), maxWatchPause)); problem == "" {
			state.Failures, state.NextLook = 0, now.Add(w.Every)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.app.opts.Notice(fmt.Sprintf("source %s: %v", name, err))
	}
}

// startedBySource returns the value of [store.Run.StartedBy] for runs with tasks from a source.
func startedBySource(name string) string { return "source " + name }

// look starts a run with tasks for the new items of a source. It returns the number of tasks and
// the id of this run. It also continues earlier runs for the source that no process works on, for
// example after the machine was restarted.
func (s *Sources) look(ctx context.Context, name string, w config.WatchedSource) (taken int, run string, err error) {
	continued := s.continueRuns(ctx, name)
	taken, run, err = s.takeNew(ctx, name, w)
	return taken, run, cmp.Or(err, continued)
}

// takeNew starts a run with tasks for the new items of a source. It returns the number of tasks and
// the id of the run. It returns 0 and "" if there are no new items, or if another process has made
// tasks from them in the meantime. It returns an error if this machine lacks something that the run
// needs, such as a program.
func (s *Sources) takeNew(ctx context.Context, name string, w config.WatchedSource) (taken int, run string, err error) {
	opts, err := s.app.opts.optionsOf(s.app.opts.watchedProject(w), "the source "+name)
	if err != nil {
		return 0, "", err
	}
	made, err := s.planIn(ctx, opts, SourceRequest{From: w.From, Plan: w.Plan, Dir: opts.Project.Root, Limit: w.Limit, Take: plan.TakeNew})
	if err != nil || len(made.Tasks) == 0 {
		return 0, "", err
	}
	problems, err := Preflight(ctx, opts, made.Plan)
	if err != nil {
		return 0, "", err
	}
	if len(problems) > 0 {
		return 0, "", errors.New(problems[0].String())
	}
	run, err = s.app.submit(ctx, made.Plan, engine.Submission{
		Project: opts.Project.Root, Who: startedBySource(name), StartedBy: startedBySource(name), Key: "source " + newID(),
	})
	if held := (*engine.ItemsHeldError)(nil); errors.As(err, &held) { // another process has made tasks from these items in the meantime
		return 0, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	summary, err := s.app.query.Summary(ctx, run)
	if err != nil {
		return 0, run, err
	}
	return summary.Counts.Total, run, s.app.Background.EnsureProcess(context.WithoutCancel(ctx), run)
}

// continueRuns makes sure that a process works on each unfinished run for a source. It skips runs
// on which this machine has never worked, because it cannot see whether a process on another
// machine works on them.
func (s *Sources) continueRuns(ctx context.Context, name string) error {
	var ids []string
	err := s.app.store.Read(ctx, func(r store.Reader) error {
		runs, err := r.RunningRuns()
		for _, run := range runs {
			if run.StartedBy == startedBySource(name) && filepath.IsAbs(run.Project) && s.app.locks.WorkedOn(run) {
				ids = append(ids, run.ID)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.app.Background.EnsureProcess(context.WithoutCancel(ctx), id); err != nil {
			return err
		}
	}
	return nil
}

// sendReportsRepeatedly sends the reports on ended tasks that other processes have stored but not
// sent, until ctx ends.
func (s *Sources) sendReportsRepeatedly(ctx context.Context) {
	for ; ctx.Err() == nil; pause.For(ctx, lookForReportsEvery) {
		if _, _, err := s.SendReports(ctx, false); err != nil && ctx.Err() == nil {
			s.app.opts.Notice(fmt.Sprintf("reports to sources: %v", err))
		}
	}
}

// watchRefusal returns a function that checks whether this server may start runs for watched
// sources. The function returns nil if the server may, and otherwise an error with the reason why
// not.
func (s *Sources) watchRefusal(o ServerOptions) func() error {
	return func() error {
		if o.WorkersOnly {
			return errors.New("this server starts no runs on its machine; --workers-only=false allows it")
		}
		return localrun.CheckDetach(s.app.opts.Getenv)
	}
}
