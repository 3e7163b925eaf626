// Package host abstracts those parts of the operating system that updates of documents use: files,
// locks, the clock and processes. Most file operations have a parameter op that names the step of
// the update to which the operation belongs. With this name, an error can say which step failed,
// and a test can make exactly that step fail, or let the process die there.
package host

import (
	"context"
	"io/fs"
	"iter"
	"time"
)

// Op names a step of a larger operation, such as "sync temp".
type Op string

// Host is a machine. [OS] returns the real machine; package hosttest has a machine that simulates
// crashes. Parameters called name are paths. Errors are like those of package os.
type Host interface {
	// Open opens a file for reading. It never blocks, not even on a named pipe.
	Open(op Op, name string) (File, error)
	// Create creates a new file for writing. It returns fs.ErrExist if the file
	// exists.
	Create(op Op, name string, perm fs.FileMode) (File, error)
	// CreateComplete creates a new file together with its content: no process ever sees an empty or
	// partial file. The content is synced to disk, but the folder is not, so a power cut may still
	// undo the creation. CreateComplete returns fs.ErrExist if the file exists, and
	// errors.ErrUnsupported if the machine cannot do this.
	CreateComplete(op Op, name string, content []byte, perm fs.FileMode) error
	// Rename atomically renames the file oldPath to newPath. It replaces an existing file.
	Rename(op Op, oldPath, newPath string) error
	// RenameNew renames the file oldPath to newPath. It returns fs.ErrExist if newPath exists, and
	// errors.ErrUnsupported if the machine cannot rename without replacing.
	RenameNew(op Op, oldPath, newPath string) error
	// Link creates newPath as a hard link to the file oldPath. It returns fs.ErrExist if newPath
	// exists.
	Link(op Op, oldPath, newPath string) error
	Symlink(op Op, target, name string) error
	Readlink(op Op, name string) (string, error)
	// Remove deletes a file or an empty folder.
	Remove(op Op, name string) error
	// Mkdir creates one folder. It returns fs.ErrExist if name exists.
	Mkdir(op Op, name string, perm fs.FileMode) error
	Stat(op Op, name string) (fs.FileInfo, error)
	Lstat(op Op, name string) (fs.FileInfo, error)
	ReadDir(op Op, name string) ([]fs.DirEntry, error)
	// Names yields the names of the files and folders in a folder, in no particular order. It never
	// holds all names in memory. If an error occurs, it yields the error and stops.
	Names(op Op, name string) iter.Seq2[string, error]
	// SyncDir makes the entries of a folder durable: a power cut can no longer undo them.
	SyncDir(op Op, name string) error
	// Lock takes the exclusive advisory lock on a file and creates the file if it is missing. It
	// waits for the lock until ctx ends. The kernel releases the lock when the process ends, even
	// if it crashes.
	Lock(ctx context.Context, op Op, name string) (Lock, error)

	Now() time.Time
	// Sleep waits until d has passed or ctx has ended. It returns ctx.Err() if ctx has ended, and
	// nil if not.
	Sleep(ctx context.Context, d time.Duration) error
	// Self returns the identity of the calling process.
	Self() Process
	// Alive returns Alive or Dead if it can find out whether the process p is still running, and
	// Unknown if it cannot.
	Alive(p Process) Liveness
}

// File is an open file.
type File interface {
	Read(p []byte) (int, error)
	Write(op Op, p []byte) error
	Stat() (fs.FileInfo, error)
	Chmod(op Op, mode fs.FileMode) error
	Chown(op Op, uid, gid int) error
	// Sync makes the content durable: a power cut can no longer undo it.
	Sync(op Op) error
	Close() error
}

// Lock is an acquired lock.
type Lock interface{ Unlock() error }

// Process identifies a process. A pid alone is not enough, because the kernel reuses pids.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks between boot and the process's start; 0 on macOS
	Boot  string `json:"boot"`  // the kernel's id of the boot during which the process runs
	Space string `json:"space"` // the pid namespace that PID belongs to; empty on macOS
	Host  string `json:"host"`
}

// Liveness says whether a process is running.
type Liveness int

// The values of Liveness. A process in another pid namespace or on another machine is usually
// Unknown, because this process cannot see it.
const (
	Unknown Liveness = iota
	Alive
	Dead
)
