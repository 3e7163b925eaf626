package runview

import (
	"context"
	"sync"

	"gaffer/fleet"
)

// showLines shows a run as lines on stderr, one line for each change. At the first SIGINT or
// SIGTERM it cancels the run, and waits until the run's agents have ended. At the second of these
// signals it returns without waiting for the agents. After SIGHUP it returns, and a background
// process continues the run. If the run is on a server, a signal does not change the run: showLines
// only stops following it.
func (v *View) showLines(ctx context.Context, j job) (end viewEnd, err error) {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := j.run.ID
	runs, failed := follow(ctx, v.Fleet, id, j.interval, &all)
	j.work.start()
	defer j.work.halt()
	// Keep only one copy of the run in memory, because a run may be large.
	end.run, j.run = j.run, fleet.Run{}
	for _, line := range openingLines(end.run, v.remote(), v.env.Now()) {
		v.env.Talk("%s", line)
	}
	show := func(r fleet.Run) {
		for _, line := range changeLines(end.run, r, v.env.Now()) {
			v.env.Talk("%s", line)
		}
		end.run = r
	}
	for {
		select {
		case r, ok := <-runs:
			switch {
			case ok:
				show(r)
			case v.remote():
				return end, pending(failed)
			default:
				// The channel is closed: no more states of the run follow. Set it to nil, so that
				// the loop waits only for the other channels, such as for the end of the work.
				runs = nil
			}
		case err := <-failed:
			return end, err
		case r := <-j.work.ended:
			if r.err == nil {
				show(r.run)
			}
			return end, r.err
		case r := <-j.requests:
			switch {
			case r == hangUp || v.remote():
				end.interrupted, end.detached = true, true
				return end, nil
			case end.interrupted:
				end.left = "left while its agents were ending"
				return end, nil
			}
			end.interrupted = true
			v.env.Talk("run %s: cancelling, waiting for the agents to end; the next signal leaves at once", id)
			if err := j.work.cancel(ctx, "interrupted"); err != nil {
				return end, err
			}
		}
	}
}

// pending returns the error that waits in the channel, or nil if the channel is empty.
func pending(failed <-chan error) error {
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
