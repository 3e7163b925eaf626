package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Names of two kinds of file operations: locking the team's folder, and looking for files.
const (
	opLock host.Op = "lock team"
	opLook host.Op = "look for session"
)

// Options configure a store. The zero value uses this machine and sends no notices.
type Options struct {
	Host        host.Host              // the machine whose files are used; this machine if nil
	Now         func() time.Time       // the host's clock if nil
	LockTimeout time.Duration          // statefile.DefaultLockTimeout if zero
	Notice      func(statefile.Notice) // is called with each message for the user; may be nil
}

// Store manages the folder with the JSON documents of a project's team. It is safe for concurrent
// use by goroutines and processes: only one can write at a time. Readers take no lock, except to
// complete an interrupted change of the session.
type Store struct {
	root  string
	opts  Options
	files map[Document]*statefile.File
	// records contains the same documents as the field files, but with other options: an update
	// creates a missing document and replaces a corrupt one. Only the method Record uses it.
	records map[Document]*statefile.File
}

// Open returns the store for the team whose documents are in the folder root. It reads and writes
// no file.
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
	s := &Store{root: root, opts: opts, files: map[Document]*statefile.File{}, records: map[Document]*statefile.File{}}
	for _, d := range Documents() {
		o := s.fileOptions(d)
		s.files[d] = statefile.New(s.path(d), o)
		o.Empty, o.StartOver = []byte("{}\n"), true
		s.records[d] = statefile.New(s.path(d), o)
	}
	return s
}

// Root returns the folder of the team.
func (s *Store) Root() string { return s.root }

func (s *Store) path(d Document) string { return filepath.Join(s.root, d.Path()) }

// fileOptions returns options that say what an update does if a document is missing or corrupt. For
// a state file the update fails, because an empty state would say that nothing was done yet. A
// missing message file is created. A corrupt message file is copied and then replaced by an empty
// one.
func (s *Store) fileOptions(d Document) statefile.Options {
	o := statefile.Options{Host: s.opts.Host, Notice: s.opts.Notice, LockTimeout: s.opts.LockTimeout}
	if _, ok := channelOf(d); ok {
		o.Empty, o.StartOver = []byte(emptyMessages), true
	}
	return o
}

// exclusive calls the function fn while it holds the team's lock. If archiving or creating a
// session was interrupted earlier, exclusive first completes it. exclusive returns a
// [*NoSessionError] if the team's folder does not exist. Do not call exclusive while holding the
// lock of a document: another process may hold the team's lock and wait for the document's lock, so
// the two processes would block each other.
func (s *Store) exclusive(ctx context.Context, fn func(now time.Time) error) error {
	lock, err := s.lock(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return &NoSessionError{Root: s.root}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // ignore the error: the kernel releases the lock when the process ends
	if err := s.finishChange(); err != nil {
		return err
	}
	return fn(s.opts.Now())
}

var errLockTimeout = errors.New("lock timeout")

func (s *Store) lock(ctx context.Context) (host.Lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.LockTimeout, errLockTimeout)
	defer cancel()
	name := filepath.Join(s.root, lockFile)
	lock, err := s.opts.Host.Lock(ctx, opLock, name)
	if err != nil && errors.Is(context.Cause(ctx), errLockTimeout) {
		return nil, &statefile.LockError{Path: name, Waited: s.opts.LockTimeout, Holder: "another gaffer process"}
	}
	return lock, err
}

// finishPending completes the archiving or creation of a session if it was interrupted, so that a
// reader sees a complete session.
func (s *Store) finishPending(ctx context.Context) error {
	if begun, err := s.exists(s.changePath()); !begun {
		return err
	}
	return s.exclusive(ctx, func(time.Time) error { return nil })
}

func (s *Store) exists(path string) (bool, error) {
	_, err := s.opts.Host.Lstat(opLook, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// present lists the existing documents, readable or not.
func (s *Store) present() ([]Document, error) {
	var docs []Document
	for _, d := range Documents() {
		there, err := s.exists(s.path(d))
		if err != nil {
			return nil, err
		}
		if there {
			docs = append(docs, d)
		}
	}
	return docs, nil
}

// load decodes the document d into the value that target points to. If the document is missing,
// load leaves the value unchanged and returns jsontree.Missing.
func (s *Store) load(d Document, target any) (jsontree.Kind, error) {
	doc, err := s.files[d].Load()
	if errors.Is(err, fs.ErrNotExist) {
		return jsontree.Missing, nil
	}
	if err != nil {
		return jsontree.Missing, err
	}
	jsontree.Decode(doc.Value(), target)
	return doc.Value().Kind(), nil
}

// checkForm returns an error if the content of a document is not a JSON object and therefore cannot
// be edited.
func (s *Store) checkForm(d Document, kind jsontree.Kind) error {
	if kind == jsontree.Object || kind == jsontree.Missing {
		return nil
	}
	return &statefile.FormError{Path: s.path(d), Problem: fmt.Sprintf("is %s where an object should be", kind)}
}

// update edits one document in place, by calling the function change. If change has modified the
// document, update also calls countAndDate.
func (s *Store) update(ctx context.Context, d Document, now time.Time, change func(*jsontree.Node) error) error {
	err := s.files[d].Update(ctx, func(doc *jsontree.Doc) error { return s.revise(d, doc, now, change) })
	if errors.Is(err, fs.ErrNotExist) {
		return &NoSessionError{Root: s.root, Missing: d}
	}
	return err
}

func (s *Store) revise(d Document, doc *jsontree.Doc, now time.Time, change func(*jsontree.Node) error) error {
	before := doc.Mark()
	if err := s.checkForm(d, doc.Root().Kind()); err != nil {
		return err
	}
	if err := change(doc.Root()); err != nil {
		return err
	}
	if doc.Mark() != before {
		countAndDate(d, doc.Root(), At(now))
	}
	return nil
}

// countAndDate records in a document that it was changed. In pm_state.json it increments the
// counter iteration and sets last_update. In orchestrator_state.json it only sets last_update,
// because iteration counts the starts of agents there. It does not touch the other documents,
// because each group of tasks and each message has its own times.
func countAndDate(d Document, root *jsontree.Node, now Time) {
	switch d {
	case PMStateDoc:
		increment(root, "iteration")
		root.Set("last_update", now)
	case OrchestratorDoc:
		root.Set("last_update", now)
	}
}

// increment increments the counter in the member called name. A missing counter becomes 1. A value
// that is not an integer stays unchanged; the validation of the document reports it.
func increment(n *jsontree.Node, name string) {
	if v := n.Get(name); v.Absent() {
		n.Set(name, 1)
	} else if count, ok := intOf(v); ok {
		n.Set(name, plusOne(count))
	}
}

// NoSessionError reports that there is no session, or that a document of the session is missing.
type NoSessionError struct {
	Root    string
	Missing Document // the missing document; empty if all are missing
}

func (e *NoSessionError) Error() string {
	if e.Missing != "" {
		return fmt.Sprintf("%s: the session has no %s", e.Root, e.Missing.Path())
	}
	return e.Root + ": there is no session"
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NoSessionError) NotFound() bool { return true }

// Hint tells the user what to do next.
func (e *NoSessionError) Hint() string {
	if e.Missing != "" {
		return "'gaffer team init --new' archives what is there and begins a session"
	}
	return "'gaffer team init' begins one"
}
