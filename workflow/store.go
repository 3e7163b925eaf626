// Package workflow stores the workflow state of a project: the current command and step, the build
// run with its chunks, the inbox, and the feed of events. The state is in the folder .fctry. Agents,
// scripts and a viewer read and write it independently of each other.
//
// The rules are pure functions on the document, such as [BeginStep], [SetChunk] and [Set]. A caller
// passes [Store.Update] a function that calls them. Update calls this function under the document's
// lock and makes the result durable.
package workflow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// File names of the documents in the project's workflow folder.
const (
	StateFile = "state.json"
	InboxFile = "inbox.json"
)

// Names of the file operations that only this package uses. Package statefile defines the names of
// the other operations of an update.
const (
	opLook       host.Op = "look for document"
	opSyncFolder host.Op = "sync workflow folder"
)

// Options configure a Store. The zero value uses the real machine.
type Options struct {
	Host        host.Host
	Now         func() time.Time // the host's clock if nil
	Rand        io.Reader        // random numbers for ids; crypto/rand if nil
	LockTimeout time.Duration    // statefile.DefaultLockTimeout if zero
	Notice      func(statefile.Notice)
}

// Store is the workflow state of one project. It is safe for concurrent use.
type Store struct {
	root  string
	opts  Options
	state *statefile.File
	inbox *Inbox
}

// Open returns the workflow state in the folder root. It reads and writes no file.
func Open(root string, opts Options) *Store {
	if opts.Host == nil {
		opts.Host = host.OS()
	}
	if opts.Now == nil {
		opts.Now = opts.Host.Now
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	s := &Store{root: root, opts: opts}
	// By the protocol, a state that cannot be parsed counts as {}; statefile first keeps a copy of
	// its bytes. This does not apply to the inbox: it holds the user's ideas, which must not be
	// replaced.
	s.state = statefile.New(filepath.Join(root, StateFile), s.file([]byte("{}\n"), true))
	s.inbox = &Inbox{
		store: s,
		doc:   statefile.New(filepath.Join(root, InboxFile), s.file([]byte("[]\n"), false)),
	}
	return s
}

func (s *Store) file(empty []byte, startOver bool) statefile.Options {
	return statefile.Options{
		Host: s.opts.Host, Locking: statefile.Advisory, Empty: empty, StartOver: startOver,
		Notice: s.opts.Notice, LockTimeout: s.opts.LockTimeout,
	}
}

// Inbox returns the project's inbox.
func (s *Store) Inbox() *Inbox { return s.inbox }

// Load reads the state. It returns {} if state.json is missing, or if it contains null or [].
func (s *Store) Load() (jsontree.Value, error) {
	doc, err := load(s.state, jsontree.Object, "{}")
	if err != nil {
		return jsontree.Value{}, err
	}
	return doc.Value(), nil
}

// State reads the state as a struct. It omits values of the wrong type; Validate reports them.
func (s *Store) State() (State, error) {
	v, err := s.Load()
	if err != nil {
		return State{}, err
	}
	state, _ := Read(v)
	return state, nil
}

// Update changes the state under its lock and sets lastUpdated. If change edits
// nothing, nothing is written. change may run more than once and must have no other
// effects.
func (s *Store) Update(ctx context.Context, change func(root *jsontree.Node) error) error {
	return s.edit(ctx, s.state, "{}", func(doc *jsontree.Doc) error {
		before := doc.Mark()
		if err := replaceEmpty(doc, s.state.Path(), jsontree.Object, "{}"); err != nil {
			return err
		}
		if err := change(doc.Root()); err != nil {
			return withPath(s.state.Path(), err)
		}
		if doc.Mark() != before {
			doc.Root().Set("lastUpdated", timestamp.Format(s.opts.Now()))
		}
		return nil
	})
}

// BuildsFolder is the name of the folder for copies of build runs; see [Store.KeepRun]. It is in the
// workflow folder.
const BuildsFolder = "builds"

// KeepRun copies the build run that is in the state to a new file in BuildsFolder, and returns the
// file's path. It returns "" if there is no build run.
func (s *Store) KeepRun() (path string, err error) {
	state, err := s.Load()
	run := state.Get("buildRun")
	if err != nil || run.Absent() {
		return "", err
	}
	folder := filepath.Join(s.root, BuildsFolder)
	if err := statefile.MkdirIgnored(s.opts.Host, folder); err != nil {
		return "", err
	}
	name := runID(run)
	if statefile.CheckName("build run", name) != nil {
		name = "build"
	}
	data, err := jsontree.Format(run.Raw())
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path = filepath.Join(folder, name+".json")
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s_%d.json", name, n))
		}
		err := statefile.WriteNew(s.opts.Host, path, data, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// Watch calls changed with the state: once at the start, and after each change by any program,
// until ctx ends. If the state cannot be read, changed gets the error, and Watch continues.
func (s *Store) Watch(ctx context.Context, changed func(state jsontree.Value, err error)) error {
	return s.state.Watch(ctx, func(data []byte, err error) {
		if err == nil && data == nil {
			data = []byte("{}")
		}
		if err != nil {
			changed(jsontree.Value{}, err)
			return
		}
		doc, err := jsontree.Parse(data)
		if err == nil {
			err = replaceEmpty(doc, s.state.Path(), jsontree.Object, "{}")
		}
		if err != nil {
			changed(jsontree.Value{}, err)
			return
		}
		changed(doc.Value(), nil)
	})
}

// edit updates one of the documents. If the document does not exist, edit first tries the change on
// an empty document, so that a failing change creates no files.
func (s *Store) edit(ctx context.Context, f *statefile.File, empty string, change func(*jsontree.Doc) error) error {
	var own []string // names of the documents that git should ignore
	if _, err := s.opts.Host.Lstat(opLook, f.Path()); errors.Is(err, fs.ErrNotExist) {
		doc, err := jsontree.Parse([]byte(empty))
		if err != nil {
			return err
		}
		if err := change(doc); err != nil {
			return err
		}
		if err := statefile.MkdirAll(s.opts.Host, s.root); err != nil {
			return err
		}
		if f == s.state { // git does not ignore the inbox: users write it and may commit it
			own = append(own, StateFile, StateFile+".corrupt-*")
		}
	}
	if err := statefile.Ignore(s.opts.Host, s.root, own...); err != nil {
		return err
	}
	return f.Update(ctx, change)
}

func load(f *statefile.File, kind jsontree.Kind, empty string) (*jsontree.Doc, error) {
	doc, err := f.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return jsontree.Parse([]byte(empty))
	}
	if err != nil {
		return nil, err
	}
	return doc, replaceEmpty(doc, f.Path(), kind, empty)
}

// replaceEmpty replaces a document without content (null, [] or {}) by the document empty, which
// has the right kind. It returns an error for any other document of the wrong kind.
func replaceEmpty(doc *jsontree.Doc, path string, kind jsontree.Kind, empty string) error {
	root := doc.Root()
	switch {
	case root.Kind() == kind:
		return nil
	case !holdsNothing(root.Value()):
		return &ShapeError{Path: path, At: "the document", Want: kind.String(), Found: root.Kind().String()}
	}
	fresh, err := jsontree.Parse([]byte(empty))
	if err != nil {
		return err
	}
	root.Replace(fresh.Value())
	return nil
}

func holdsNothing(v jsontree.Value) bool {
	switch v.Kind() {
	case jsontree.Null:
		return true
	case jsontree.Array, jsontree.Object:
		return v.Len() == 0
	}
	return false
}
