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

// The steps of what is done to a session beside writing its documents.
const (
	opLock host.Op = "lock team"
	opLook host.Op = "look for session"
)

// Options say how a session is kept. The zero value is this machine.
type Options struct {
	Host        host.Host              // this machine if nil
	Now         func() time.Time       // the host's clock if nil
	LockTimeout time.Duration          // statefile.DefaultLockTimeout if zero
	Notice      func(statefile.Notice) // told what a person should know
}

// Store is the folder of a project's team. Its methods may be called by many
// goroutines and processes at once: those that write take turns, those that
// read never wait.
type Store struct {
	root    string
	opts    Options
	files   map[Document]*statefile.File
	records map[Document]*statefile.File // the same, for one who knows all that they are to say
}

// Open returns the team whose documents are below root. It touches nothing.
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

// fileOptions says what an absent or corrupt document means. State that cannot
// be read is for a person to look at: a default would claim that nothing was
// done yet. Messages go on with a fresh file, the corrupt one being kept.
func (s *Store) fileOptions(d Document) statefile.Options {
	o := statefile.Options{Host: s.opts.Host, Notice: s.opts.Notice, LockTimeout: s.opts.LockTimeout}
	if _, ok := channelOf(d); ok {
		o.Empty, o.StartOver = []byte(emptyMessages), true
	}
	return o
}

// exclusive runs act while no other writer of this team runs, after finishing
// what a writer that died has begun. It is the lock above those of the single
// documents: a session that is being archived moves all of them.
func (s *Store) exclusive(ctx context.Context, act func(now time.Time) error) error {
	lock, err := s.lock(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return &NoSessionError{Root: s.root}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the lock ends with the process anyway
	if err := s.finishChange(); err != nil {
		return err
	}
	return act(s.opts.Now())
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

// settled makes sure that a reader sees a whole session: a change that a dead
// writer left half done is finished first.
func (s *Store) settled(ctx context.Context) error {
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

// present lists the documents that are there, whatever they are.
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

// load reads one document into a typed value. An absent document leaves it as
// it is and has no kind.
func (s *Store) load(d Document, into any) (jsontree.Kind, error) {
	doc, err := s.files[d].Load()
	if errors.Is(err, fs.ErrNotExist) {
		return jsontree.Missing, nil
	}
	if err != nil {
		return jsontree.Missing, err
	}
	jsontree.Decode(doc.Value(), into)
	return doc.Value().Kind(), nil
}

// checkForm refuses to write into what is no object, since nothing could be
// found in it again.
func (s *Store) checkForm(d Document, kind jsontree.Kind) error {
	if kind == jsontree.Object || kind == jsontree.Missing {
		return nil
	}
	return &statefile.FormError{Path: s.path(d), Problem: fmt.Sprintf("is %s where an object should be", kind)}
}

// update edits one document in place. When change changed something, the
// document is stamped as the protocol asks.
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
		stamp(d, doc.Root(), At(now))
	}
	return nil
}

// stamp counts and dates a write. The orchestrator's iteration counts starts of
// agents, not writes, and groups are dated one by one.
func stamp(d Document, root *jsontree.Node, now Time) {
	switch d {
	case PMStateDoc:
		grow(root, "iteration")
		root.Set("last_update", now)
	case OrchestratorDoc:
		root.Set("last_update", now)
	}
}

// grow adds one to a counter. What is no whole number stays as it is: the
// validation reports it.
func grow(n *jsontree.Node, name string) {
	if v := n.Get(name); v.Absent() {
		n.Set(name, 1)
	} else if count, ok := intOf(v); ok {
		n.Set(name, oneMore(count))
	}
}

// NoSessionError is a team without a session, or without one of its documents.
type NoSessionError struct {
	Root    string
	Missing Document // the document that is not there, if others are
}

func (e *NoSessionError) Error() string {
	if e.Missing != "" {
		return fmt.Sprintf("%s: the session has no %s", e.Root, e.Missing.Path())
	}
	return e.Root + ": there is no session"
}

// NotFound marks the error as something that is not there.
func (e *NoSessionError) NotFound() bool { return true }

// Hint says what to do next.
func (e *NoSessionError) Hint() string {
	if e.Missing != "" {
		return "'gaffer team init --new' archives what is there and begins a session"
	}
	return "'gaffer team init' begins one"
}
