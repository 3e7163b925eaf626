package protocol

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
)

const (
	// maxListed is how many tasks the method Tasks returns at most if the client gives no limit.
	maxListed = 10_000
	// minQueuedRead is how many queued tasks the method Tasks reads even if the client's limit is
	// smaller. Tasks returns the queued tasks that were added last, but the store lists first those
	// that start next.
	minQueuedRead = 2_000
)

// Tasks implements [server.Protocol]. It returns tasks in the order in which they were added.
//
// If the client gives a limit, Tasks returns the tasks that were added last. If very many tasks are
// queued (see minQueuedRead), some of the newest may be missing, because Tasks reads only the
// queued tasks that start next.
//
// If the client gives no limit, Tasks returns at most maxListed tasks. It chooses running tasks
// first, then the oldest queued tasks, then the newest ended tasks.
func (d *taskService) Tasks(ctx context.Context, f server.TaskFilter) ([]coordinator.Task, error) {
	var tasks taskList
	err := d.db.store.Read(ctx, func(r store.Reader) (err error) {
		if f.Limit == 0 {
			tasks, err = list(r, f, maxListed, maxListed)
			tasks = tasks.shown(maxListed)
			return err
		}
		tasks, err = list(r, f, max(f.Limit, minQueuedRead), f.Limit)
		tasks = tasks[max(0, len(tasks)-f.Limit):]
		return err
	})
	if err != nil {
		return nil, err
	}
	return tasks.wire()
}

// taskList is a list of tasks in the order in which they were added.
type taskList []taskAndAttempt

