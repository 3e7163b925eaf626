package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gaffer/internal/engine"
)

// outageNotices notifies the user once when the engine stops answering, and once when it answers
// again. An outage begins with a request that is not answered. It is over when the engine answers a
// request with the same name, such as "claim" or "beat".
type outageNotices struct {
	notice func(string)

	mu         sync.Mutex
	unanswered string // name of the first request that was not answered; empty while the engine answers
}

// noteAnswer records whether the engine answered a request. It notifies the user when the engine
// stops answering or answers again. The parameter what is the name of the request. If the engine
// refuses the request, that counts as an answer too. noteAnswer ignores errors that the engine's
// client has already reported to the user, and errors after the end of ctx.
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

// isAnswer reports whether the engine answered the request that returned err. The answer may be
// success, no task, a refusal, or that the request is invalid. Any other error counts as no answer.
func isAnswer(err error) bool {
	var invalid interface{ Invalid() bool }
	return err == nil || errors.Is(err, engine.ErrNothing) || isRefusal(err) || errors.As(err, &invalid) && invalid.Invalid()
}

// isRefusal reports whether the engine refused a request because the attempt no longer belongs to
// this worker, or because the attempt does not exist. It is pointless to repeat such a request.
func isRefusal(err error) bool {
	var conflict interface{ Conflict() bool }
	var missing interface{ NotFound() bool }
	return errors.As(err, &conflict) && conflict.Conflict() || errors.As(err, &missing) && missing.NotFound()
}
