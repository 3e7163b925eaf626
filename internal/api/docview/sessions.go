package docview

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

const (
	// maxFolders is the maximum number of session folders that are read. If there are more, only
	// the folders whose names come last in sorted order are read.
	maxFolders     = 600
	maxSessions    = 200 // maximum number of sessions listed
	timestampGrain = 2 * time.Second
)

// SessionEntry describes one session in the list of sessions. It also describes the session in the
// view of a single session; there, the field Waves is set too.
type SessionEntry struct {
	ID         string          `json:"id"` // name of the session's folder
	Source     string          `json:"source"`
	SourceFile string          `json:"source_file,omitempty"`
	Status     string          `json:"status"`
	Started    time.Time       `json:"started,omitzero"`
	Ended      time.Time       `json:"ended,omitzero"`
	Counts     session.Summary `json:"counts"`
	Ours       bool            `json:"ours"` // a run of gaffer wrote the session's document
	Run        string          `json:"run,omitempty"`
	Version    string          `json:"version"`           // hash of the document's content
	Problem    string          `json:"problem,omitempty"` // why the document cannot be read; empty if it can
	Waves      []SessionWave   `json:"waves,omitempty"`

	written time.Time
}

// SessionReader reads the sessions of a project. It caches the session entries that List returns.
// It is safe for concurrent use.
type SessionReader struct {
	host  host.Host
	root  string // the root folder of the session store
	store *session.Store

	mu   sync.Mutex
	seen map[string]*cachedSession
}

// cachedSession is a session as it was at the last read.
type cachedSession struct {
	// info is the file info of the session's document at the last read. It is nil if the document
	// must be read again.
	info     fs.FileInfo
	entry    SessionEntry
	readOnce bool // at least one read of the whole document has succeeded
}

// NewSessionReader returns a reader of the sessions below root, for example .founder-mode/status.
// It does not access files.
func NewSessionReader(h host.Host, root string) *SessionReader {
	return &SessionReader{host: h, root: root, store: session.New(root, session.Options{Host: h}), seen: map[string]*cachedSession{}}
}

// List returns the newest sessions, the latest first. It reads only the documents that may have
// changed since the last call.
func (s *SessionReader) List() []SessionEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for _, name := range s.folders() {
		if s.refresh(name) {
			there[name] = true
		}
	}
	list := []SessionEntry{}
	for name, seen := range s.seen {
		if !there[name] {
			delete(s.seen, name)
			continue
		}
		list = append(list, seen.entry)
	}
	slices.SortFunc(list, newestFirst)
	return list[:min(len(list), maxSessions)]
}

func newestFirst(a, b SessionEntry) int {
	since := func(e SessionEntry) time.Time {
		if e.Started.IsZero() {
			return e.written
		}
		return e.Started
	}
	if order := since(b).Compare(since(a)); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

func (s *SessionReader) sessions() string { return filepath.Join(s.root, "sessions") }

func (s *SessionReader) status(id string) string {
	return filepath.Join(s.sessions(), id, "status.json")
}

// folders returns the names of the folders that may be sessions, sorted.
func (s *SessionReader) folders() []string {
	entries, err := s.host.ReadDir(opRead, s.sessions())
	if err != nil {
		return nil // the folder does not exist or cannot be read
	}
	var names []string
	for _, e := range entries {
		if (e.IsDir() || e.Type()&fs.ModeSymlink != 0) && statefile.CheckName("session id", e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names[max(0, len(names)-maxFolders):]
}

// refresh reads a session's document if it has changed or may have changed since the last read. It
// returns false if there is nothing to show: the document is missing, or is still being written for
// the first time.
func (s *SessionReader) refresh(id string) bool {
	info, err := s.host.Stat(opRead, s.status(id))
	if err != nil {
		return false
	}
	seen := s.seen[id]
	if seen == nil {
		seen = &cachedSession{entry: SessionEntry{ID: id}}
	}
	now := s.host.Now()
	if seen.info == nil || differs(seen.info, info) || now.Sub(info.ModTime()) < timestampGrain {
		s.read(seen, info, now)
	}
	if seen.readOnce || seen.entry.Problem != "" {
		s.seen[id] = seen
		return true
	}
	return false
}

// read reads a session's document into cached. If the document cannot be read, it may still be
// being written, so read keeps the previous contents. If the document has not changed for
// settleTime, read also stores the problem.
func (s *SessionReader) read(cached *cachedSession, info fs.FileInfo, now time.Time) {
	cached.info, cached.entry.written = info, representable(info.ModTime())
	data, err := statefile.ReadBytes(s.host, s.status(cached.entry.ID))
	var d document
	if d.set(data, err); d.problem == "" && d.exists {
		cached.entry, cached.readOnce = entryOf(cached.entry.ID, d.value, data), true
		cached.entry.written = representable(info.ModTime())
		return
	}
	cached.info = nil
	if now.Sub(info.ModTime()) > settleTime {
		cached.info, cached.entry.Problem = info, d.problem
		cached.entry.Version = version(data)
	}
}

func differs(a, b fs.FileInfo) bool {
	return !a.ModTime().Equal(b.ModTime()) || a.Size() != b.Size() || inode(a) != inode(b)
}

func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// listed limits the lengths of texts in session entries, waves and agents.
var listed = limits{items: maxSessions, text: 300}

// entryOf returns the list entry of a session, without its waves. It counts the session's agents by
// status itself, because the numbers in the document may be wrong.
func entryOf(id string, v jsontree.Value, data []byte) SessionEntry {
	status, _ := session.Decode(v)
	e := SessionEntry{
		ID: id, Source: listed.cut(status.Source), SourceFile: listed.cut(status.SourceFile), Status: listed.cut(string(status.Status)),
		Started: representable(status.StartedAt.Time), Ended: representable(status.CompletedAt.Time), Counts: status.Count(), Version: version(data),
	}
	if v.Kind() != jsontree.Object {
		e.Problem = v.Kind().String() + " where an object should be"
	}
	return e
}
