package sqlite

import (
	"context"
	"errors"

	"gaffer/statefile/host"
)

// queue orders the processes that write to one database. SQLite's own way is to
// try again after a while, which under load is never: whoever has just written
// is there first. Here the next in line holds one lock while it waits for the
// other, so that whoever has just written comes after it. The kernel gives both
// back when a process dies.
type queue struct{ next, turn string }

func queueOf(path string) queue { return queue{path + "-next", path + "-turn"} }

const (
	opNext host.Op = "wait to be the next writer"
	opTurn host.Op = "wait for the writer"
)

// wait returns when it is our turn.
func (q queue) wait(ctx context.Context) (host.Lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	next, err := host.OS().Lock(ctx, opNext, q.next)
	if err != nil {
		return nil, q.fail(ctx, err)
	}
	turn, err := host.OS().Lock(ctx, opTurn, q.turn)
	if err != nil {
		_ = next.Unlock()
		return nil, q.fail(ctx, err)
	}
	return turn, next.Unlock()
}

var errPatience = errors.New("nobody wrote for long")

func (q queue) fail(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errPatience) {
		return &BusyError{q.turn, err}
	}
	return err
}
