package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// Recording writes the document of a session whose state is stored elsewhere, such as in gaffer's
// database. The methods of [Store] allow only the status changes that the protocol allows. A
// Recording does not check them: it overwrites the document with the given state, so an agent that
// had ended may run again.
//
// A Recording creates a missing document. It keeps a copy of a damaged document and writes a new
// one. If other programs change members that the Recording writes, it changes them back. It keeps
// members, agents and waves that other programs have added.
//
// Another program can request a cancellation: it sets the status of the session, or of an agent
// that has not ended, to cancelled. See DetectCancel.
//
// A Recording must not be used by several goroutines at the same time.
type Recording struct {
	// DetectCancel makes [Recording.Write] look for cancellation requests. If another program has
	// set the session, or an agent that has not ended, to cancelled in the document, Write fails
	// with a [*CancelledError] and leaves the document unchanged.
	DetectCancel bool

	store *Store
	id    string
	file  *statefile.File
	seed  maphash.Seed

	members [][]int // for each wave, the indexes of its agents in Status.Agents
	agents  int     // number of agents when members was computed
	last    writtenDocument
	// unsure is the hash of the last document whose write failed, but which may be on disk
	// nevertheless. 0 means that there is no such document.
	unsure    uint64
	seen      fileStat  // size and time of the document's file after our last update; zero if unknown
	started   time.Time // start of the session according to the last Contents
	activated bool      // the method activate has succeeded
}

// writtenDocument describes the document that the recording wrote last.
type writtenDocument struct {
	sum    uint64      // hash of the document, to detect changes by other programs
	known  bool        // false until the recording has written a document
	at     []int       // for each of the recording's agents, its index in the document
	waves  []State     // status of each wave
	alone  bool        // the document contains no agents of other programs
	others []waveTally // for each wave, counts of other programs' agents; nil means none
}

// fileStat holds the size and modification time of the document's file. If they differ
// later, another program has changed the file.
type fileStat struct {
	size  int64
	mtime time.Time
}

// Recording returns a new recording of a session. The session need not exist yet. The
// method reads and writes no file.
func (s *Store) Recording(id string) (*Recording, error) {
	if err := statefile.CheckName("session id", id); err != nil {
		return nil, err
	}
	r := &Recording{store: s, id: id, seed: maphash.MakeSeed()}
	r.file = statefile.New(s.status(id), statefile.Options{
		Host:        s.opts.Host,
		Locking:     statefile.Folder,
		LockTimeout: s.opts.LockTimeout,
		Notice:      s.opts.Notice,
		Empty:       []byte("{}\n"),
		StartOver:   true,
		Saw:         r.noteFile,
	})
	return r, nil
}

// Close deletes the hidden lock folder that the recording keeps between writes. The recording
// reuses this folder, because that makes writes faster.
func (r *Recording) Close() { r.file.Close() }

// Contents is the state that a session's document should have. The caller must keep the order of
// Status.Agents between writes, and add new agents at the end. Write computes the summary, the
// statuses of waves and the paths of the log files, and ignores their values in Status.
type Contents struct {
	Status *Status
	// Changed has the indexes in Status.Agents of all agents that may have changed since the last
	// successful write.
	Changed []int
}

// Write updates the document to the state that contents returns. If the document exists, Write
// locks it before it calls contents. So if two programs record the same session, the later write
// has the newer state. contents may be called more than once.
//
// The first successful write of a Recording, and every write that creates the document, also makes
// the session the active session, unless the current active session started later.
func (r *Recording) Write(ctx context.Context, contents func() (Contents, error)) error {
	made, err := r.makeFolder(contents)
	if err == nil && !made {
		made, err = r.update(ctx, contents)
	}
	if err != nil {
		return err
	}
	if r.activated && !made {
		return nil
	}
	if err := r.activate(); err != nil {
		return fmt.Errorf("session %s was made but is not the active one: %w", r.id, err)
	}
	r.activated = true
	return nil
}

// Disturbed reports whether another program has changed or deleted the document since
// the last write. It compares only the size and modification time of the file, so it
// is fast.
func (r *Recording) Disturbed() bool {
	info, err := r.store.opts.Host.Stat(opLook, r.file.Path())
	if err != nil {
		return missing(err)
	}
	return info.Size() != r.seen.size || !info.ModTime().Equal(r.seen.mtime)
}

// noteFile stores the size and modification time of the document's file, which Disturbed compares.
func (r *Recording) noteFile(info fs.FileInfo) {
	r.seen = fileStat{}
	if info != nil {
		r.seen = fileStat{info.Size(), info.ModTime()}
	}
}

// noteIfUnchanged calls noteFile if the file still contains data, which this recording has written.
// If not, another program has already changed the file. Then noteIfUnchanged stores nothing, so
// Disturbed returns true.
func (r *Recording) noteIfUnchanged(data []byte) {
	h, path := r.store.opts.Host, r.file.Path()
	info, err := h.Stat(opLook, path)
	if err != nil {
		return
	}
	if now, err := statefile.ReadBytes(h, path); err == nil && bytes.Equal(now, data) {
		r.noteFile(info)
	}
}

