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

// Recording writes the document of a session for the program that runs it and
// keeps the truth about it elsewhere. Others' commands move a session by the
// protocol's transitions; a recording says what is so, whatever the document
// said before: also that an agent which had ended runs again.
//
// A document that is not there is made, one that is damaged is kept aside and
// made anew, and one that others have changed is put right. Members, agents and
// waves that are not the session's own stay as they are.
//
// Another program may set the session or an agent that has not ended to cancelled:
// that is a request, see [CancelledError].
//
// A recording is for one goroutine at a time.
type Recording struct {
	// Heed makes a write fail with a [*CancelledError], and leave the document as it
	// is, if another program asks for a cancellation in it.
	Heed bool

	store *Store
	id    string
	file  *statefile.File
	seed  maphash.Seed

	members   [][]int // the positions of each wave's agents in the truth
	agents    int     // that the truth had then
	last      written
	unsure    uint64 // the sum of a document of ours that may be in place although writing it failed; 0 if none
	seen      seen
	started   time.Time // by the truth
	activated bool
}

// written is what a recording knows of the document it wrote last.
type written struct {
	sum    uint64  // of the document; nobody has changed it if it still has it
	known  bool    // something was written
	at     []int   // where each agent of the truth stands in the document
	waves  []State // the waves' statuses
	alone  bool    // the document has no agents of others
	others []tally // their agents in each wave, nil in a document of our own making
}

// seen is what the document's file looked like after the last write.
type seen struct {
	size  int64
	mtime time.Time
}

// Recording returns the recording of a session, which need not be there yet. It
// touches nothing.
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
		Saw:         r.saw,
	})
	return r, nil
}

// Close removes what the recording keeps beside the document to be quick.
func (r *Recording) Close() { r.file.Close() }

// Truth is what a session's document is to say. Its agents are in the same order
// at every write, and new ones come last. The summary, the statuses of waves
// and the log files are not taken from it: they follow from the rest.
type Truth struct {
	Status  *Status
	Changed []int // the agents that may differ from the last write that succeeded
}