func (f taskList) wire() (list []coordinator.Task, err error) {
	list = make([]coordinator.Task, len(f))
	for i := range f {
		if list[i], err = f[i].wire(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func byAge(a, b taskAndAttempt) int { return cmp.Compare(a.task.Seq, b.task.Seq) }

// shown returns at most limit tasks. It chooses running tasks first, then the oldest queued tasks,
// then the newest ended tasks. The result is in the order in which the tasks were added.
func (f taskList) shown(limit int) taskList {
	if len(f) <= limit {
		return f
	}
	rank := func(t taskAndAttempt) int {
		switch t.task.Status {
		case store.Running:
			return 0
		case store.Queued:
			return 1
		}
		return 2
	}
	slices.SortFunc(f, func(a, b taskAndAttempt) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		if rank(a) == 2 {
			return byAge(b, a)
		}
		return byAge(a, b)
	})
	f = f[:limit]
	slices.SortFunc(f, byAge)
	return f
}

// lister collects the tasks that match a filter without reading all tasks. A queued task is ready
// if an agent can claim it now. Otherwise it is waiting.
type lister struct {
	store.Reader
	filter    server.TaskFilter
	runs      []string // ids of the runs that may contain matching tasks
	maxQueued int      // maximum number of ready tasks to read, and of waiting tasks per run
	// maxEnded is the maximum number of ended tasks in list for each final status. It is not used
	// if the filter names an agent; see the function list.
	maxEnded int
	list     taskList
}

// list returns tasks that match a filter, but ignores the filter's limit. It returns the running
// tasks, the queued tasks that start next, and the newest ended tasks.
//
// The parameter queued is the maximum number of tasks to read that agents can claim now, and of
// other queued tasks to read from each run. The parameter lastEnded is the maximum number of ended
// tasks to return for each final status. If the filter names an agent, list uses maxListed instead
// of lastEnded.
func list(r store.Reader, f server.TaskFilter, queued, lastEnded int) (taskList, error) {
	runs, err := runsOf(r, f)
	if err != nil {
		return nil, err
	}
	l := &lister{Reader: r, filter: f, runs: runs, maxQueued: queued, maxEnded: lastEnded}
	for _, step := range []struct {
		of  coordinator.TaskStatus
		add func() error
	}{
		{coordinator.InProgress, l.running},
		{coordinator.Queued, l.ready},
		{coordinator.Queued, l.waiting},
		{coordinator.Done, func() error { return l.ended(store.Complete) }},
		{coordinator.Failed, func() error { return l.ended(store.Failed) }},
		{coordinator.Failed, func() error { return l.ended(store.Cancelled) }},
	} {
		if f.Status != "" && f.Status != step.of {
			continue
		}
		if err := step.add(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.list, byAge)
	return l.list, nil
}

// runsOf returns the ids of the runs that may contain tasks matching the filter.
func runsOf(r store.Reader, f server.TaskFilter) (runs []string, err error) {
	if f.Chain != "" {
		return []string{chainRun + f.Chain}, nil
	}
	chains, err := r.Items(kindChain, "", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	for _, i := range chains {
		runs = append(runs, chainRun+i.ID)
	}
	if f.Channel != "" {
		return append(runs, channelRun+f.Channel), nil
	}
	channels, err := r.Items(kindChannel, "", 0, math.MaxInt32)
	for _, i := range channels {
		runs = append(runs, channelRun+i.ID)
	}
	return runs, err
}

// add appends the task t to l.list if it matches the filter's channel, chain and agent. a is the
// task's running or last attempt, or nil if there was none. add does not check the status of the
// task, because the function list has already selected the tasks by status.
func (l *lister) add(t store.Task, a *store.Attempt) {
	f := l.filter
	if OwnsRun(t.Run) && (f.Channel == "" || t.Labels == channelLabel(f.Channel)) && (f.Chain == "" || t.Run == chainRun+f.Chain) &&
		(f.Agent == "" || t.Status != store.Queued && a != nil && a.Worker == f.Agent) {
		l.list = append(l.list, taskAndAttempt{t, a})
	}
}

func (l *lister) addAll(tasks []store.Task) error {
	for _, t := range tasks {
		a, err := lastAttempt(l, t)
		if err != nil {
			return err
		}
		l.add(t, a)
	}
	return nil
}

// endOfTime returns the latest time that a database can store. Queries of the store for rows that
// are due before this time find all rows.
func endOfTime() time.Time { return time.Unix(0, math.MaxInt64) }

func (l *lister) running() error {
	attempts, err := l.DueAttempts(endOfTime(), maxListed)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if !OwnsRun(a.Run) {
			continue
		}
		t, err := l.Task(a.Key())
		if err != nil {
			return NotFound(err, "task", wireID(a.Key()))
		}
		l.add(t, &a)
	}
	return nil
}

// ready adds to l.list the queued tasks that agents can claim now.
func (l *lister) ready() error {
	if l.filter.Chain != "" {
		// The method waiting adds all queued tasks of a chain, including those that are ready.
		return nil
	}
	labels := []string{channelLabel(l.filter.Channel)}
	if l.filter.Channel == "" {
		all, err := l.LabelSets()
		if err != nil {
			return err
		}
		labels = slices.DeleteFunc(all, func(set string) bool { return !strings.HasPrefix(set, channelLabel("")) })
	}
	tasks, err := l.ClaimableTasks(store.ClaimQuery{Labels: labels, Limit: l.maxQueued})
	if err != nil {
		return err
	}
	return l.addAll(tasks)
}

// waiting adds to l.list the queued tasks that agents cannot claim yet. If the filter names a
// chain, it adds all queued tasks of the chain, even those that agents can claim now.
func (l *lister) waiting() error {
	if l.filter.Chain != "" {
		tasks, err := l.Tasks(l.runs[0])
		if err != nil {
			return err
		}
		return l.addAll(slices.DeleteFunc(tasks, func(t store.Task) bool { return t.Status != store.Queued }))
	}
	for _, run := range l.runs {
		tasks, err := l.WaitingTasks(store.WaitQuery{Run: run, Wave: math.MaxInt32, Now: endOfTime(), Limit: l.maxQueued})
		if err != nil {
			return err
		}
		if err := l.addAll(tasks); err != nil {
			return err
		}
	}
	return nil
}

// ended adds the newest tasks with the given final status to l.list. It considers all runs in
// l.runs.
func (l *lister) ended(in store.Status) error {
	most := l.maxEnded
	if l.filter.Agent != "" {
		most = maxListed // read more tasks, because many of them may belong to other agents
	}
	var latest []store.Task
	for _, run := range l.runs {
		tasks, err := l.endedOf(run, in, most)
		if err != nil {
			return err
		}
		if latest = append(latest, tasks...); len(latest) > 4*most {
			latest = newest(latest, most)
		}
	}
	return l.addAll(newest(latest, most))
}

// endedOf returns the newest tasks of a run that have the given final status. If the filter names a
// channel, endedOf leaves out tasks of other channels, which a chain may have.
func (l *lister) endedOf(run string, in store.Status, most int) ([]store.Task, error) {
	channel := l.filter.Channel
	if channel == "" || run == channelRun+channel {
		return l.EndedTasks(run, in, most)
	}
	tasks, err := l.EndedTasks(run, in, maxListed)
	return slices.DeleteFunc(tasks, func(t store.Task) bool { return t.Labels != channelLabel(channel) }), err
}

func newest(tasks []store.Task, most int) []store.Task {
	slices.SortFunc(tasks, func(a, b store.Task) int { return cmp.Compare(b.Seq, a.Seq) })
	return tasks[:min(most, len(tasks))]
}
