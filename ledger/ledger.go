// Package ledger stores records about the attempts of agents at tasks. It defines a protocol, so
// that other programs can use the same files. The protocol calls a task a bead. An attempt has a
// run record, which says what was started. After its end the attempt also has a result record,
// which says how it ended. Each record is a JSON file. The root folder is usually called state.
//
//	runs/<bead>.json                 the latest attempt, written at its start
//	runs/<bead>.attempt-<n>.json     an earlier attempt, kept when a later one started
//	results/<bead>.json              the latest outcome, written at the end of the attempt
//	results/<bead>.attempt-<n>.json  the outcome of an earlier attempt
//
// A record never overwrites the record of another attempt. A run record changes only
// once, from running to its outcome. A result record never changes. The exception is
// [Store.Fix], which adds missing fields to records and keeps copies of the old files.
package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// Options configure a ledger. The zero value is valid.
type Options struct {
	Host        host.Host        // file system and clock; nil means those of this machine
	Now         func() time.Time // nil means the clock of Host
	LockTimeout time.Duration    // how long to wait for other writers; 0 means statefile.DefaultLockTimeout
	// Name is the root folder's name, as written in the JSON field result_file of run records, such
	// as state in state/results/bd-1.json. If Name is "", the last element of the root's path is
	// used.
	Name string
}

// Store reads and writes the ledger in one root folder. Several goroutines may use the same Store,
// and several processes may use the same folder.
type Store struct {
	root string
	host host.Host
	opts Options
}

// Open returns a Store for the folder root. It reads and writes no file.
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

// path returns the path of the latest run record or result record of a task.
func (s *Store) path(kind Kind, bead string) string {
	return filepath.Join(s.Dir(kind), bead+extension)
}

// keptPath returns the path of the record of an attempt that is not the latest of its task.
func (s *Store) keptPath(kind Kind, bead string, attempt int) string {
	return filepath.Join(s.Dir(kind), keptName(bead, attempt))
}

const opLock host.Op = "lock records"

var errLockTimeout = errors.New("lock timeout")

// lock locks a folder of records against other writers until unlock is called. If the lock does not
// become free within LockTimeout, it returns a LockError. A caller that needs both folders must
// lock the folder of the run records before that of the result records, to avoid deadlocks.
func (s *Store) lock(ctx context.Context, dir string) (unlock func(), err error) {
	name := filepath.Join(dir, ".records.flock")
	limited, cancel := context.WithTimeoutCause(ctx, s.opts.LockTimeout, errLockTimeout)
	defer cancel()
	held, err := s.host.Lock(limited, opLock, name)
	switch {
	case err == nil:
		return func() { _ = held.Unlock() }, nil // ignore the error: the kernel releases the lock when the process ends
	case errors.Is(context.Cause(limited), errLockTimeout):
		return nil, &statefile.LockError{Path: name, Waited: s.opts.LockTimeout, Holder: "another gaffer process"}
	}
	return nil, err
}
