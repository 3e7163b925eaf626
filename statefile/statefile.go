// Package statefile keeps one JSON document on disk that several programs
// share, and loses nothing: a document is old or new, never half; an update
// that returned survives a crash and a power cut; fields that the writer does
// not know survive every rewrite; a corrupt file is kept, never replaced in
// silence.
package statefile

import (
	"context"
	"io/fs"
	"time"

	"gaffer/statefile/group"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// MaxSize is the largest document that is read or written.
const MaxSize = 64 << 20

// DefaultLockTimeout is how long an update waits for its turn.
const DefaultLockTimeout = 30 * time.Second

// Locking is how writers of a document keep out of each other's way.
type Locking int

const (
	// Advisory is an advisory lock on a file beside the document. Programs
	// that know nothing of it are noticed just before the document is
	// replaced, and the update is made again on what they wrote.
	Advisory Locking = iota
	// Folder adds the session protocol's lock, which writers in other
	// languages take with mkdir and release with rmdir: <name>.lock.
	Folder
)

// Options say how a document is kept. The zero value is an advisory lock and no
// rules about the content.
type Options struct {
	Host    host.Host // the real machine if nil
	Locking Locking

	// Empty is what an update of an absent document starts from. Without it
	// such an update fails with fs.ErrNotExist.
	Empty []byte
	// StartOver lets an update replace a file that is not JSON by Empty, after
	// its bytes were kept beside it as <name>.corrupt-<time>. A file behind a
	// symbolic link is never replaced so: the link may lead to any file of the
	// user.
	StartOver bool
	// Finish sets what is derived from the rest, such as totals. It runs once
	// for each write, after every change.
	Finish func(*jsontree.Doc) error
	// Saw is told, while the lock is held, how the file looks that has the
	// document after an update: the one that was written or, if nothing was, the
	// one that was read, nil if there is none. One that looks otherwise later was
	// changed by somebody else.
	Saw func(fs.FileInfo)
	// Notice is told what a person should know although the update went well.
	Notice func(Notice)
	// LockTimeout is DefaultLockTimeout if zero.
	LockTimeout time.Duration
}

// Notice is something a person should know: a lock was broken, a corrupt file
// was kept aside.
type Notice struct {
	Kind NoticeKind
	Path string
	Text string // a sentence
}

// NoticeKind says what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	LockBroken  NoticeKind = "lock-broken"
	CorruptKept NoticeKind = "corrupt-kept"
)

// File is one document. It is safe for concurrent use: updates that wait at the
// same time share one write.
type File struct {
	path string
	host host.Host
	opts Options

	updates group.Group[*request]

	// Used by the leader of updates alone.
	swept  bool   // leftovers were looked for
	locked int    // how often the lock folder was given back
	kept   string // a signed lock folder that waits to be used
}

// New returns the document at path. It touches nothing.
func New(path string, opts Options) *File {
	if opts.Host == nil {
		opts.Host = host.OS()
	}
	if opts.LockTimeout == 0 {
		opts.LockTimeout = DefaultLockTimeout
	}
	return &File{path: path, host: opts.Host, opts: opts}
}

// Path returns where the document is.
func (f *File) Path() string { return f.path }

// Close removes what the File keeps beside the document to be quick. A File that
// is not closed leaves it to the next process. It must not be used while an
// update is under way.
func (f *File) Close() {
	if f.kept != "" {
		removeLock(f.host, f.kept)
		f.kept = ""
	}
}

// Load reads the document without taking a lock. An absent one is
// fs.ErrNotExist, one that is not JSON a [*CorruptError].
func (f *File) Load() (*jsontree.Doc, error) {
	doc, _, _, err := f.settle()
	return doc, err
}

// Update changes the document: lock, read, change, write beside it, sync,
// rename, sync the folder, unlock. When it returns nil the change is durable.
// When it returns an error the document does not have the change, with one
// exception that the error names: the folder could not be synced after the
// document was replaced.
//
// change edits the document it is given; an error from it is returned as it is
// and nothing is written for it. It must do nothing else, since it runs again
// when the document was changed meanwhile by a program that takes no lock.
//
// Updates of one File from many goroutines are written together, each caller
// returning when its own is durable.
func (f *File) Update(ctx context.Context, change func(*jsontree.Doc) error) error {
	return f.submit(ctx, change)
}
