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

// OwnedError is a run that another gaffer works on.
type OwnedError struct {
	Run string
	PID int
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %s: gaffer with pid %d works on it", e.Run, e.PID)
}

// Conflict marks the error as one about what somebody else does.
func (e *OwnedError) Conflict() bool { return true }

// Hint says what to do next.
func (e *OwnedError) Hint() string {
	return fmt.Sprintf("'gaffer status --watch %s' shows it, 'gaffer cancel %s' ends it", e.Run, e.Run)
}

const (
	opOwn host.Op = "take the run"
	// ownWithin is how long a gaffer that has just been killed may take to be
	// gone.
	ownWithin = time.Second
)

func (a *App) ownerFile(run string) string { return filepath.Join(a.state, "runs", run+".owner") }

// own makes this process the one that works on a run. The kernel gives it back
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
	// The lock file may have been deleted while its holder lives: then this lock is
	// another one.
	if other := a.owner(run); other.Alive && other.PID != os.Getpid() {
		_ = lock.Unlock() // the run is not ours in any case
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
		_ = lock.Unlock() // the process may end as well
	}, nil
}

// owner returns the process that works on a run, or has last.
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
