package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gaffer/internal/engine"
)

// contact tells a person once that the engine does not answer, and once that it
// does again.
type contact struct {
	notice func(string)

	mu   sync.Mutex
	lost string // the request that was the first not to be answered
}

// heard takes in how a request went. A refusal is an answer. What the engine has told
// itself is not told again.
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

// isAnswer tells a refusal from an engine that cannot be reached.
func isAnswer(err error) bool {
	var invalid interface{ Invalid() bool }
	return err == nil || errors.Is(err, engine.ErrNothing) || isRefusal(err) || errors.As(err, &invalid) && invalid.Invalid()
}

// isRefusal tells what will not be otherwise when it is asked again: the attempt has
// gone on without us, or is not there.
func isRefusal(err error) bool {
	var conflict interface{ Conflict() bool }
	var missing interface{ NotFound() bool }
	return errors.As(err, &conflict) && conflict.Conflict() || errors.As(err, &missing) && missing.NotFound()
}