// makeFolder creates the session's folder with its document. It creates both under a hidden name
// and then renames the folder, so the folder and the document appear at the same moment. If the
// session's folder exists, makeFolder changes nothing and returns false.
func (r *Recording) makeFolder(contents func() (Contents, error)) (made bool, err error) {
	s := r.store
	info, err := s.opts.Host.Lstat(opLook, s.dir(r.id))
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return false, r.checkLinkedFolder()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	is, err := contents()
	if err != nil {
		return false, err
	}
	r.started = is.Status.StartedAt.Time
	data, err := r.build(is.Status)
	if err != nil {
		return false, err
	}
	if err := s.makeFolder(); err != nil {
		return false, err
	}
	err = s.create(r.id, data)
	// If the id is taken, another process is creating or has just created the folder, or an
	// interrupted write has left its hidden folder. Return false, so that Write calls update, which
	// also creates a missing folder.
	if errors.Is(err, errTaken) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, err := jsontree.Parse(data)
	if err == nil {
		r.last = r.fresh(is.Status)
		r.last.sum = r.sum(doc.Root())
		r.noteIfUnchanged(data)
	}
	return err == nil, err
}

// checkLinkedFolder is called if the session's folder is a symbolic link. An agent may have created
// the link, and the link may point to any folder of the user. So checkLinkedFolder returns an error
// unless that folder contains this session's document.
func (r *Recording) checkLinkedFolder() error {
	doc, err := r.store.Document(r.id)
	if err == nil && doc.Root().Get("session_id").Text() == r.id {
		return nil
	}
	return &statefile.FormError{Path: r.store.dir(r.id), Problem: "is a symbolic link to a folder that is not that of this session"}
}

// errSame is the error that edit returns to stop an update that would not change the document. The
// method update then returns no error.
var errSame = errors.New("the document is as it should be")

// update changes the document to the state that contents returns. It creates the session's folder
// and the document if they are missing. made reports whether the document was missing or was an
// empty object.
func (r *Recording) update(ctx context.Context, contents func() (Contents, error)) (made bool, err error) {
	if err := statefile.MkdirAll(r.store.opts.Host, r.store.dir(r.id)); err != nil {
		return false, err
	}
	var next writtenDocument
	err = r.file.Update(ctx, func(doc *jsontree.Doc) error {
		is, err := contents()
		if err != nil {
			return err
		}
		r.started = is.Status.StartedAt.Time
		made = doc.Root().Kind() == jsontree.Object && doc.Root().Len() == 0
		next, err = r.edit(doc, is)
		return err
	})
	if errors.Is(err, errSame) {
		return false, nil
	}
	switch {
	case err == nil:
		r.last, r.unsure = next, 0
	case next.known:
		// The new document may be on disk although an error occurred, for example if only the sync
		// of the folder failed.
		r.unsure = next.sum
	}
	return made, err
}

// edit changes the document to the state want. If no other program has changed the document, and
// want has no new agents or waves, edit updates only the agents in want.Changed, and returns
// errSame if nothing had to change. In all other cases it updates the whole document. If
// DetectCancel is set and another program has requested a cancellation, edit returns a
// [*CancelledError].
func (r *Recording) edit(doc *jsontree.Doc, want Contents) (next writtenDocument, err error) {
	root := doc.Root()
	grown := len(r.last.at) != len(want.Status.Agents) || len(r.last.waves) != len(want.Status.Waves)
	sum := r.sum(root)
	same := r.last.known && !grown && sum == r.last.sum
	before := doc.Mark()
	if !same && root.Get("session_id").Text() != r.id && r.isLink() {
		return next, &statefile.FormError{Path: r.file.Path(), Problem: "is a symbolic link to a file that is not the document of this session"}
	}
	if ours := sum == r.last.sum || sum == r.unsure; r.DetectCancel && r.last.known && !ours && r.usable(root) {
		if asked := cancelRequest(root, want.Status); asked != nil {
			return next, asked
		}
	}
	switch {
	case same:
		next = r.updateChanged(root, want)
	case r.usable(root):
		next = r.updateAll(root, want.Status)
	default:
		if next, err = r.replace(root, want.Status); err != nil {
			return next, err
		}
	}
	if same && doc.Mark() == before {
		return next, errSame
	}
	next.sum, next.known = r.sum(root), true
	return next, doc.Err()
}

