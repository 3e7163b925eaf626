// Package ledger keeps the run and result records of dispatched agents: one
// JSON file for each attempt of a task ("bead"), below a root that is usually
// called state.
//
//	runs/<bead>.json               the latest attempt, written at dispatch
//	runs/<bead>.attempt-<n>.json   an earlier attempt, kept when a later one began
//	results/<bead>.json            the latest outcome, written at completion
//	results/<bead>.attempt-<n>.json
//
// No record is ever overwritten by another. A run record changes once, from
// running to its outcome; a result record never.
package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// Options say how a ledger is kept. The zero value is the real machine.
type Options struct {
	Host        host.Host        // the real machine if nil
	Now         func() time.Time // the host's clock if nil
	LockTimeout time.Duration    // statefile.DefaultLockTimeout if zero
	// Name is how result_file names the root; the root's own name if empty.
	Name string
}

// Store is the ledger below one root. It is safe for concurrent use, also by
// several processes.
type Store struct {
	root string
	host host.Host
	opts Options
}

// Open returns the ledger at root. It touches nothing.
func Open(root string, opts Options) *Store {
	if opts.Host == nil {
		opts.Host = host.OS()
	}
	if opts.Now == nil {
		opts.Now = opts.Host.Now
	}
	if opts.LockTimeout == 0 {
		opts.LockTimeout = statefile.DefaultLockTimeout
	}
	if opts.Name == "" {
		opts.Name = filepath.Base(root)
	}
	return &Store{root: root, host: opts.Host, opts: opts}
}

// Dir returns the folder of the records of one kind.
func (s *Store) Dir(kind Kind) string { return filepath.Join(s.root, kind.folder()) }

// path returns where the latest record of a task is.
func (s *Store) path(kind Kind, bead string) string {
	return filepath.Join(s.Dir(kind), bead+extension)
}

// keptPath returns where the record of an earlier attempt is.
func (s *Store) keptPath(kind Kind, bead string, attempt int) string {
	return filepath.Join(s.Dir(kind), keptName(bead, attempt))
}

const opLock host.Op = "lock records"

var errLockTimeout = errors.New("lock timeout")

// lock keeps other writers out of a folder of records until unlock is called.
// Whoever needs both folders takes runs first.
func (s *Store) lock(ctx context.Context, dir string) (unlock func(), err error) {
	name := filepath.Join(dir, ".records.flock")
	limited, cancel := context.WithTimeoutCause(ctx, s.opts.LockTimeout, errLockTimeout)
	defer cancel()
	held, err := s.host.Lock(limited, opLock, name)
	switch {
	case err == nil:
		return func() { _ = held.Unlock() }, nil // the kernel frees it at the latest when we end
	case errors.Is(context.Cause(limited), errLockTimeout):
		return nil, &statefile.LockError{Path: name, Waited: s.opts.LockTimeout, Holder: "another gaffer process"}
	}
	return nil, err
}
