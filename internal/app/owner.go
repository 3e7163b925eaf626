package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaffer/fleet"
	"gaffer/statefile/host"
)

// OwnedError reports that another gaffer works on the run.
type OwnedError struct {
	Run string
	PID int
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %s: gaffer with pid %d works on it", e.Run, e.PID)
}

// Conflict marks the error as a conflict with another process.
func (e *OwnedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *OwnedError) Hint() string {
	return fmt.Sprintf("'gaffer status --watch %s' shows it, 'gaffer cancel %s' ends it", e.Run, e.Run)
}

const (
	opOwn host.Op = "take the run"
	// ownWithin is the time that a killed gaffer may take to exit and release its lock.
	ownWithin = time.Second
)

func (a *App) ownerFile(run string) string { return filepath.Join(a.state, "runs", run+".owner") }

// own locks a run, so that only this process works on it. The kernel releases the lock
// if the process dies.
func (a *App) own(ctx context.Context, run string) (release func(), err error) {
	file := a.ownerFile(run)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, ownWithin)
	defer cancel()
	lock, err := host.OS().Lock(within, opOwn, file+".lock")
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &OwnedError{run, a.owner(run).PID}
	}
	if err != nil {
		return nil, err
	}
	// If the lock file was deleted while its holder is alive, we have locked a new
	// file. So check the recorded owner too.
	if other := a.owner(run); other.Alive && other.PID != os.Getpid() {
		_ = lock.Unlock() // the run is not ours, whether or not this succeeds
		return nil, &OwnedError{run, other.PID}
	}
	text, err := json.Marshal(host.OS().Self())
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() {
		_ = os.Remove(file)
		_ = lock.Unlock() // the lock ends with the process at the latest
	}, nil
}

// owner returns the process that works on a run, or the last one that did.
func (a *App) owner(run string) fleet.Owner {
	data, err := os.ReadFile(a.ownerFile(run))
	if err != nil {
		return fleet.Owner{}
	}
	var p host.Process
	if err := json.Unmarshal(data, &p); err != nil {
		return fleet.Owner{}
	}
	return fleet.Owner{PID: p.PID, Alive: host.OS().Alive(p) == host.Alive}
}
