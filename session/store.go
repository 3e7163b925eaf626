package session

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// File names below a store's root.
const (
	sessionsName = "sessions"
	statusName   = "status.json"
	activeName   = "active-session"
)

// Options configure a store. The zero value is suitable for most programs.
type Options struct {
	Host host.Host        // the real machine if nil
	Now  func() time.Time // the host's clock if nil
	Rand io.Reader        // crypto/rand if nil

	// LogPrefix is the path of the store's root folder as it appears in the JSON member log_file of
	// each agent. It should be relative to the project's root. If LogPrefix is empty, [New] uses
	// its parameter root.
	LogPrefix string

	LockTimeout time.Duration // statefile's default if zero
	// Notice receives messages for the user about unusual events that are not errors, such as a
	// stale lock that was broken.
	Notice func(statefile.Notice)
}

// Store manages the sessions of one project. It is safe for concurrent use. If several updates of
// one session wait for the lock, they are written to disk together.
type Store struct {
	root string
	opts Options

	mu    sync.Mutex
	files map[string]*document // documents by session id
}

// document holds the [statefile.File] of a session's status document. A store makes all updates of
// a session with one File, because only updates of the same File are written together. The field
// finder finds agents by id. It needs no mutex, because only updates of the document use it, and
// these never run concurrently.
type document struct {
	*statefile.File
	finder finder
}

// New returns the store in the folder root, such as .founder-mode/status. It reads
// and writes no file.
func New(root string, opts Options) *Store {
	if opts.Host == nil {
		opts.Host = host.OS()
	}
	if opts.Now == nil {
		opts.Now = opts.Host.Now
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	if opts.LogPrefix == "" {
		opts.LogPrefix = filepath.ToSlash(root)
	}
	return &Store{root: root, opts: opts, files: map[string]*document{}}
}

// Close deletes the hidden lock folders that the store keeps between writes. The store reuses these
// folders, because that makes writes faster. The caller must not call Close during an update.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.Close()
	}
}

// Root returns the store's folder.
func (s *Store) Root() string { return s.root }

// Dir returns the path of a session's folder, whether or not it exists.
func (s *Store) Dir(id string) (string, error) {
	if err := statefile.CheckName("session id", id); err != nil {
		return "", err
	}
	return s.dir(id), nil
}

// LogPath returns the path of an agent's log, whether or not it exists.
func (s *Store) LogPath(id, agent string) (string, error) {
	dir, err := s.Dir(id)
	if err != nil {
		return "", err
	}
	if err := statefile.CheckName("agent id", agent); err != nil {
		return "", err
	}
	return filepath.Join(dir, agent+".log"), nil
}

func (s *Store) sessions() string        { return filepath.Join(s.root, sessionsName) }
func (s *Store) dir(id string) string    { return filepath.Join(s.sessions(), id) }
func (s *Store) status(id string) string { return filepath.Join(s.dir(id), statusName) }
func (s *Store) active() string          { return filepath.Join(s.root, activeName) }

// file returns the document of a session. It returns the same pointer for every call with the same
// id.
func (s *Store) file(id string) (*document, error) {
	if err := statefile.CheckName("session id", id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	if f == nil {
		f = &document{}
		f.File = statefile.New(s.status(id), statefile.Options{
			Host:        s.opts.Host,
			Locking:     statefile.Folder,
			LockTimeout: s.opts.LockTimeout,
			Notice:      s.opts.Notice,
			Finish: func(doc *jsontree.Doc) error {
				f.finder = finder{}
				setDerived(doc.Root(), s.opts.Now())
				return nil
			},
		})
		s.files[id] = f
	}
	return f, nil
}

// Document reads a session's document from disk, without a lock.
func (s *Store) Document(id string) (*jsontree.Doc, error) {
	if err := statefile.CheckName("session id", id); err != nil {
		return nil, err
	}
	// Do not use s.file, which adds an entry to a map for every id. Requests for arbitrary ids
	// would make this map grow without limit.
	doc, err := statefile.New(s.status(id), statefile.Options{Host: s.opts.Host}).Load()
	return doc, s.notFoundFor(id, err)
}

// Load reads as much of a session's document as possible. [Store.Validate] reports
// the parts that could not be read.
func (s *Store) Load(id string) (Status, error) {
	doc, err := s.Document(id)
	if err != nil {
		return Status{}, err
	}
	status, _ := Decode(doc.Value())
	return status, nil
}

// Update changes a session's document directly, for changes that no other method of Store makes.
// Afterwards it sets the derived values, such as the summary. [statefile.File.Update] says what the
// function change may do.
func (s *Store) Update(ctx context.Context, id string, change func(root *jsontree.Node) error) error {
	return s.update(ctx, id, func(root *jsontree.Node, f *finder) error {
		// The finder holds an index of the agents. Discard it, because the function change may add
		// or remove agents.
		*f = finder{}
		return change(root)
	})
}

// update is like [Store.Update], for a function change that neither adds nor removes agents. Such a
// function can look up agents with the finder that it gets. The finder's index of agents then stays
// valid for all updates that are written together.
func (s *Store) update(ctx context.Context, id string, change func(*jsontree.Node, *finder) error) error {
	f, err := s.file(id)
	if err != nil {
		return err
	}
	err = f.Update(ctx, func(doc *jsontree.Doc) error {
		if err := checkForm(f.Path(), doc.Root()); err != nil {
			return err
		}
		return change(doc.Root(), &f.finder)
	})
	return s.notFoundFor(id, err)
}

// checkForm returns an error if the document is not an object or its agents are not
// an array. The agents may be missing or null.
func checkForm(path string, root *jsontree.Node) error {
	if root.Kind() != jsontree.Object {
		return &DocumentError{path, jsontree.Mismatch{Path: "document", Want: "an object", Found: root.Kind().String()}}
	}
	agents := root.Child("agents")
	if agents != nil && agents.Kind() != jsontree.Array && agents.Kind() != jsontree.Null {
		return &DocumentError{path, jsontree.Mismatch{Path: "agents", Want: "an array", Found: agents.Kind().String()}}
	}
	return nil
}

// notFoundFor improves the error err of an operation on the document of the session id. If err says
// that a file does not exist, and this document is indeed missing, notFoundFor returns a
// [*NotFoundError] for the session. Otherwise it returns err unchanged.
func (s *Store) notFoundFor(id string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := s.opts.Host.Lstat(opLook, s.status(id)); !errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	ids, _ := s.IDs() // the ids are only for a hint about similar ids, so ignore an error
	return &NotFoundError{What: "session", ID: id, Where: s.sessions(), Similar: similar(id, ids)}
}
