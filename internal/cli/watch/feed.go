package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/pause"
	screen "gaffer/internal/ui/tui/watch"
)

// shownEnded is how many of the latest runs the screen shows even if they have ended.
const shownEnded = 20

// overview reads the state of the whole fleet for the screen.
func overview(ctx context.Context, f openfleet.Fleet) (v screen.Fleet, err error) {
	if v.Runs, err = f.Latest(ctx, shownEnded); err != nil {
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

// feed reads data for the screen: the state of the whole fleet, and of the run and task that the
// user looks at. It also implements [screen.Backend].
type feed struct {
	fleet   openfleet.Fleet
	now     func() time.Time
	notices <-chan string
	// focuses holds the run and task that the user looks at, until followFocus reads them.
	focuses chan screen.Focus
	send    func(any)

	mu       sync.Mutex
	runs     []fleet.Run   // runs of the fleet when it was last read
	nextRead chan struct{} // closed and replaced each time the fleet has been read
	last     time.Time     // when the fleet was last read successfully
	failing  bool          // the last attempt to read the fleet has failed
}

const (
	fleetPace = 250 * time.Millisecond
	retryTime = 2 * time.Second // pause after an error, before reading again
)

// run reads the fleet, and the run and task that the user looks at, until ctx ends. It also passes
// this machine's messages for the user to the screen. It returns when all its goroutines have
// ended.
func (f *feed) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { f.followFleet(ctx) })
	all.Go(func() { f.followFocus(ctx) })
	all.Go(func() {
		for {
			select {
			case text := <-f.notices:
				// Show notices only if the fleet is on this machine. A server's notices mainly say
				// that the server does not answer, and the screen itself shows that.
				if f.fleet.Where() == "" {
					f.send(screen.Result{Text: text})
				}
			case <-ctx.Done():
				return
			}
		}
	})
	all.Wait()
}

// followFleet reads the state of the whole fleet after every change and sends it to the screen,
// until ctx ends. If reading fails, it sends the reason and the time of the last success to the
// screen, and tries again.
func (f *feed) followFleet(ctx context.Context) {
	failed := func(err error) {
		if err == nil || ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		f.failing = true
		since := f.last
		f.mu.Unlock()
		f.send(screen.Outage{Since: since, Why: strings.TrimPrefix(err.Error(), "server "+f.fleet.Where()+": ")})
	}
	for ctx.Err() == nil {
		failed(f.fleet.Changes(ctx, fleetPace, func() error {
			v, err := overview(ctx, f.fleet)
			if err != nil {
				failed(err)
				return nil
			}
			f.mu.Lock()
			wasAway := f.failing
			f.runs, f.last, f.failing = v.Runs, f.now(), false
			close(f.nextRead)
			f.nextRead = make(chan struct{})
			f.mu.Unlock()
			if wasAway {
				f.send(screen.Outage{})
			}
			f.send(v)
			return nil
		}))
		pause.For(ctx, retryTime)
	}
}

// followFocus reads the run and the task that the user looks at. When the user looks at another run
// or task, it reads that one instead. It returns when ctx ends.
func (f *feed) followFocus(ctx context.Context) {
	stop := func() {}
	for {
		select {
		case focus := <-f.focuses:
			stop()
			reading, cancel := context.WithCancel(ctx)
			var all sync.WaitGroup
			if focus.Run != "" {
				changed := make(chan fleet.Task, 1)
				all.Go(func() { f.followRun(reading, focus, changed) })
				if focus.Task != "" {
					all.Go(func() { f.followTask(reading, focus, changed) })
				}
			}
			stop = func() { cancel(); all.Wait() }
		case <-ctx.Done():
			stop()
			return
		}
	}
}

// followRun follows the run that the user looks at. After every change, it sends the run to the
// screen, and the task that the user looks at to the channel changed. It does not stop when the run
// ends, because the run may be resumed.
func (f *feed) followRun(ctx context.Context, focus screen.Focus, changed chan fleet.Task) {
	for ctx.Err() == nil {
		known, _ := f.lastRead(focus.Run)
		var ended time.Time
		err := f.fleet.Follow(ctx, focus.Run, openfleet.ReadInterval(known.Counts.Total), func(r fleet.Run) error {
			ended = r.Ended
			f.send(r)
			if at := slices.IndexFunc(r.Tasks, func(t fleet.Task) bool { return t.ID == focus.Task }); at >= 0 {
				select {
				case <-changed: // drop the older state of the task, which followTask has not read
				default:
				}
				changed <- r.Tasks[at]
			}
			return nil
		})
		if err != nil {
			pause.For(ctx, retryTime)
			continue
		}
		f.waitForResume(ctx, focus.Run, ended)
	}
}

// waitForResume waits until the run is resumed, or until ctx ends. The parameter ended is the time
// at which the run ended. The run may be resumed and end again between two reads of the fleet. Then
// its end time is later than ended, and waitForResume also returns.
func (f *feed) waitForResume(ctx context.Context, run string, ended time.Time) {
	for {
		known, next := f.lastRead(run)
		if known.ID != "" && (!known.Status.Final() || known.Ended.After(ended)) {
			break
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
	pause.For(ctx, fleetPace)
}

// lastRead returns the run with this id, as it was when the fleet was last read. The run is empty
// if it was not among the runs read. The channel next is closed when the fleet has been read again.
func (f *feed) lastRead(id string) (run fleet.Run, next <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := slices.IndexFunc(f.runs, func(r fleet.Run) bool { return r.ID == id }); at >= 0 {
		run = f.runs[at]
	}
	return run, f.nextRead
}
