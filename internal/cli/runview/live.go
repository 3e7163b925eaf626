package runview

import (
	"context"
	"errors"
	"sync"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/ui/tui/live"
	"gaffer/internal/ui/tui/terminal"
)

// errHungUp is the cancellation cause of the live view's context after SIGHUP. The signal means
// that the terminal was closed.
var errHungUp = errors.New("hung up")

// showLive shows a run in the terminal until the run ends or the user leaves the view. The last
// state of the tasks remains in the terminal.
func (v *View) showLive(ctx context.Context, term *terminal.Terminal, j job) (viewEnd, error) {
	end := viewEnd{run: j.run}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &liveView{fleet: v.Fleet, job: j, runs: make(chan fleet.Run), notes: make(chan string, 16), end: make(chan struct{}, 1)}
	restore := v.notices.redirect(l.note)
	defer restore()
	if v.remark != "" {
		l.note(v.remark)
	} else if text := parallelText(j.run, v.remote()); text != "" && j.work != nil {
		l.note(text)
	}
	if j.work != nil {
		j.work.start()
		defer j.work.halt()
	}
	var all sync.WaitGroup
	all.Go(func() { l.follow(ctx, cancel) })
	color := v.env.Color(v.env.Err)
	do, err := live.Show(ctx, term, live.Options{
		Now: v.env.Now, Color: color, Observer: j.work == nil, Remote: v.remote(),
		Runs: l.runs, Notes: l.notes, End: l.end, Act: l.act,
	})
	cancel(nil)
	all.Wait()
	if l.last.ID != "" {
		end.run = l.last
	}
	end.interrupted = l.cancelled
	width, _ := term.Size()
	for _, row := range (live.View{Run: end.run, Now: v.env.Now()}).Final(width, color) {
		v.env.Talk("%s", row)
	}
	switch {
	case l.err != nil:
		return end, l.err
	case errors.Is(err, errHungUp):
		end.interrupted, end.detached, err = true, j.work != nil, nil
	case do == live.Detach:
		end.interrupted, end.detached = end.interrupted || l.signalled, true
	case do == live.Leave:
		end.left = "left while its agents were ending"
	}
	return end, err
}

// liveView is the state that is shared by the live view and the goroutine that follows the run.
type liveView struct {
	fleet openfleet.Fleet
	job   job
	runs  chan fleet.Run
	notes chan string
	end   chan struct{}

	last      fleet.Run // latest state of the run; zero until follow has received one; written by follow
	err       error     // the error with which following the run or working on it failed; written by follow
	signalled bool      // a signal asked to end the run; written by follow
	cancelled bool      // the user has cancelled the run; written by act
}

// note shows a short message in the live view. It never blocks: if the channel is full of messages
// that the view has not read yet, it drops the message.
func (l *liveView) note(text string) {
	select {
	case l.notes <- text:
	default:
	}
}

// follow passes new states of the run to the live view. It closes the view when the run has ended,
// after SIGHUP, and if following the run or the work on it fails.
func (l *liveView) follow(ctx context.Context, cancel context.CancelCauseFunc) {
	var all sync.WaitGroup
	defer all.Wait()
	following, stop := context.WithCancel(ctx)
	defer stop()
	runs, failed := follow(following, l.fleet, l.job.run.ID, l.job.interval, &all)
	var ended <-chan result
	if l.job.work != nil {
		ended = l.job.work.ended
	}
	for {
		select {
		case r, ok := <-runs:
			switch {
			case ok:
				l.last = r
				select {
				case l.runs <- r:
				case <-ctx.Done():
				}
			case ended == nil:
				l.err = pending(failed)
				close(l.runs)
				return
			default:
				// The channel is closed: no more states of the run follow. Set it to nil, so that
				// the loop waits only for the other channels, such as for the end of the work.
				runs = nil
			}
		case l.err = <-failed:
			cancel(nil)
			return
		case r := <-ended:
			if l.err = r.err; l.err == nil {
				l.last = r.run
			}
			close(l.runs)
			return
		case r := <-l.job.requests:
			if r == hangUp {
				cancel(errHungUp)
				return
			}
			l.signalled = true
			select {
			case l.end <- struct{}{}:
			default:
			}
		case <-ctx.Done():
			return
		}
	}
}

// act performs an action of the user, and returns a short message about the result for the live
// view.
func (l *liveView) act(ctx context.Context, a live.Action) string {
	var err error
	switch a.Kind {
	case live.Stop:
		l.job.work.halt()
	case live.Resume:
		l.job.work.start()
	case live.CancelRun:
		l.cancelled = true
		err = l.job.work.cancel(ctx, "interrupted")
	case live.Answer:
		if err = l.fleet.Answer(ctx, a.Question, a.Reply()); err == nil {
			return "answered"
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
