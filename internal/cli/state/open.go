package state

import (
	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/statefile"
	"gaffer/workflow"
)

// Open returns the store of the project's workflow state. Commands such as 'gaffer step' use it,
// too.
func Open(e *env.Env) (*workflow.Store, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	return workflow.Open(c.Path("paths.workflow"), workflow.Options{
		Now:         e.Now,
		LockTimeout: c.Duration("lock_timeout"),
		Notice:      func(n statefile.Notice) { e.Talk("gaffer: %s", display.PrintableLines(n.Text)) },
	}), nil
}
