// Package statefile reads, updates and watches a JSON document: one file that several
// programs share.
//
// A reader sees the old or the new document, never a partial one. An update that has
// returned survives a crash and a power cut. Every write keeps members that the
// writer does not know. If a file is not JSON, an update either fails, or saves a copy
// of the file before it replaces the file.
package statefile

import (
	"context"
	"io/fs"
	"time"

	"gaffer/statefile/batch"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// MaxSize is the maximum size of a document, in bytes.
const MaxSize = 64 << 20

// DefaultLockTimeout is how long an update waits for the lock by default.
const DefaultLockTimeout = 30 * time.Second

// Locking selects how the programs that write a document exclude each other.
type Locking int

const (
	// Advisory is an advisory lock on a file beside the document. A program may ignore the lock and
	// change the document during an update. Right before the update replaces the document, it
	// checks for such a change. If it finds one, it starts again with the changed document.
	Advisory Locking = iota
	// Folder is two locks: the advisory lock, and a lock folder that programs in other languages
	// also use. The lock folder is beside the document and is called <name>.lock, where <name> is
	// the document's file name. These programs take the lock with mkdir and release it with rmdir.
	Folder
)

// Options configure a document. With the zero value, an update takes an advisory lock, and fails if
// the document is missing or is not JSON.
type Options struct {
	Host    host.Host // nil means the real operating system
	Locking Locking

	// Empty is the content that an update starts from if the document does not exist. If Empty is
	// nil, an update of a missing document fails with fs.ErrNotExist.
	Empty []byte
	// StartOver lets an update replace a file that is not JSON by the content Empty, if Empty is
	// not nil. The old bytes are kept as <name>.corrupt-<time>. If the document's path is a
	// symbolic link, the update fails instead, because the link may lead to any file of the user.
	StartOver bool
	// Finish sets derived values, such as totals, in the document. It runs once per write, after
	// all changes.
	Finish func(*jsontree.Doc) error
	// Saw receives the document's file information after each update, while the lock is held. The
	// information is that of the file that the update wrote. If the update wrote nothing, it is
	// that of the file that the update read, or nil if there is no file. The caller can compare it
	// with later file information to detect changes by other programs. Saw is not called if the
	// write fails.
	Saw func(fs.FileInfo)
	// Notice receives messages for the user about unusual events that do not make an update fail.
	Notice func(Notice)
	// LockTimeout is how long an update waits for the lock. Zero means DefaultLockTimeout.
	LockTimeout time.Duration
}

// Notice is a message for the user about an unusual event, such as a stale lock that
// was broken or a corrupt file that was kept.
type Notice struct {
	Kind NoticeKind
	Path string
	Text string // a full sentence for the user
}

// NoticeKind says what a notice is about.
type NoticeKind string

// The kinds of notices that this package sends: a stale lock was broken, or the content of a file
// that is not JSON was kept in a copy.
const (
	LockBroken  NoticeKind = "lock-broken"
	CorruptKept NoticeKind = "corrupt-kept"
)

// File is one document. It is safe for concurrent use. Updates that wait at the same time are
// written together.
type File struct {
	path string
	host host.Host
	opts Options

	updates batch.Queue[*request]

	// The fields below are used only by Close and by the goroutine that works on a batch of
	// updates.
	swept  bool   // removeTemps has deleted the temporary files that earlier processes left
	locked int    // how many times this File has taken and released the lock folder
	kept   string // path of a hidden lock folder that the next update reuses; empty if there is none
}

// New returns the document at path. It reads and writes no file.
func New(path string, opts Options) *File {
	if opts.Host == nil {
		opts.Host = host.OS()
	}
	if opts.LockTimeout == 0 {
		opts.LockTimeout = DefaultLockTimeout
	}
	return &File{path: path, host: opts.Host, opts: opts}
}

// Path returns the path of the document.
func (f *File) Path() string { return f.path }

// Close deletes the hidden lock folder that the File keeps for the next update. The File can still
// be used afterwards. If a program ends without Close, the folder is deleted by the first update
// through a new File. The caller must not call Close during an update.
func (f *File) Close() {
	if f.kept != "" {
		removeLock(f.host, f.kept)
		f.kept = ""
	}
}

// Load reads the document without taking a lock. The error wraps fs.ErrNotExist if the
// document does not exist. It is a [*CorruptError] if the file is not JSON, and a
// [*FormError] if the file cannot be a document, for example because it is a folder or is
// larger than [MaxSize].
func (f *File) Load() (*jsontree.Doc, error) {
	doc, _, _, err := f.readDocument()
	return doc, err
}

// Update changes the document: lock, read, change, write a temporary file, sync, rename, sync the
// folder, unlock. If Update returns nil, the change is durable. If it returns an error, the change
// was not made, except if [StepError.Replaced] is true: then the document was replaced, but the
// folder could not be synced.
//
// The function change edits the given document. If it returns an error, Update returns that error
// and does not write this change. change must have no other effects, because it may run several
// times, for example if a program that takes no lock has changed the document in the meantime.
//
// Concurrent updates of one File are written together. Each call returns when its change is
// durable.
func (f *File) Update(ctx context.Context, change func(*jsontree.Doc) error) error {
	return f.submit(ctx, change)
}
