// Package schedulerun keeps schedules in the store and starts their runs. The rules of schedules
// are in package schedule.
//
// For each decision, one transaction records which planned times were decided, and which process
// starts the run. This process then submits the run with an idempotency key, which is made of the
// schedule and the planned time. So a crash at any point neither loses a run nor starts it twice.
// If this process dies before the run exists, another process of the same user on the same machine
// submits the run again. The key ensures that there is only one run.
package schedulerun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/pause"
)

// Options holds the settings and dependencies of the type Schedules.
type Options struct {
	Store   store.Store
	Engine  *engine.Engine
	Now     func() time.Time
	NewID   func() string
	Machine string // name of this machine; only its schedules are started
	User    string // name of the user of this process; only the user's schedules are started
	// Start submits the run of a schedule and returns its id. Calls with the same key return the
	// same run.
	Start func(ctx context.Context, s schedule.Schedule, key string) (run string, err error)
	// EnsureProcess starts a process that works on a run, unless there already is one.
	EnsureProcess func(ctx context.Context, run string) error
	Notice        func(text string)
}

// Schedules reads, changes and starts the schedules of a store. It is safe for concurrent use.
type Schedules struct {
	opts   Options
	holder string // id of this process, under which it holds leases for starting runs

	mu      sync.Mutex
	retries map[string]retry // next try to start a process for a run, by run id
}

// New returns the schedules of a store.
func New(opts Options) *Schedules {
	return &Schedules{opts: opts, holder: opts.NewID(), retries: map[string]retry{}}
}

// The store keeps each schedule as an item, a JSON document with a kind and an id. The constants
// kind and removedKind are the kinds of the items for existing and for removed schedules. The id of
// the item of an existing schedule is the schedule's name. The id of the item of a removed schedule
// is the schedule's id, because several removed schedules can have the same name.
const (
	kind        = "schedule"
	removedKind = "schedule-removed"
	parent      = "all"
	maxCount    = 1000 // the maximum number of schedules
)

// ConflictError rejects a change that the state of the schedules does not allow.
type ConflictError struct{ What, Next string }

func (e *ConflictError) Error() string { return e.What }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ConflictError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ConflictError) Hint() string { return e.Next }

// NotFoundError reports that no schedule has this name.
type NotFoundError struct{ Name, Next string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("no schedule is called %q", e.Name) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *NotFoundError) Hint() string { return e.Next }

// Add stores a new schedule for this machine and this user. Planned times before now do not count
// as missed. Add returns a [*ConflictError] if the name is taken, or if there are too many
// schedules.
func (s *Schedules) Add(ctx context.Context, n schedule.Schedule) (fleet.Schedule, error) {
	if err := schedule.CheckName(n.Name); err != nil {
		return fleet.Schedule{}, err
	}
	if _, err := n.Times(); err != nil {
		return fleet.Schedule{}, err
	}
	n.Machine, n.User = s.opts.Machine, s.opts.User
	err := s.opts.Engine.Do(ctx, "", func(tx *engine.Tx) error {
		all, err := tx.Items(kind, parent, 0, maxCount)
		if err != nil {
			return err
		}
		if len(all) >= maxCount {
			return &ConflictError{fmt.Sprintf("there are %d schedules already", maxCount), "'gaffer schedule remove' makes room"}
		}
		if taken(tx, n.Name) {
			return &ConflictError{fmt.Sprintf("there is a schedule %q already", n.Name), "choose another name with --name, or remove it with 'gaffer schedule remove'"}
		}
		n.ID, n.Added, n.Through = tx.NewID(), tx.Now(), tx.Now()
		return put(tx, n)
	})
	if err != nil {
		return fleet.Schedule{}, err
	}
	return s.Get(ctx, n.Name)
}

func taken(tx *engine.Tx, name string) bool {
	_, err := tx.Item(store.ItemKey{Kind: kind, ID: name})
	return err == nil
}

func put(tx *engine.Tx, n schedule.Schedule) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: kind, ID: n.Name}, Parent: parent, Seq: 1, Data: data, Made: tx.Now()})
	return nil
}

// itemReader reads an item of the store. [store.Reader] and [engine.Tx] implement this interface.
type itemReader interface {
	Item(key store.ItemKey) (store.Item, error)
}

