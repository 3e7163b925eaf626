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

// Entry is one session in the list that [Store.List] returns.
type Entry struct {
	ID          string  `json:"session_id"` // name of the session's folder; session_id in the session's document may differ
	Source      string  `json:"source"`
	SourceFile  string  `json:"source_file"`
	StartedAt   Time    `json:"started_at"`
	CompletedAt Time    `json:"completed_at"`
	Status      State   `json:"status"`
	Summary     Summary `json:"summary"`
	Active      bool    `json:"active"`
	Err         error   `json:"-"` // why the session's document could not be read; nil if it was read
}

// IDs lists the ids of the sessions in alphabetical order. An id that [NewID] returns begins with a
// time, so sessions with such ids are also sorted by time. IDs skips a session's folder that
// contains no document, status.json, for example because another program has just created the
// folder.
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

// folders returns the sorted names of the folders in the folder "sessions". It includes symbolic
// links, because they may lead to folders. It skips names that begin with a dot.
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

// missing reports whether err says that a file does not exist. ENOTDIR says this, too: a parent in
// the file's path is not a folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// List reads every session, in the order of [Store.IDs]. If a session cannot be read, List stores
// the error in the session's Entry and continues.
func (s *Store) List() ([]Entry, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	active, _ := s.Active() // ignore the error: without an active session, List marks none as active
	entries := make([]Entry, len(ids))
	for i, id := range ids {
		entries[i] = s.entry(id)
		entries[i].Active = id == active
	}
	return entries, nil
}

// entry returns the list entry of a session. It reads only those members of the session's document
// that a list of sessions shows. It counts the agents itself, because the counts in the document's
// summary may be wrong.
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

// Active returns the id of the active session, to which the symbolic link active-session leads. If
// the link leads to no session, Active returns an [*ActiveError]. Active uses only the last element
// of the link's target, because the targets that other programs write may be absolute or relative
// to another folder.
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
