package runview

import (
	"context"
	"errors"
	"sync"

	"gaffer/fleet"
	"gaffer/internal/ui/tui"
)

// errHungUp ends a live view after its terminal was closed.
var errHungUp = errors.New("hung up")

// live shows a run in the terminal until the run ends or the user leaves.
func (t *View) live(ctx context.Context, term *tui.Terminal, j job) (ending, error) {
	end := ending{run: j.run}
	ctx, cancel := context.WithCancelCause(ctx)
	v := &live{attendant: t, job: j, runs: make(chan fleet.Run), notes: make(chan string, 16), end: make(chan struct{}, 1)}
	back := t.notices.divert(v.note)
	defer back()
	if t.remark != "" {
		v.note(t.remark)
	} else if text := atOnce(j.run, t.far()); text != "" && j.work != nil {
		v.note(text)
	}
	if j.work != nil {
		j.work.start()
		defer j.work.halt()
	}
	var all sync.WaitGroup
	all.Go(func() { v.bridge(ctx, cancel) })
	do, err := tui.Live(ctx, term, tui.Options{
		Now: t.env.Now, Color: t.env.Color(t.env.Err), Onlooker: j.work == nil, Far: t.far(),
		Runs: v.runs, Notes: v.notes, End: v.end, Act: v.act,
	})
	cancel(nil)
	all.Wait()
	if v.last.ID != "" {
		end.run = v.last
	}
	end.interrupted = v.cancelled
	t.leave(end.run, term)
	switch {
	case v.err != nil:
		return end, v.err
	case errors.Is(err, errHungUp):
		end.interrupted, end.detached, err = true, j.work != nil, nil
	case do == tui.Detach:
		end.interrupted, end.detached = end.interrupted || v.signalled, true
	case do == tui.Leave:
		end.left = "left while its agents were ending"
	}
	return end, err
}

// leave prints the final state of the tasks where the view was.
func (t *View) leave(r fleet.Run, term *tui.Terminal) {
	width, _ := term.Size()
	for _, row := range (tui.View{Run: r, Now: t.env.Now()}).Final(width, t.env.Color(t.env.Err)) {
		t.env.Talk("%s", row)
	}
}

// live is the state that the view and the work on the run share.
type live struct {
	attendant *View
	job       job
	runs      chan fleet.Run
	notes     chan string
	end       chan struct{}

	last      fleet.Run // written by bridge
	err       error     // written by bridge: why the work stopped before the run ended
	signalled bool      // written by bridge: a signal asked to end the run
	cancelled bool      // written by act
}

// note shows a note in the view. It never blocks: if the view is behind, it drops the
// note.
func (v *live) note(text string) {
	select {
	case v.notes <- text:
	default:
	}
}

// bridge passes changes of the run to the view, and closes the view when the run has
// ended.
func (v *live) bridge(ctx context.Context, cancel context.CancelCauseFunc) {
	var all sync.WaitGroup
	defer all.Wait()
	following, stop := context.WithCancel(ctx)
	defer stop()
	runs, failed := follow(following, v.attendant.Fleet, v.job.run.ID, v.job.interval, &all)
	var ended <-chan result
	if v.job.work != nil {
		ended = v.job.work.ended
	}
	for {
		select {
		case r, ok := <-runs:
			switch {
			case ok:
				v.last = r
				v.pass(ctx, r)
			case ended == nil:
				v.err = pending(failed)
				close(v.runs)
				return
			default:
				runs = nil // wait for the work to end
			}
		case v.err = <-failed:
			cancel(nil)
			return
		case r := <-ended:
			if v.err = r.err; v.err == nil {
				v.last = r.run
			}
			close(v.runs)
			return
		case w := <-v.job.signals:
			if w == hungUp {
				cancel(errHungUp)
				return
			}
			v.signalled = true
			v.pushEnd()
		case <-ctx.Done():
			return
		}
	}
}

func (v *live) pass(ctx context.Context, r fleet.Run) {
	select {
	case v.runs <- r:
	case <-ctx.Done():
	}
}

func (v *live) pushEnd() {
	select {
	case v.end <- struct{}{}:
	default:
	}
}

// act carries out an action of the user.
func (v *live) act(ctx context.Context, a tui.Action) string {
	var err error
	said := ""
	switch a.Do {
	case tui.Stop:
		v.job.work.halt()
	case tui.GoOn:
		v.job.work.start()
	case tui.CancelRun:
		v.cancelled = true
		err = v.job.work.cancel(ctx, "interrupted")
	case tui.Answer:
		if err = v.attendant.Fleet.Answer(ctx, a.Question, a.Text, a.Deny); err == nil {
			said = "answered"
		}
	}
	if err != nil {
		return err.Error()
	}
	return said
}
