// Package host is what an update of a document asks of the machine: files,
// locks, the clock, and who is alive. Every file operation carries the name of
// the step it belongs to, so that an error can say which step failed and a test
// can make exactly that step fail, or be the last thing a process ever did.
package host

import (
	"context"
	"io/fs"
	"iter"
	"time"
)

// Op names a step of a larger operation, such as "sync temp".
type Op string

// Host is a machine. [OS] is the real one; package hosttest has one that
// crashes. Names are paths. Errors are those of package os.
type Host interface {
	// Open opens a file for reading. It never waits, not even for the other
	// end of a pipe.
	Open(op Op, name string) (File, error)
	// Create makes a new file for writing; an existing one is fs.ErrExist.
	Create(op Op, name string, perm fs.FileMode) (File, error)
	// Rename replaces to with from, atomically.
	Rename(op Op, from, to string) error
	// RenameNew renames from to to; an existing one is fs.ErrExist. Where the
	// machine cannot do that the error is errors.ErrUnsupported.
	RenameNew(op Op, from, to string) error
	// Link gives a file a second name; an existing one is fs.ErrExist.
	Link(op Op, from, to string) error
	Symlink(op Op, target, name string) error
	Readlink(op Op, name string) (string, error)
	// Remove removes a file or an empty folder.
	Remove(op Op, name string) error
	// Mkdir makes one folder; an existing one is fs.ErrExist.
	Mkdir(op Op, name string, perm fs.FileMode) error
	Stat(op Op, name string) (fs.FileInfo, error)
	Lstat(op Op, name string) (fs.FileInfo, error)
	ReadDir(op Op, name string) ([]fs.DirEntry, error)
	// Names yields the names in a folder, in no order. It holds only a few at
	// a time, however many there are. An error is the last that it yields.
	Names(op Op, name string) iter.Seq2[string, error]
	// SyncDir makes the entries of a folder durable.
	SyncDir(op Op, name string) error
	// Lock takes the exclusive advisory lock on a file, which is made if need
	// be, and waits for it until ctx ends. The lock ends with the process.
	Lock(ctx context.Context, op Op, name string) (Lock, error)

	Now() time.Time
	// Sleep waits until d has passed or ctx has ended, and returns ctx's error.
	Sleep(ctx context.Context, d time.Duration) error
	// Self identifies the calling process.
	Self() Process
	// Alive tells whether a process is still there.
	Alive(p Process) Liveness
}

// File is an open file.
type File interface {
	Read(p []byte) (int, error)
	Write(op Op, p []byte) error
	Stat() (fs.FileInfo, error)
	Chmod(op Op, mode fs.FileMode) error
	Chown(op Op, uid, gid int) error
	// Sync makes the content durable.
	Sync(op Op) error
	Close() error
}

// Lock is a lock that is held.
type Lock interface{ Unlock() error }

// Process identifies a process for as long as machines exist: a pid alone is
// given again to others.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks between boot and the process's start
	Boot  string `json:"boot"`  // the kernel's id of this boot
	Space string `json:"space"` // the pid namespace in which PID counts
	Host  string `json:"host"`
}

// Liveness is what can be said about a process from here.
type Liveness int

// A process in another pid namespace or on another machine is Unknown.
const (
	Unknown Liveness = iota
	Alive
	Dead
)
