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

// Recording writes the document of a session, status.json, if the state of the session is stored
// elsewhere, such as in gaffer's database. The methods of [Store] allow only certain changes of
// status. A Recording allows every change: it overwrites the document with the given state, so an
// agent that had ended may run again.
//
// A Recording creates a missing document. It keeps a copy of a damaged document and writes a new
// one. If other programs change JSON members that the Recording writes, it changes them back. It
// keeps JSON members, agents and waves that other programs have added.
//
// Another program can request a cancellation: in the document, it sets the status of the session,
// or of an agent that has not ended, to cancelled. See DetectCancel.
//
// A Recording must not be used by several goroutines at the same time.
type Recording struct {
	// DetectCancel makes [Recording.Write] look for cancellation requests in the document. If
	// another program has set the status of the session, or of an agent that has not ended, to
	// cancelled since an earlier Write of this Recording, Write returns a [*CancelledError] and
	// leaves the document unchanged.
	DetectCancel bool

	store *Store
	id    string
	file  *statefile.File
	seed  maphash.Seed

	members [][]int // for each wave, the indexes of its agents in Status.Agents
	agents  int     // number of agents when the field members was computed
	last    writtenDocument
	// unsure is the hash of a document that may be on disk although its write returned an error. It
	// is 0 if there is no such document.
	unsure    uint64
	seen      fileStat  // size and time of the document's file after our last update; zero if unknown
	started   time.Time // start of the session, from the last Contents that was given to Write
	activated bool      // [Recording.activate] has succeeded
}

// writtenDocument describes the version of the session's document that the [Recording] wrote last.
type writtenDocument struct {
	sum    uint64       // hash of the document, to detect changes by other programs
	known  bool         // false until the recording has written a document
	at     []int        // for each agent of the recording, its index in the array agents of the document
	waves  []State      // status of each wave
	alone  bool         // the document contains no agents that other programs have added
	others []waveCounts // for each wave, counts of the agents that other programs have added; nil means none
}

// fileStat holds the size and modification time of the document's file after an update by the
// [Recording]. If they differ later, another program has changed the file.
type fileStat struct {
	size  int64
	mtime time.Time
}

// Recording returns a new Recording for the session with this id. The session need not exist yet.
// The method Recording reads and writes no file.
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

// Close deletes the hidden folder that serves as the lock of the document. To make writes faster,
// the Recording does not delete this folder after each write, but reuses it.
func (r *Recording) Close() { r.file.Close() }

// Contents is the state that a session's document should have after [Recording.Write]. The caller
// must keep the order of Status.Agents between writes, and add new agents at the end. Write
// computes the summary, the statuses of waves and the paths of the log files, and ignores their
// values in Status.
type Contents struct {
	Status *Status
	// Changed lists the agents that may have changed since the last successful write, as indexes in
	// Status.Agents.
	Changed []int
}

// Write updates the session's document to the state that the function contents returns. If the
// document exists, Write locks it before it calls contents. So if two programs write the same
// document, the later write has the newer state. Write may call contents more than once.
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

// Disturbed reports whether another program has changed or deleted the session's document since the
// last write of r. To be fast, it compares only the size and modification time of the file.
func (r *Recording) Disturbed() bool {
	info, err := r.store.opts.Host.Stat(opLook, r.file.Path())
	if err != nil {
		return missing(err)
	}
	return info.Size() != r.seen.size || !info.ModTime().Equal(r.seen.mtime)
}

// noteFile stores the size and modification time of the document's file. [Recording.Disturbed]
// later compares the file with them.
func (r *Recording) noteFile(info fs.FileInfo) {
	r.seen = fileStat{}
	if info != nil {
		r.seen = fileStat{info.Size(), info.ModTime()}
	}
}

// noteIfUnchanged calls [Recording.noteFile] if the document's file still contains data, the text
// that r has just written. If not, another program has already changed the file. In this case
// noteIfUnchanged stores nothing, so that [Recording.Disturbed] returns true.
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