func get(r itemReader, name string) (n schedule.Schedule, err error) {
	item, err := r.Item(store.ItemKey{Kind: kind, ID: name})
	if errors.Is(err, store.ErrNotFound) {
		return n, &NotFoundError{name, "'gaffer schedule list' lists them"}
	}
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(item.Data, &n)
}

// List returns the schedules, ordered by name. If removed is set, it returns instead the removed
// schedules that can be restored.
func (s *Schedules) List(ctx context.Context, removed bool) (list []fleet.Schedule, err error) {
	list = []fleet.Schedule{}
	now := s.opts.Now()
	err = s.opts.Store.Read(ctx, func(r store.Reader) error {
		list = list[:0]
		all, err := read(r, removed)
		for _, n := range all {
			if removed && now.Sub(n.Removed) > schedule.RestoreWithin {
				continue
			}
			list = append(list, s.view(r, n, now))
		}
		return err
	})
	return list, err
}

// NotStarted returns the planned times without a run: those that were skipped, and those whose run
// could not be started. The earliest comes first. NotStarted ignores planned times about which
// gaffer decided before the time since. If project is empty, it considers the schedules of all
// projects.
func NotStarted(r store.Reader, project string, since time.Time) (list []fleet.MorningFire, err error) {
	all, err := read(r, false)
	for _, n := range all {
		if project != "" && n.Project != project {
			continue
		}
		for _, f := range n.Fires {
			if (f.Status == fleet.FireFailed || f.Status == fleet.FireSkipped) && !f.Decided.Before(since) {
				list = append(list, fleet.MorningFire{Schedule: n.Name, Planned: f.Planned, Count: f.Count, Status: f.Status, Why: f.Why})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b fleet.MorningFire) int { return a.Planned.Compare(b.Planned) })
	return list, err
}

func read(r store.Reader, removed bool) (list []schedule.Schedule, err error) {
	of := kind
	if removed {
		of = removedKind
	}
	items, err := r.Items(of, parent, 0, maxCount)
	for _, item := range items {
		var n schedule.Schedule
		if err := json.Unmarshal(item.Data, &n); err != nil {
			return nil, fmt.Errorf("schedule %s: %w", item.ID, err)
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b schedule.Schedule) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func (s *Schedules) view(r store.Reader, n schedule.Schedule, now time.Time) fleet.Schedule {
	return n.View(now, func(run string) fleet.Status {
		row, err := r.Run(run)
		if err != nil {
			return "" // the run was deleted
		}
		return fleet.Status(row.Status)
	})
}

// Get returns a schedule by its name.
func (s *Schedules) Get(ctx context.Context, name string) (v fleet.Schedule, err error) {
	err = s.opts.Store.Read(ctx, func(r store.Reader) error {
		n, err := get(r, name)
		if err == nil {
			v = s.view(r, n, s.opts.Now())
		}
		return err
	})
	return v, err
}

// change replaces a schedule by the result of the function fn, in one transaction. It returns the
// stored schedule.
func (s *Schedules) change(ctx context.Context, name string, fn func(tx *engine.Tx, n schedule.Schedule) (schedule.Schedule, error)) (fleet.Schedule, error) {
	err := s.opts.Engine.Do(ctx, "", func(tx *engine.Tx) error {
		n, err := get(tx, name)
		if err != nil {
			return err
		}
		if n, err = fn(tx, n); err != nil {
			return err
		}
		return put(tx, n)
	})
	if err != nil {
		return fleet.Schedule{}, err
	}
	return s.Get(ctx, name)
}

// Pause pauses a schedule, so that no runs start at its planned times. Runs that have started
// continue.
func (s *Schedules) Pause(ctx context.Context, name string) (fleet.Schedule, error) {
	return s.change(ctx, name, func(_ *engine.Tx, n schedule.Schedule) (schedule.Schedule, error) { return n.Pause(), nil })
}

// Resume lets a paused schedule continue. Planned times during the pause have no runs.
func (s *Schedules) Resume(ctx context.Context, name string) (fleet.Schedule, error) {
	return s.change(ctx, name, func(tx *engine.Tx, n schedule.Schedule) (schedule.Schedule, error) {
		if !n.Paused {
			return n, nil
		}
		return n.Resume(tx.Now()), nil
	})
}

// Export records that another program, such as systemd or cron, starts the runs of a schedule
// instead of 'gaffer serve'. The parameter program is the name of that program. If it is empty,
// 'gaffer serve' starts the runs again, and planned times up to now do not count as missed.
func (s *Schedules) Export(ctx context.Context, name, program string) (fleet.Schedule, error) {
	return s.change(ctx, name, func(tx *engine.Tx, n schedule.Schedule) (schedule.Schedule, error) {
		if n.Exporter != "" && program == "" && !n.Paused {
			n = n.Resume(tx.Now())
		}
		n.Exporter = program
		return n, nil
	})
}

// Remove removes a schedule. Runs that have started continue. The schedule can be restored within
// the time [schedule.RestoreWithin].
func (s *Schedules) Remove(ctx context.Context, name string) error {
	return s.opts.Engine.Do(ctx, "", func(tx *engine.Tx) error {
		n, err := get(tx, name)
		if err != nil {
			return err
		}
		if err := s.forgetOld(tx); err != nil {
			return err
		}
		n = n.Remove(tx.Now())
		data, err := json.Marshal(n)
		if err != nil {
			return err
		}
		tx.DropItem(store.ItemKey{Kind: kind, ID: name})
		tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: removedKind, ID: n.ID}, Parent: parent, Seq: 1, Data: data, Made: tx.Now()})
		return nil
	})
}

