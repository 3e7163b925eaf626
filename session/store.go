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

// The names below a store's root.
const (
	sessionsName = "sessions"
	statusName   = "status.json"
	activeName   = "active-session"
)

// Options say how a store works. The zero value is right for most programs.
type Options struct {
	Host host.Host        // the real machine if nil
	Now  func() time.Time // the host's clock if nil
	Rand io.Reader        // crypto/rand if nil

	// LogPrefix is the store's root as it stands in log_file, which is to be
	// relative to the project's root. It is the root as given if empty.
	LogPrefix string

	LockTimeout time.Duration // statefile's default if zero
	// Notice is told what a person should know although all went well.
	Notice func(statefile.Notice)
}

// Store is the sessions of one project. It is safe for concurrent use; updates
// of one session that wait at the same time share one write.
type Store struct {
	root string
	opts Options

	mu    sync.Mutex
	files map[string]*document // by session id
}

// document is the one File of a session: only updates of the same File share a
// write. The finder is used inside updates alone, which come one by one.
type document struct {
	*statefile.File
	finder finder
}

// New returns the store in the folder root, such as .founder-mode/status. It
// touches nothing.
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

// Close removes what the store keeps beside its documents to be quick. It must
// not be used while an update is under way.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.Close()
	}
}

// Root returns the store's folder.
func (s *Store) Root() string { return s.root }

// Dir returns the folder of a session, whether or not there is one.
func (s *Store) Dir(id string) (string, error) {
	if err := statefile.CheckName("session id", id); err != nil {
		return "", err
	}
	return s.dir(id), nil
}

// LogPath returns where an agent's output goes, whether or not there is any.
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

// file returns the one document of a session.
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
				settle(doc.Root(), s.opts.Now())
				return nil
			},
		})
		s.files[id] = f
	}
	return f, nil
}

// Document returns a session's document as it stands on disk, without a lock.
func (s *Store) Document(id string) (*jsontree.Doc, error) {
	if err := statefile.CheckName("session id", id); err != nil {
		return nil, err
	}
	// Not of the one File: whoever asks for any id must not make the store keep it.
	doc, err := statefile.New(s.status(id), statefile.Options{Host: s.opts.Host}).Load()
	return doc, s.explain(id, err)
}

// Load returns a session's document as far as it can be read. [Store.Validate]
// tells what could not.
func (s *Store) Load(id string) (Status, error) {
	doc, err := s.Document(id)
	if err != nil {
		return Status{}, err
	}
	status, _ := Decode(doc.Value())
	return status, nil
}

// Update changes a session's document by hand, for what the other operations
// do not do. What follows from the agents is set afterwards. See
// [statefile.File.Update] for what change may do.
func (s *Store) Update(ctx context.Context, id string, change func(root *jsontree.Node) error) error {
	return s.update(ctx, id, func(root *jsontree.Node, f *finder) error {
		*f = finder{} // change may add and remove agents
		return change(root)
	})
}

// update is Update for a change that neither adds nor removes agents.
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
	return s.explain(id, err)
}

// checkForm refuses to change a document in which nothing could be found.
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

// explain says of a document that is not there that the session is not.
func (s *Store) explain(id string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := s.opts.Host.Lstat(opLook, s.status(id)); !errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	ids, _ := s.IDs() // only to be helpful
	return &NotFoundError{What: "session", ID: id, Where: s.sessions(), Similar: similar(id, ids)}
}
