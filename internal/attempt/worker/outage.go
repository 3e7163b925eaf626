package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gaffer/internal/engine"
)

// outageNotices notifies the user once when the engine stops answering, and once when it answers
// again. The engine counts as answering again when it answers a request of the same kind as the
// first one that failed.
type outageNotices struct {
	notice func(string)

	mu         sync.Mutex
	unanswered string // name of the first request that was not answered; empty while the engine answers
}

// noteAnswer records whether the engine answered a request, and notifies the user when that
// changes. what is the name of the request. An answer that refuses the request counts as an answer.
// noteAnswer ignores errors that the engine's client has already reported to the user, and errors
// after the end of ctx.
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

// isAnswer reports whether the engine answered a request. Its answer may be success, no task, a
// refusal, or that the request is invalid. Any other error counts as no answer.
func isAnswer(err error) bool {
	var invalid interface{ Invalid() bool }
	return err == nil || errors.Is(err, engine.ErrNothing) || isRefusal(err) || errors.As(err, &invalid) && invalid.Invalid()
}

// isRefusal reports whether the engine refused a request because the attempt no longer belongs to
// this worker, or does not exist. It is pointless to repeat such a request.
func isRefusal(err error) bool {
	var conflict interface{ Conflict() bool }
	var missing interface{ NotFound() bool }
	return errors.As(err, &conflict) && conflict.Conflict() || errors.As(err, &missing) && missing.NotFound()
}