// forgetOld deletes removed schedules that can no longer be restored.
func (s *Schedules) forgetOld(tx *engine.Tx) error {
	items, err := tx.Items(removedKind, parent, 0, maxCount)
	for _, item := range items {
		if tx.Now().Sub(item.Made) > schedule.RestoreWithin {
			tx.DropItem(item.ItemKey)
		}
	}
	return err
}

// Restore brings back the removed schedule with this name. If several removed schedules have this
// name, it brings back the one that was removed last.
func (s *Schedules) Restore(ctx context.Context, name string) (fleet.Schedule, error) {
	err := s.opts.Engine.Do(ctx, "", func(tx *engine.Tx) error {
		if taken(tx, name) {
			return &ConflictError{fmt.Sprintf("there is a schedule %q already", name), "remove it first; the removed one is kept for 30 days"}
		}
		items, err := tx.Items(removedKind, parent, 0, maxCount)
		if err != nil {
			return err
		}
		var last schedule.Schedule
		for _, item := range items {
			var n schedule.Schedule
			if err := json.Unmarshal(item.Data, &n); err != nil {
				return err
			}
			if n.Name == name && n.Removed.After(last.Removed) && tx.Now().Sub(n.Removed) <= schedule.RestoreWithin {
				last = n
			}
		}
		if last.ID == "" {
			return &NotFoundError{name, "'gaffer schedule list --removed' lists those that can be restored"}
		}
		tx.DropItem(store.ItemKey{Kind: removedKind, ID: last.ID})
		return put(tx, last.Restore(tx.Now()))
	})
	if err != nil {
		return fleet.Schedule{}, err
	}
	return s.Get(ctx, name)
}

// mine reports whether this process may start the runs of a schedule: the schedule must belong to
// this machine and to the user of this process.
func (s *Schedules) mine(n schedule.Schedule) bool {
	return n.Machine == s.opts.Machine && n.User == s.opts.User
}

// notMine returns the error for a schedule that this process may not start.
func notMine(n schedule.Schedule) error {
	return &ConflictError{fmt.Sprintf("schedule %s belongs to user %s on machine %s", n.Name, n.User, n.Machine), "run the command there"}
}

// decide decides which planned times of a schedule up to now get runs, and stores the result. It
// returns the ids of the entries in the schedule's log Fires whose runs this process must start.
func (s *Schedules) decide(ctx context.Context, name string) (decided schedule.Schedule, start []string, err error) {
	err = s.opts.Engine.Do(ctx, "schedule "+name, func(tx *engine.Tx) error {
		n, err := get(tx, name)
		if err != nil {
			return err
		}
		var unread error
		known := map[string]bool{}
		for _, f := range n.Fires {
			known[f.ID] = true
		}
		decided, start, err = n.Decide(schedule.Decision{Now: tx.Now(), Holder: s.holder, Active: func(run string) bool {
			row, err := tx.Run(run)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				unread = err
			}
			return err == nil && !row.Status.Final()
		}})
		if err := cmp.Or(err, unread); err != nil {
			return err
		}
		for _, f := range decided.Fires {
			if f.Status == fleet.FireSkipped && !known[f.ID] {
				if err := record(tx, decided, f); err != nil {
					return err
				}
			}
		}
		return put(tx, decided)
	})
	return decided, start, err
}

