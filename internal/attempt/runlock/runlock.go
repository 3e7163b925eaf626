// Package runlock ensures that on this machine only one gaffer process at a time works on a run,
// and records which process that is.
package runlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/statefile/host"
)

// OwnedError reports that another gaffer process already works on the run.
type OwnedError struct {
	Run string
	PID int
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %s: gaffer with pid %d works on it", e.Run, e.PID)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *OwnedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *OwnedError) Hint() string {
	return fmt.Sprintf("'gaffer status --watch %s' shows it, 'gaffer cancel %s' ends it", e.Run, e.Run)
}

const (
	opLock host.Op = "take the run"
	// Within is how long Lock waits for another process to release the lock. A gaffer process that
	// was just killed holds its locks until it has exited.
	Within = time.Second
)

// Locks is the path of the folder with the lock files and the owner files of the runs on this
// machine. An owner file names the process that works on a run.
type Locks string

func (l Locks) ownerFile(run string) string { return filepath.Join(string(l), run+".owner") }

// File returns the path of a run's lock file.
func (l Locks) File(run string) string { return l.ownerFile(run) + ".lock" }

// Lock locks a run, so that only this process works on it. It returns an [*OwnedError]
// if another process does. The kernel releases the lock if this process dies.
func (l Locks) Lock(ctx context.Context, run string) (release func(), err error) {
	if err := os.MkdirAll(string(l), 0o700); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	lock, err := host.OS().Lock(within, opLock, l.File(run))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &OwnedError{run, l.Owner(run).PID}
	}
	if err != nil {
		return nil, err
	}
	// Another process may still work on the run although this process has got the lock: if someone
	// has deleted the lock file, this process has just locked a new file. So also check the process
	// that the owner file names.
	if other := l.Owner(run); other.Alive && other.PID != os.Getpid() {
		_ = lock.Unlock() // if this fails, the kernel releases the lock when the process exits
		return nil, &OwnedError{run, other.PID}
	}
	file := l.ownerFile(run)
	text, err := json.Marshal(host.OS().Self())
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() {
		_ = os.Remove(file)
		_ = lock.Unlock() // if this fails, the kernel releases the lock when the process exits
	}, nil
}

// Owner returns the process that works on a run. A process that dies during its work remains
// recorded, so the returned process may be dead. The result is a zero value if no process is
// recorded.
func (l Locks) Owner(run string) fleet.Owner {
	data, err := os.ReadFile(l.ownerFile(run))
	if err != nil {
		return fleet.Owner{}
	}
	var p host.Process
	if err := json.Unmarshal(data, &p); err != nil {
		return fleet.Owner{}
	}
	return fleet.Owner{PID: p.PID, Alive: host.OS().Alive(p) == host.Alive}
}

// WorkedOn reports whether run is a local run on which a gaffer process of this machine has ever
// worked. A run is local if its field OnlyWorker is the run's own id. The database alone does not
// prove that, because other programs can write to it. So WorkedOn also requires that the lock file
// of the run exists. Lock creates that file, and it remains after the run has ended.
func (l Locks) WorkedOn(run store.Run) bool {
	_, err := os.Stat(l.File(run.ID))
	return run.OnlyWorker == run.ID && err == nil
}