// Write makes the document say what truth says. truth is asked while the
// document is locked, so that of two programs that record one session the
// later writes what is true then. It may be asked more than once.
func (r *Recording) Write(ctx context.Context, truth func() (Truth, error)) error {
	made, err := r.makeFolder(truth)
	if err == nil && !made {
		made, err = r.update(ctx, truth)
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

// Disturbed reports whether somebody else has changed or removed the document
// since the last write, as far as the looks of its file tell. It is quick.
func (r *Recording) Disturbed() bool {
	info, err := r.store.opts.Host.Stat(opLook, r.file.Path())
	if err != nil {
		return missing(err)
	}
	return info.Size() != r.seen.size || !info.ModTime().Equal(r.seen.mtime)
}

// saw remembers how the document's file looks.
func (r *Recording) saw(info fs.FileInfo) {
	r.seen = seen{}
	if info != nil {
		r.seen = seen{info.Size(), info.ModTime()}
	}
}

// look remembers how the document's file looks if it still holds data: somebody
// else may have written to it since.
func (r *Recording) look(data []byte) {
	h, path := r.store.opts.Host, r.file.Path()
	info, err := h.Stat(opLook, path)
	if err != nil {
		return
	}
	if now, err := statefile.ReadBytes(h, path); err == nil && bytes.Equal(now, data) {
		r.saw(info)
	}
}

// makeFolder makes a session that is not there at all, so that it appears
// complete.
func (r *Recording) makeFolder(truth func() (Truth, error)) (made bool, err error) {
	s := r.store
	info, err := s.opts.Host.Lstat(opLook, s.dir(r.id))
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return false, r.checkLinkedFolder()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	is, err := r.ask(truth)
	if err != nil {
		return false, err
	}
	data, err := r.build(is.Status)
	if err != nil {
		return false, err
	}
	if err := s.makeFolder(); err != nil {
		return false, err
	}
	err = s.place(r.id, data)
	if errors.Is(err, errTaken) { // by somebody who puts a log there, or left it half made
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, err := jsontree.Parse(data)
	if err == nil {
		r.last = r.fresh(is.Status)
		r.last.sum = r.sum(doc.Root())
		r.look(data)
	}
	return err == nil, err
}

// checkLinkedFolder refuses a folder behind a symbolic link unless the session's
// document is in it: see isLink.
func (r *Recording) checkLinkedFolder() error {
	doc, err := r.store.Document(r.id)
	if err == nil && doc.Root().Get("session_id").Text() == r.id {
		return nil
	}
	return &statefile.FormError{Path: r.store.dir(r.id), Problem: "is a symbolic link to a folder that is not that of this session"}
}

// ask returns the truth, and remembers when the session began.
func (r *Recording) ask(truth func() (Truth, error)) (Truth, error) {
	is, err := truth()
	if err == nil {
		r.started = is.Status.StartedAt.Time
	}
	return is, err
}

// errSame is an update that has nothing to write.
var errSame = errors.New("the document is as it should be")

// update makes the document right that is in the session's folder, and reports
// whether there was none.
func (r *Recording) update(ctx context.Context, truth func() (Truth, error)) (made bool, err error) {
	if err := statefile.MkdirAll(r.store.opts.Host, r.store.dir(r.id)); err != nil {
		return false, err
	}
	var next written
	err = r.file.Update(ctx, func(doc *jsontree.Doc) error {
		is, err := r.ask(truth)
		if err != nil {
			return err
		}
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
	case next.known: // it may be in place all the same: the folder could not be synced
		r.unsure = next.sum
	}
	return made, err
}

// edit changes the document to what is true: the agents that changed if nobody
// else has written to it, all of it otherwise.
func (r *Recording) edit(doc *jsontree.Doc, is Truth) (next written, err error) {
	root := doc.Root()
	grown := len(r.last.at) != len(is.Status.Agents) || len(r.last.waves) != len(is.Status.Waves)
	sum := r.sum(root)
	same := r.last.known && !grown && sum == r.last.sum
	before := doc.Mark()
	if !same && root.Get("session_id").Text() != r.id && r.isLink() {
		return next, &statefile.FormError{Path: r.file.Path(), Problem: "is a symbolic link to a file that is not the document of this session"}
	}
	if ours := sum == r.last.sum || sum == r.unsure; r.Heed && r.last.known && !ours && r.usable(root) {
		if asked := requested(root, is.Status); asked != nil {
			return next, asked
		}
	}
	switch {
	case same:
		next = r.touch(root, is)
	case r.usable(root):
		next = r.adopt(root, is.Status)
	default:
		if next, err = r.replace(root, is.Status); err != nil {
			return next, err
		}
	}
	if same && doc.Mark() == before {
		return next, errSame
	}
	next.sum, next.known = r.sum(root), true
	return next, doc.Err()
}

// isLink reports whether the document is a symbolic link. Agents write to the
// session's folder, and a link there could lead to any file of the user.
func (r *Recording) isLink() bool {
	info, err := r.store.opts.Host.Lstat(opLook, r.file.Path())
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// CancelledError is a document in which another program has set the session, or
// agents of it that have not ended, to cancelled.
type CancelledError struct {
	Session string
	All     bool     // the session itself
	Agents  []string // otherwise
}

func (e *CancelledError) Error() string {
	if e.All {
		return fmt.Sprintf("session %s was set to cancelled by another program", e.Session)
	}
	return fmt.Sprintf("session %s: %s set to cancelled by another program", e.Session, strings.Join(e.Agents, ", "))
}

// requested returns what a document asks to cancel that has not ended in truth, or
// nil.
func requested(root *jsontree.Node, is *Status) error {
	open := func(s State) bool { return s == Queued || s == Running }
	asked := &CancelledError{Session: root.Get("session_id").Text()}
	if State(root.Get("status").Text()) == Cancelled && open(is.Status) {
		asked.All = true
		return asked
	}
	cancelled := map[string]bool{}
	for _, agent := range root.Get("agents").Items() {
		if State(agent.Get("status").Text()) == Cancelled {
			cancelled[agent.Get("id").Text()] = true
		}
	}
	for _, a := range is.Agents {
		if cancelled[a.ID] && open(a.Status) {
			asked.Agents = append(asked.Agents, a.ID)
		}
	}
	if len(asked.Agents) == 0 {
		return nil
	}
	return asked
}

// usable reports whether there is something in the document to keep.
func (r *Recording) usable(root *jsontree.Node) bool {
	return root.Kind() == jsontree.Object && root.Len() > 0 && checkForm("", root) == nil
}

// replace makes the whole document anew. What it was is kept aside, unless it
// was nothing.
func (r *Recording) replace(root *jsontree.Node, is *Status) (written, error) {
	if root.Kind() != jsontree.Object || root.Len() > 0 {
		if err := r.keepAside(root.Value().Raw()); err != nil {
			return written{}, err
		}
	}
	data, err := r.build(is)
	if err != nil {
		return written{}, err
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return written{}, err
	}
	root.Replace(doc.Value())
	return r.fresh(is), nil
}

// keepAside saves a document of another form before it is replaced.
func (r *Recording) keepAside(data []byte) error {
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
			break // kept by a write that did not get further
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r.store.notice(statefile.CorruptKept, to, "was not a session's document; its bytes are kept as "+name+" and it was written anew")
	return nil
}

// build returns the whole document.
func (r *Recording) build(is *Status) ([]byte, error) {
	whole := *is
	whole.SchemaVersion, whole.SessionID, whole.Summary = SchemaVersion, r.id, is.Count()
	whole.Agents, whole.Waves = make([]Agent, len(is.Agents)), make([]Wave, len(is.Waves))
	for i, a := range is.Agents {
		whole.Agents[i] = r.logged(a)
	}
	for i, state := range r.waveStates(is, nil) {
		whole.Waves[i] = is.Waves[i]
		whole.Waves[i].Status = state
	}
	text, err := marshal(whole)
	if err != nil {
		return nil, err
	}
	return layOut(text)
}

// Render returns the document of a session that says what a recording would
// write where there is none. It touches nothing.
func (s *Store) Render(id string, is *Status) ([]byte, error) {
	r, err := s.Recording(id)
	if err != nil {
		return nil, err
	}
	return r.build(is)
}

// fresh is what is known of a document that was just built.
func (r *Recording) fresh(is *Status) written {
	at := make([]int, len(is.Agents))
	for i := range at {
		at[i] = i
	}
	return written{known: true, at: at, waves: r.waveStates(is, nil), alone: true}
}

// sum is a hash of all that a document says. It does not put the document
// together, which may be large.
func (r *Recording) sum(root *jsontree.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	root.Pieces(func(text []byte) { _, _ = h.Write(text) }) // it never fails
	return h.Sum64()
}

// logged returns an agent with its log file.
func (r *Recording) logged(a Agent) Agent {
	a.LogFile = path.Join(r.store.opts.LogPrefix, sessionsName, r.id, a.ID+".log")
	return a
}

// activate makes the session the active one unless a later one is.
func (r *Recording) activate() error {
	active, err := r.store.Active()
	if none := (*ActiveError)(nil); err != nil && !errors.As(err, &none) {
		return err
	}
	if err == nil && (active == r.id || r.before(active)) {
		return nil
	}
	return r.store.activate(r.id)
}

// before reports whether another session began later. Ids do not tell: others
// name their sessions as they like, or by local time. Of two that began in the
// same second the ids decide, so that two recordings agree. One of which nobody
// can read when it began is no later one.
func (r *Recording) before(other string) bool {
	is, err := r.store.Load(other)
	switch {
	case err != nil || is.StartedAt.IsZero():
		return false
	case is.StartedAt.Unix() != r.started.Unix():
		return is.StartedAt.After(r.started)
	}
	return other > r.id
}
