package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gaffer/internal/attempt/runlock"
	"gaffer/statefile/host"
)

// NameTakenError reports that another process is already the worker with this name.
type NameTakenError struct {
	Name string
	PID  int
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("worker %s: gaffer with pid %d is it", e.Name, e.PID)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *NameTakenError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NameTakenError) Hint() string {
	return "one more worker on this machine needs a name of its own: --name NAME"
}

const opLockName host.Op = "take the worker's name"

// lockName locks the worker's name for this process. It returns a [*NameTakenError] if another
// process on this machine holds the lock. The kernel releases the lock if this process dies.
func (s *ServerWorker) lockName(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, runlock.Within)
	defer cancel()
	lock, err := host.OS().Lock(within, opLockName, s.folder("lock"))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &NameTakenError{s.opts.Name, ownerOf(s.folder("pid"))}
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(host.OS().Self())
	if err == nil {
		err = os.WriteFile(s.folder("pid"), text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() { _ = lock.Unlock() }, nil // ignore the error: the kernel releases the lock when the process ends
}

// ownerOf reads the pid file of a worker and returns the process id in it. It returns 0 if the file
// cannot be read.
func ownerOf(file string) int {
	var p host.Process
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return 0
	}
	return p.PID
}
