package session

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Names of the file operations that find and list sessions. The methods of [host.Host] expect such
// a name, so that a test can make a certain operation fail.
const (
	opLook       host.Op = "look at session"
	opList       host.Op = "list sessions"
	opReadActive host.Op = "read active-session"
)

// Entry is one session in a list.
type Entry struct {
	ID          string  `json:"session_id"` // name of the session's folder; the document's own session_id may differ
	Source      string  `json:"source"`
	SourceFile  string  `json:"source_file"`
	StartedAt   Time    `json:"started_at"`
	CompletedAt Time    `json:"completed_at"`
	Status      State   `json:"status"`
	Summary     Summary `json:"summary"`
	Active      bool    `json:"active"`
	Err         error   `json:"-"` // why the document could not be read; nil if it was read
}

// IDs lists the session ids, sorted by name. An id that [NewID] returns begins with a time, so
// sessions with such ids are also sorted by time. IDs skips folders without a document. For
// example, another program may not have written the document of a new session yet.
func (s *Store) IDs() ([]string, error) {
	names, err := s.folders()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		if _, err := s.opts.Host.Lstat(opLook, s.status(name)); err == nil || !missing(err) {
			ids = append(ids, name)
		}
	}
	return ids, nil
}

// folders returns the names of the folders in the folder "sessions", sorted. It includes symbolic
// links, which may lead to folders, and skips names that begin with a dot.
func (s *Store) folders() ([]string, error) {
	entries, err := s.opts.Host.ReadDir(opList, s.sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if mayBeFolder(e) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// mayBeFolder reports whether e may be a session's folder. It accepts symbolic links, because the
// user may have moved a session's folder and left a link.
func mayBeFolder(e fs.DirEntry) bool { return e.IsDir() || e.Type()&fs.ModeSymlink != 0 }

// missing reports whether err says that a file does not exist. ENOTDIR means the same: a parent
// folder in the file's path is itself not a folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// List reads every session, in the order of [Store.IDs]. If a session cannot be read,
// its entry holds the error and List continues.
func (s *Store) List() ([]Entry, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	active, _ := s.Active() // if this fails, no session is marked as active
	entries := make([]Entry, len(ids))
	for i, id := range ids {
		entries[i] = s.entry(id)
		entries[i].Active = id == active
	}
	return entries, nil
}

// entry reads only the members of the document that a list shows. It counts the agents itself,
// because the summary in the document may be wrong.
func (s *Store) entry(id string) Entry {
	var e Entry
	doc, err := s.Document(id)
	if err == nil {
		v := doc.Value()
		jsontree.Decode(v, &e)
		e.Status, e.Summary = stateOf(v.Get("status"), Running), Summary{}
		for _, agent := range v.Get("agents").Items() {
			e.Summary.add(stateOf(agent.Get("status"), Queued))
		}
	}
	e.ID, e.Err, e.Active = id, err, false
	return e
}

// Active returns the id of the session to which the symbolic link active-session leads. If it leads
// to no session, Active returns an [*ActiveError]. Active uses only the last element of the link's
// target, because other programs create links that are absolute or relative to another folder.
func (s *Store) Active() (string, error) {
	target, err := s.activeTarget()
	if err != nil {
		return "", err
	}
	id := filepath.Base(target)
	if statefile.CheckName("session id", id) != nil {
		return "", &ActiveError{s.active(), "leads to " + target + ", which is no session"}
	}
	_, err = s.opts.Host.Lstat(opLook, s.status(id))
	if missing(err) {
		return "", &ActiveError{s.active(), "leads to " + target + ", where no session is"}
	}
	return id, err
}

func (s *Store) activeTarget() (string, error) {
	info, err := s.opts.Host.Lstat(opReadActive, s.active())
	if errors.Is(err, fs.ErrNotExist) {
		return "", &ActiveError{s.active(), "no session is active"}
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", &ActiveError{s.active(), "is not a link to a session"}
	}
	return s.opts.Host.Readlink(opReadActive, s.active())
}
