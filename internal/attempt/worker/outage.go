package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gaffer/internal/engine"
)

// outageNotices notifies the user once when the engine stops answering, and once when it answers
// again the same kind of request.
type outageNotices struct {
	notice func(string)

	mu         sync.Mutex
	unanswered string // name of the first request that was not answered; empty while the engine answers
}

// noteAnswer records whether the engine answered a request, and notifies the user of a change. A
// refusal counts as an answer. Errors that the engine's client has already reported to the user are
// skipped, and so are errors after the end of ctx.
func (w *Worker) noteAnswer(ctx context.Context, what string, err error) {
	var reported interface{ AlreadyReported() bool }
	if ctx.Err() == nil && (!errors.As(err, &reported) || !reported.AlreadyReported()) {
		w.outages.noteAnswer(what, err)
	}
}

func (c *outageNotices) noteAnswer(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch answered := isAnswer(err); {
	case !answered && c.unanswered == "":
		c.unanswered = what
		c.notice(fmt.Sprintf("%s: %v; going on, and trying again", what, err))
	case answered && c.unanswered == what:
		c.unanswered = ""
		c.notice(what + ": answered again")
	}
}

// isAnswer reports whether the engine answered, even with a refusal. If false, the engine could not
// be reached.
func isAnswer(err error) bool {
	var invalid interface{ Invalid() bool }
	return err == nil || errors.Is(err, engine.ErrNothing) || isRefusal(err) || errors.As(err, &invalid) && invalid.Invalid()
}

// isRefusal reports whether it is pointless to repeat a request: the attempt no longer belongs to
// this worker, or does not exist.
func isRefusal(err error) bool {
	var conflict interface{ Conflict() bool }
	var missing interface{ NotFound() bool }
	return errors.As(err, &conflict) && conflict.Conflict() || errors.As(err, &missing) && missing.NotFound()
}
