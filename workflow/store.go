// Package workflow stores the workflow state of a project: the current command and step, the build
// run with its chunks (the parts of the build), the inbox (ideas that the user leaves for later
// commands), and the feed (a list of events). The state is in JSON documents in the folder .fctry.
// Agents, scripts and a viewer read and write these documents independently of each other. The
// workflow protocol defines the content of the documents.
//
// Functions such as [BeginStep], [SetChunk] and [Set] implement the rules of the protocol. They
// edit a document in memory. To edit the stored state, a caller passes [Store.Update] a function
// that calls them. Update runs this function under the document's lock and writes the result
// durably.
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

// Names of file operations of this package. Errors and tests identify an operation by its name; see
// [host.Op].
const (
	opLook       host.Op = "look for document"
	opSyncFolder host.Op = "sync workflow folder"
)

// Options configure a Store. The zero value uses the real file system and clock.
type Options struct {
	Host        host.Host
	Now         func() time.Time // the current time; if nil, the host's clock
	Rand        io.Reader        // random numbers for ids; if nil, crypto/rand
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

// Open returns the store for the workflow state in the folder root. It does not access any file.
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
	// The workflow protocol says that a state.json that cannot be parsed counts as {}. So an update
	// may replace such a file (startOver is true), after it has saved a copy. inbox.json is never
	// replaced, because it contains the user's ideas.
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

// Load reads the state. It returns {} if state.json is missing, or if the file contains null or [].
func (s *Store) Load() (jsontree.Value, error) {
	doc, err := load(s.state, jsontree.Object, "{}")
	if err != nil {
		return jsontree.Value{}, err
	}
	return doc.Value(), nil
}

// State reads the state as a struct. Values of the wrong type are left out; [Store.Validate]
// reports them.
func (s *Store) State() (State, error) {
	v, err := s.Load()
	if err != nil {
		return State{}, err
	}
	state, _ := Read(v)
	return state, nil
}

// Update runs the function change, which edits the state, while the state is locked. If change has
// edited anything, Update sets lastUpdated and writes the file. The function change may be called
// more than once and must have no other effects.
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

// BuildsFolder is the name of the folder for copies of build runs; see [Store.KeepRun]. It is a
// subfolder of the workflow folder.
const BuildsFolder = "builds"

// KeepRun copies the build run in the state to a new file in BuildsFolder, and returns the path of
// this file. It returns "" if there is no build run.
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

// Watch calls the function changed with the state until ctx ends: once at the start, and after each
// change of the state by any program. Changes in quick succession may be reported as one. If the
// state cannot be read, Watch calls changed with the error and continues.
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

// edit applies the function change to the document f. If the file does not exist, edit first tries
// change on an empty document, so that no files are created if change fails.
func (s *Store) edit(ctx context.Context, f *statefile.File, empty string, change func(*jsontree.Doc) error) error {
	var own []string // patterns for a new .gitignore, in addition to those for lock files
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
	}
	// Let git ignore the state, but not the inbox: users may want to commit their ideas.
	if _, err := s.opts.Host.Lstat(opLook, s.state.Path()); errors.Is(err, fs.ErrNotExist) {
		own = append(own, StateFile, StateFile+".corrupt-*")
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

// replaceEmpty checks that a document is of the given kind. If it is not, and it has no content
// (null, [] or {}), replaceEmpty replaces it by the JSON text in the parameter empty. For any other
// document of the wrong kind, it returns an error.
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
