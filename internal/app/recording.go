package app

import (
	"context"
	"os"

	"gaffer/internal/store"
)

func (a *App) recording(run store.Run) (recording, error) {
	dir, err := a.session.Dir(run.ID)
	if err != nil {
		return nil, err
	}
	return none{dir}, nil
}

type none struct{ dir string }

func (n none) Run(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
func (n none) Flush(context.Context) error   { return os.MkdirAll(n.dir, 0o777) }