// FireRow is the content of an event about a planned or requested run of a schedule.
type FireRow struct {
	Schedule string     `json:"schedule"`
	Project  string     `json:"project"`
	Fire     fleet.Fire `json:"fire"`
}

// record appends an event about f, an entry in the schedule's log Fires. The status of f must be
// final: started, failed or skipped.
func record(tx *engine.Tx, n schedule.Schedule, f fleet.Fire) error {
	return tx.Event(store.Event{Kind: "schedule." + string(f.Status), To: string(f.Status), Why: f.Why}, FireRow{n.Name, n.Project, f})
}

// end applies the function change to the schedule with this name. The parameter fire is the id of
// the entry in the schedule's log Fires that change modifies. If the new status of this entry is
// final, end also appends an event about it. end does nothing if the schedule was removed or if
// change returns false.
func (s *Schedules) end(ctx context.Context, name, fire string, change func(schedule.Schedule) (schedule.Schedule, bool)) error {
	return s.opts.Engine.Do(ctx, "schedule "+name, func(tx *engine.Tx) error {
		n, err := get(tx, name)
		if _, gone := errors.AsType[*NotFoundError](err); gone {
			return nil // the schedule was removed; its run continues
		}
		if err != nil {
			return err
		}
		n, changed := change(n)
		if !changed {
			return nil
		}
		if f, ok := n.Fire(fire); ok && f.Status.Final() {
			if err := record(tx, n, f); err != nil {
				return err
			}
		}
		return put(tx, n)
	})
}

const (
	startTimeout = 10 * time.Minute        // how long it may take to read a plan and to submit its run
	renewEvery   = schedule.StartLease / 3 // interval between renewals of the lease for starting a run
)

// NothingError reports that a plan has no task to run. The schedule of the plan does not count this
// as a failure.
type NothingError struct{ Why string }

func (e *NothingError) Error() string { return e.Why }

// isNothing reports whether err means that a run was not started because there is nothing to do.
// One such case is that another run has already taken the items, such as issues, from which tasks
// should be made.
func isNothing(err error) bool {
	_, nothing := errors.AsType[*NothingError](err)
	_, held := errors.AsType[*engine.ItemsHeldError](err)
	return nothing || held
}

// start submits a run of the schedule n and records the outcome. The parameter fire is the id of
// the run's entry in the log n.Fires. This process must have the lease for starting the run. If
// there is nothing to do, start returns "" and no error. If ctx ends before the run exists, start
// ends the lease, so that another process can start the run.
func (s *Schedules) start(ctx context.Context, n schedule.Schedule, fire string) (run string, err error) {
	within, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	renewed := make(chan struct{})
	renewing, stop := context.WithCancel(within)
	go func() {
		defer close(renewed)
		for pause.For(renewing, renewEvery) {
			// If the renewal fails, another process may submit the run too. Both use the same
			// idempotency key, so only one run exists.
			_ = s.renew(renewing, n.Name, fire, schedule.StartLease)
		}
	}()
	run, err = s.opts.Start(within, n, n.Key(fire))
	stop()
	<-renewed
	if errors.Is(err, context.DeadlineExceeded) && within.Err() != nil {
		err = fmt.Errorf("the plan was not read within %s: %w", startTimeout, err)
	}
	after := context.WithoutCancel(ctx)
	if err != nil && ctx.Err() != nil {
		return "", errors.Join(err, s.renew(after, n.Name, fire, 0))
	}
	recorded := s.end(after, n.Name, fire, func(n schedule.Schedule) (schedule.Schedule, bool) {
		switch {
		case isNothing(err):
			return n.NothingToDo(fire, err.Error())
		case err != nil:
			return n.Failed(fire, err.Error())
		}
		return n.Started(fire, run)
	})
	if isNothing(err) {
		err = nil
	}
	return run, cmp.Or(err, recorded)
}