// makeFolder creates the session's folder with its document. It first creates a hidden folder with
// the document and then renames this folder, so the session's folder and the document appear at the
// same moment. If the session's folder already exists, makeFolder changes nothing and returns
// false.
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
	// errTaken means that another process is creating or has just created the session's folder, or
	// that an interrupted write has left its hidden folder. Return false, so that [Recording.Write]
	// calls [Recording.update], which also creates a missing folder.
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
// this link, and the link may lead to any folder of the user, which gaffer must not change. So
// checkLinkedFolder returns an error if that folder does not contain this session's document.
func (r *Recording) checkLinkedFolder() error {
	doc, err := r.store.Document(r.id)
	if err == nil && doc.Root().Get("session_id").Text() == r.id {
		return nil
	}
	return &statefile.FormError{Path: r.store.dir(r.id), Problem: "is a symbolic link to a folder that is not that of this session"}
}

// errSame is the error with which [Recording.edit] stops an update that would not change the
// document. [Recording.update] then returns no error.
var errSame = errors.New("the document is as it should be")

// update changes the session's document to the state that the function contents returns. It creates
// the session's folder and the document if they are missing. The result made is true if update has
// filled a document that was missing or was an empty JSON object.
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
		// The new document may be on disk although Update returned an error, for example if only
		// the sync of the folder to disk failed.
		r.unsure = next.sum
	}
	return made, err
}

// edit changes the session's document to the state want. If no other program has changed the
// document, and want has no new agents or waves, edit updates only the agents in want.Changed, the
// values that depend on them, and the members of the session itself. If nothing had to change, it
// returns errSame. In all other cases it updates the whole document. If DetectCancel is set and
// another program has requested a cancellation, edit returns a [*CancelledError].
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

// isLink reports whether the document's file is a symbolic link. This matters because agents can
// create links in the session's folder, and such a link could lead to any file of the user.
func (r *Recording) isLink() bool {
	info, err := r.store.opts.Host.Lstat(opLook, r.file.Path())
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// CancelledError reports that another program has requested a cancellation: in the session's
// document, it has set the status of the session, or of agents that have not ended, to cancelled.
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

// cancelRequest looks for a cancellation request of another program: the session or agents have the
// status Cancelled in the document, although they have not ended according to want. It returns a
// CancelledError for them, or nil if there is no such request.
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

// usable reports whether the document can be updated: it is a JSON object that is not empty, and
// its agents are an array, null or missing.
func (r *Recording) usable(root *jsontree.Node) bool {
	return root.Kind() == jsontree.Object && root.Len() > 0 && checkForm("", root) == nil
}

// replace replaces the whole document by a new one with the state want. If the old document is not
// an empty JSON object, replace first saves a copy of it.
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

// saveUnusable saves a copy of a document that gaffer cannot update, for example because it is not
// a JSON object. data is the document's text. The caller replaces the document afterwards.
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

// build returns the text of a new session's document with the state want.
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

// Render returns the text of the session's document that a new [Recording] would create for this
// status. It reads and writes no file.
func (s *Store) Render(id string, status *Status) ([]byte, error) {
	r, err := s.Recording(id)
	if err != nil {
		return nil, err
	}
	return r.build(status)
}

// fresh describes the new document that [Recording.build] returns for want. It does not set the
// field sum, the hash of the document.
func (r *Recording) fresh(want *Status) writtenDocument {
	at := make([]int, len(want.Agents))
	for i := range at {
		at[i] = i
	}
	return writtenDocument{known: true, at: at, waves: r.waveStates(want, nil), alone: true}
}

// sum returns a hash of the document's text. It hashes the text piece by piece, so that it needs no
// copy of a large document.
func (r *Recording) sum(root *jsontree.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	root.Pieces(func(text []byte) { _, _ = h.Write(text) }) // ignore the error: a maphash write never fails
	return h.Sum64()
}

// withLogFile returns a copy of the agent a with the path of its log file set.
func (r *Recording) withLogFile(a Agent) Agent {
	a.LogFile = path.Join(r.store.opts.LogPrefix, sessionsName, r.id, a.ID+".log")
	return a
}

// activate makes this session the active session, to which the symbolic link active-session leads.
// But if the current active session started later, activate changes nothing.
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

// startedBefore reports whether this session started before the session otherID. It compares the
// start times and not the ids, because an id need not contain a time. If both sessions started in
// the same second, it compares the ids, so that the processes of both sessions agree on the active
// session. If the other session has no readable start time, startedBefore returns false.
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
