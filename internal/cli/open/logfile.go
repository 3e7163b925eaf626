package open

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/exit"
)

// pathOf is where the log of a task is. What is relative is below the project of
// its run, which may be another than the command's.
func (m machine) pathOf(ctx context.Context, t fleet.Task) (string, error) {
	if t.Attempt == nil || t.Attempt.Log == "" {
		return "", exit.NotFound(fmt.Errorf("task %s of run %s has no log, it is %s", t.ID, t.Run, t.Status))
	}
	if filepath.IsAbs(t.Attempt.Log) {
		return t.Attempt.Log, nil
	}
	root, err := m.ProjectOf(ctx, t.Run)
	return filepath.Join(root, t.Attempt.Log), err
}

// ended reports whether the attempt that ran has ended.
func ended(ctx context.Context, f Fleet, t fleet.Task) func() (bool, error) {
	return func() (bool, error) {
		now, err := f.FindTask(ctx, t.Run+"/"+t.ID)
		if err != nil {
			return false, err
		}
		return now.Status != fleet.Running || now.Attempt == nil || now.Attempt.ID != t.Attempt.ID, nil
	}
}

// pause is how long to wait before looking again at something that grows.
const pause = 200 * time.Millisecond

// followFile copies what is added until the attempt has ended. That is asked
// before the last copy, so that nothing written before the end is missed.
func followFile(ctx context.Context, from io.Reader, to io.Writer, over func() (bool, error)) error {
	for {
		last, err := over()
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil || last {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
