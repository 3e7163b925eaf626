package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/connect"
	"gaffer/internal/pause"
	screen "gaffer/internal/ui/tui/watch"
)

// ended is the number of latest runs that are shown even if they have ended.
const ended = 20

// overview reads the state of the whole fleet.
func overview(ctx context.Context, f connect.Fleet) (v screen.Fleet, err error) {
	if v.Runs, err = f.Latest(ctx, ended); err != nil {
		return v, err
	}
	if v.Workers, err = f.Workers(ctx); err != nil {
		return v, err
	}
	if v.Questions, err = f.Questions(ctx); err != nil {
		return v, err
	}
	v.Lanes, err = f.Lanes(ctx)
	return v, err
}

// feed reads data for a screen: the whole fleet, and the run and task that the user
// looks at. It also implements [screen.Backend].
type feed struct {
	fleet   connect.Fleet
	now     func() time.Time
	notices <-chan string
	focuses chan screen.Focus // the newest thing that the user looks at
	send    func(any)

	mu   sync.Mutex
	runs []fleet.Run   // as last read
	rung chan struct{} // closed at the next read
	last time.Time     // the time of the last read
	away bool          // reading has failed since then
}

const (
	fleetPace = 250 * time.Millisecond
	patience  = 2 * time.Second // wait before a retry
)

// run reads until ctx ends, and returns when all its goroutines have ended.
func (f *feed) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { f.follow(ctx) })
	all.Go(func() { f.readFocus(ctx) })
	all.Go(func() { f.pass(ctx) })
	all.Wait()
}

// follow reads the whole fleet after every change.
func (f *feed) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.fleet.Changes(ctx, fleetPace, func() error {
			v, err := overview(ctx, f.fleet)
			if err == nil {
				f.seen(v)
				return nil
			}
			f.failed(ctx, err)
			return nil
		})
		f.failed(ctx, err)
		pause.For(ctx, patience)
	}
}

func (f *feed) seen(v screen.Fleet) {
	f.mu.Lock()
	back := f.away
	f.runs, f.last, f.away = v.Runs, f.now(), false
	close(f.rung)
	f.rung = make(chan struct{})
	f.mu.Unlock()
	if back {
		f.send(screen.Away{})
	}
	f.send(v)
}

// failed reports to the screen that the fleet cannot be read, and since when.
func (f *feed) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	f.away = true
	since := f.last
	f.mu.Unlock()
	f.send(screen.Away{Since: since, Why: strings.TrimPrefix(err.Error(), "server "+f.fleet.Where()+": ")})
}

// pass shows notices on the screen. It drops notices about a server, because the screen
// shows anyway that a server does not answer.
func (f *feed) pass(ctx context.Context) {
	for {
		select {
		case text := <-f.notices:
			if f.fleet.Where() == "" {
				f.send(screen.Result{Text: text})
			}
		case <-ctx.Done():
			return
		}
	}
}

// readFocus reads what the user looks at, until the user looks at something else.
func (f *feed) readFocus(ctx context.Context) {
	end := func() {}
	for {
		select {
		case focus := <-f.focuses:
			end()
			end = f.read(ctx, focus)
		case <-ctx.Done():
			end()
			return
		}
	}
}

// read starts reading a run and a task. end stops that and waits for it.
func (f *feed) read(ctx context.Context, focus screen.Focus) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	if focus.Run != "" {
		changed := make(chan fleet.Task, 1)
		all.Go(func() { f.followRun(ctx, focus, changed) })
		if focus.Task != "" {
			all.Go(func() { f.followTask(ctx, focus, changed) })
		}
	}
	return func() { cancel(); all.Wait() }
}

// followRun sends the current run to the screen after every change. It continues after
// the run has ended, because the run may be resumed.
func (f *feed) followRun(ctx context.Context, focus screen.Focus, changed chan fleet.Task) {
	for ctx.Err() == nil {
		err := f.fleet.Follow(ctx, focus.Run, connect.Pace(f.known(focus.Run).Counts.Total), func(r fleet.Run) error {
			f.send(r)
			offer(changed, r, focus.Task)
			return nil
		})
		if err != nil {
			pause.For(ctx, patience)
			continue
		}
		f.untilAgain(ctx, focus.Run)
	}
}

// offer sends the newest state of a task to followTask.
func offer(changed chan fleet.Task, r fleet.Run, id string) {
	at := slices.IndexFunc(r.Tasks, func(t fleet.Task) bool { return t.ID == id })
	if at < 0 {
		return
	}
	select {
	case <-changed: // drop an older state that was not read
	default:
	}
	changed <- r.Tasks[at]
}

// untilAgain waits until an ended run is resumed.
func (f *feed) untilAgain(ctx context.Context, run string) {
	for f.known(run).Status.Final() || f.known(run).ID == "" {
		f.mu.Lock()
		rung := f.rung
		f.mu.Unlock()
		select {
		case <-rung:
		case <-ctx.Done():
			return
		}
	}
	pause.For(ctx, fleetPace)
}

// known returns a run as it was last read with the fleet.
func (f *feed) known(id string) fleet.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := slices.IndexFunc(f.runs, func(r fleet.Run) bool { return r.ID == id }); at >= 0 {
		return f.runs[at]
	}
	return fleet.Run{}
}
