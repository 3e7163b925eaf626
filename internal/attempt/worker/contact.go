package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gaffer/internal/engine"
)

// contact notifies the user once when the engine stops answering, and once when it
// answers again.
type contact struct {
	notice func(string)

	mu   sync.Mutex
	lost string // the first request that was not answered
}

// heard records the result of a request. A refusal counts as an answer. Errors that
// the engine client has already reported are skipped.
func (w *Worker) heard(ctx context.Context, what string, err error) {
	var told interface{ Told() bool }
	if ctx.Err() == nil && (!errors.As(err, &told) || !told.Told()) {
		w.contact.heard(what, err)
	}
}

func (c *contact) heard(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch answered := isAnswer(err); {
	case !answered && c.lost == "":
		c.lost = what
		c.notice(fmt.Sprintf("%s: %v; going on, and trying again", what, err))
	case answered && c.lost == what:
		c.lost = ""
		c.notice(what + ": answered again")
	}
}

// isAnswer reports whether the engine answered, even with a refusal. Otherwise it
// could not be reached.
func isAnswer(err error) bool {
	var invalid interface{ Invalid() bool }
	return err == nil || errors.Is(err, engine.ErrNothing) || isRefusal(err) || errors.As(err, &invalid) && invalid.Invalid()
}

// isRefusal reports whether repeating the request is pointless: the attempt is no
// longer ours, or does not exist.
func isRefusal(err error) bool {
	var conflict interface{ Conflict() bool }
	var missing interface{ NotFound() bool }
	return errors.As(err, &conflict) && conflict.Conflict() || errors.As(err, &missing) && missing.NotFound()
}