func (s *Schedules) renew(ctx context.Context, name, fire string, lease time.Duration) error {
	return s.opts.Engine.Do(ctx, "", func(tx *engine.Tx) error {
		n, err := get(tx, name)
		if err != nil {
			return err
		}
		n, changed := n.Renew(fire, s.holder, tx.Now(), lease)
		if !changed {
			return nil
		}
		return put(tx, n)
	})
}

// RunNow starts a run of a schedule at once, whatever its planned times are. The parameter by is
// the user who asks for the run; empty means the user of this process. RunNow returns the run's
// entry in the schedule's log Fires. It also returns an error if the run, or the process that works
// on it, could not be started.
func (s *Schedules) RunNow(ctx context.Context, name, by string) (fleet.Fire, error) {
	by = cmp.Or(by, s.opts.User)
	var n schedule.Schedule
	id := "now-" + s.opts.NewID()
	err := s.opts.Engine.Do(ctx, by, func(tx *engine.Tx) (err error) {
		if n, err = get(tx, name); err != nil {
			return err
		}
		if !s.mine(n) {
			return notMine(n)
		}
		n = n.RunNow(id, by, s.holder, tx.Now())
		return put(tx, n)
	})
	if err != nil {
		return fleet.Fire{}, err
	}
	return s.startAndShow(ctx, n, id)
}

// startAndShow starts a run of the schedule n, and a process that works on the run. The parameter
// fire is the id of the run's entry in the log n.Fires. startAndShow returns this entry, which then
// says whether the run was started.
func (s *Schedules) startAndShow(ctx context.Context, n schedule.Schedule, fire string) (fleet.Fire, error) {
	run, err := s.start(ctx, n, fire)
	if err == nil && run != "" {
		err = s.opts.EnsureProcess(context.WithoutCancel(ctx), run)
	}
	v, readErr := s.Get(context.WithoutCancel(ctx), n.Name)
	if err := cmp.Or(err, readErr); readErr != nil {
		return fleet.Fire{}, err
	}
	i := slices.IndexFunc(v.Fires, func(f fleet.Fire) bool { return f.ID == fire })
	if i < 0 {
		return fleet.Fire{}, err
	}
	return v.Fires[i], err
}

// Fire decides which planned times of one schedule up to now get runs, and starts the runs that
// need not wait for an earlier run. It is for programs such as cron, which start gaffer at each
// planned time. If the schedule has a jitter, Fire first waits for the delayed start time. It
// returns the entries of the schedule's log Fires that are new or whose runs it has tried to start.
func (s *Schedules) Fire(ctx context.Context, name string) (fires []fleet.Fire, err error) {
	n, err := s.stored(ctx, name)
	if err != nil {
		return nil, err
	}
	if !s.mine(n) {
		return nil, notMine(n)
	}
	if err := s.waitForDelay(ctx, n); err != nil {
		return nil, err
	}
	before := map[string]bool{}
	for _, f := range n.Fires {
		before[f.ID] = true
	}
	decided, start, err := s.decide(ctx, name)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, f := range decided.Fires {
		switch {
		case slices.Contains(start, f.ID):
			shown, err := s.startAndShow(ctx, decided, f.ID)
			failed = cmp.Or(failed, err)
			fires = append(fires, shown)
		case !before[f.ID]:
			fires = append(fires, f)
		}
	}
	return fires, failed
}

func (s *Schedules) stored(ctx context.Context, name string) (n schedule.Schedule, err error) {
	err = s.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		n, err = get(r, name)
		return err
	})
	return n, err
}

// waitForDelay waits as long as the schedule's jitter delays the run of the first planned time that
// is not decided yet. If this planned time itself has not come yet, waitForDelay returns at once.
func (s *Schedules) waitForDelay(ctx context.Context, n schedule.Schedule) error {
	times, err := n.Times()
	if err != nil {
		return err
	}
	now := s.opts.Now()
	if planned := times.Next(n.Through); !planned.IsZero() && !planned.After(now) {
		pause.For(ctx, n.StartTime(planned).Sub(now))
	}
	return ctx.Err()
}