// isLink reports whether the document is a symbolic link. Agents can write to the
// session's folder, and a link there could point to any file of the user.
func (r *Recording) isLink() bool {
	info, err := r.store.opts.Host.Lstat(opLook, r.file.Path())
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// CancelledError reports that another program has set the session, or some of its
// unfinished agents, to cancelled in the document.
type CancelledError struct {
	Session string
	All     bool     // the session itself was cancelled
	Agents  []string // ids of the cancelled agents, if All is false
}

func (e *CancelledError) Error() string {
	if e.All {
		return fmt.Sprintf("session %s was set to cancelled by another program", e.Session)
	}
	return fmt.Sprintf("session %s: %s set to cancelled by another program", e.Session, strings.Join(e.Agents, ", "))
}

// cancelRequest looks for a session or agents that are cancelled in the document, although they
// have not ended according to want. It returns a CancelledError for them, or nil if there are none.
func cancelRequest(root *jsontree.Node, want *Status) error {
	open := func(s State) bool { return s == Queued || s == Running }
	asked := &CancelledError{Session: root.Get("session_id").Text()}
	if State(root.Get("status").Text()) == Cancelled && open(want.Status) {
		asked.All = true
		return asked
	}
	cancelled := map[string]bool{}
	for _, agent := range root.Get("agents").Items() {
		if State(agent.Get("status").Text()) == Cancelled {
			cancelled[agent.Get("id").Text()] = true
		}
	}
	for _, a := range want.Agents {
		if cancelled[a.ID] && open(a.Status) {
			asked.Agents = append(asked.Agents, a.ID)
		}
	}
	if len(asked.Agents) == 0 {
		return nil
	}
	return asked
}

// usable reports whether the document has the protocol's structure and is not empty.
func (r *Recording) usable(root *jsontree.Node) bool {
	return root.Kind() == jsontree.Object && root.Len() > 0 && checkForm("", root) == nil
}

// replace replaces the whole document by a new one. It first saves a copy of the old document,
// unless the old document is an empty object.
func (r *Recording) replace(root *jsontree.Node, want *Status) (writtenDocument, error) {
	if root.Kind() != jsontree.Object || root.Len() > 0 {
		if err := r.saveUnusable(root.Value().Raw()); err != nil {
			return writtenDocument{}, err
		}
	}
	data, err := r.build(want)
	if err != nil {
		return writtenDocument{}, err
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return writtenDocument{}, err
	}
	root.Replace(doc.Value())
	return r.fresh(want), nil
}

// saveUnusable saves a copy of a document that does not have the protocol's structure.
// data is the document's text. The caller replaces the document afterwards.
func (r *Recording) saveUnusable(data []byte) error {
	h, to := r.store.opts.Host, r.file.Path()
	base := to + ".corrupt-" + h.Now().UTC().Format("20060102T150405Z")
	name := base
	for n := 2; ; n++ {
		err := statefile.WriteNew(h, name, data, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if kept, err := statefile.ReadBytes(h, name); err == nil && bytes.Equal(kept, data) {
			break // an earlier write, which was interrupted, has already saved this copy
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r.store.notice(statefile.CorruptKept, to, "was not a session's document; its bytes are kept as "+name+" and it was written anew")
	return nil
}

// build returns a new document with the state want.
func (r *Recording) build(want *Status) ([]byte, error) {
	whole := *want
	whole.SchemaVersion, whole.SessionID, whole.Summary = SchemaVersion, r.id, want.Count()
	whole.Agents, whole.Waves = make([]Agent, len(want.Agents)), make([]Wave, len(want.Waves))
	for i, a := range want.Agents {
		whole.Agents[i] = r.withLogFile(a)
	}
	for i, state := range r.waveStates(want, nil) {
		whole.Waves[i] = want.Waves[i]
		whole.Waves[i].Status = state
	}
	text, err := marshal(whole)
	if err != nil {
		return nil, err
	}
	return formatDocument(text)
}

// Render returns the document that a new Recording would create for this status. It reads and
// writes no file.
func (s *Store) Render(id string, status *Status) ([]byte, error) {
	r, err := s.Recording(id)
	if err != nil {
		return nil, err
	}
	return r.build(status)
}

// fresh returns the writtenDocument for the new document that build returns for want. Its hash is
// not set.
func (r *Recording) fresh(want *Status) writtenDocument {
	at := make([]int, len(want.Agents))
	for i := range at {
		at[i] = i
	}
	return writtenDocument{known: true, at: at, waves: r.waveStates(want, nil), alone: true}
}

// sum returns the hash of a document. It hashes the document piece by piece, so that it needs no
// copy of a large document.
func (r *Recording) sum(root *jsontree.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	root.Pieces(func(text []byte) { _, _ = h.Write(text) }) // a maphash write never fails
	return h.Sum64()
}

// withLogFile returns the agent with its log file set.
func (r *Recording) withLogFile(a Agent) Agent {
	a.LogFile = path.Join(r.store.opts.LogPrefix, sessionsName, r.id, a.ID+".log")
	return a
}

// activate makes this session the active session, unless the current active session started later.
func (r *Recording) activate() error {
	active, err := r.store.Active()
	if none := (*ActiveError)(nil); err != nil && !errors.As(err, &none) {
		return err
	}
	if err == nil && (active == r.id || r.startedBefore(active)) {
		return nil
	}
	return r.store.activate(r.id)
}

// startedBefore reports whether this session started before the session otherID. It compares start
// times and not ids, because an id need not contain a time. If both sessions started in the same
// second, it compares the ids, so that the recordings of both sessions choose the same active
// session. It returns false if the other session has no readable start time.
func (r *Recording) startedBefore(otherID string) bool {
	is, err := r.store.Load(otherID)
	switch {
	case err != nil || is.StartedAt.IsZero():
		return false
	case is.StartedAt.Unix() != r.started.Unix():
		return is.StartedAt.After(r.started)
	}
	return otherID > r.id
}
