package session

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gaffer/statefile/host"
)

// Names of the file operations of [Store.Clean]. The methods of [host.Host] expect such a name, so
// that a test can make a certain operation fail.
const (
	opFindLeftovers host.Op = "find leftovers"
	opDeactivate    host.Op = "remove active-session"
	opHideSession   host.Op = "hide session folder"
	opRemoveSession host.Op = "remove session file"
)

// removedPrefix begins the name of a session's folder while the session is being deleted. It starts
// with a dot, so the folder is hidden.
const removedPrefix = ".removed-"

// leftoverAge is a time limit for the creation of a session, which takes place in a hidden folder.
// If this folder has not changed for so long, the process that was creating the session counts as
// dead.
const leftoverAge = time.Hour

// Cleaning holds the options of [Store.Clean]: which sessions it deletes.
type Cleaning struct {
	OlderThan time.Duration
	Force     bool // also delete the active session and sessions that have not ended
	DryRun    bool // only report which sessions would be deleted
}

// Cleaned is one old session that Clean has found. It says whether Clean deleted the session.
type Cleaned struct {
	ID string `json:"session_id"`
	// Kept is the reason why Clean keeps the session. It is empty if Clean has deleted the session,
	// or if it would have deleted the session without the option DryRun.
	Kept string `json:"kept,omitempty"`
}

// Clean deletes old sessions. A session is old if it ended more than c.OlderThan ago. If it has no
// end time, its start time counts instead. Clean returns every old session, including the old
// sessions that it keeps. Without c.Force it keeps the active session and sessions that have not
// ended. It always keeps sessions that cannot be read or whose time is unknown. If the process dies
// during Clean, each session's folder is either unchanged or already hidden. The next Clean deletes
// the hidden folders.
func (s *Store) Clean(c Cleaning) ([]Cleaned, error) {
	entries, err := s.List()
	if err != nil {
		return nil, err
	}
	now := s.opts.Now()
	if !c.DryRun {
		if err := s.removeLeftovers(); err != nil {
			return nil, err
		}
	}
	var done []Cleaned
	for _, e := range entries {
		if now.Sub(e.last()) <= c.OlderThan {
			continue
		}
		one := Cleaned{ID: e.ID, Kept: e.whyKept(c.Force)}
		if one.Kept == "" && !c.DryRun {
			if err := s.remove(e); err != nil {
				return done, err
			}
		}
		done = append(done, one)
	}
	return done, nil
}

// last returns the last known time of the session: its end time, or else its start time, or else
// the time in its id.
func (e Entry) last() time.Time {
	switch {
	case !e.CompletedAt.IsZero():
		return e.CompletedAt.Time
	case !e.StartedAt.IsZero():
		return e.StartedAt.Time
	}
	// Ignore the error: if the id contains no time, made is the zero time. Then the session counts
	// as old, but [Entry.whyKept] returns a reason to keep it.
	made, _ := createdAt(e.ID)
	return made
}

// whyKept returns the reason why an old session must not be deleted, such as "is the active
// session". It returns "" if the session may be deleted.
func (e Entry) whyKept(force bool) string {
	switch {
	case e.Err != nil:
		return "cannot be read: " + e.Err.Error()
	case e.last().IsZero():
		return "has no time"
	case force:
		return ""
	case e.Active:
		return "is the active session"
	case !e.Status.Final():
		return "is " + string(e.Status)
	}
	return ""
}

// createdAt parses the time with which a session id begins.
func createdAt(id string) (time.Time, error) {
	if len(id) < len(idTime) {
		return time.Time{}, errors.New("no time in the id")
	}
	return time.Parse(idTime, id[:len(idTime)])
}

// remove deletes a session in three steps. First, if the symbolic link active-session leads to this
// session, it removes the link, so that the link never dangles. Then it hides the session's folder
// by renaming it. Then it deletes the hidden folder.
func (s *Store) remove(e Entry) error {
	h := s.opts.Host
	if e.Active {
		if err := h.Remove(opDeactivate, s.active()); err != nil {
			return err
		}
		if err := h.SyncDir(opDeactivate, s.root); err != nil {
			return err
		}
	}
	hidden := filepath.Join(s.sessions(), removedPrefix+e.ID)
	if err := h.Rename(opHideSession, s.dir(e.ID), hidden); err != nil {
		return err
	}
	if err := h.SyncDir(opHideSession, s.sessions()); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.files, e.ID)
	s.mu.Unlock()
	return s.removeAll(hidden)
}

// removeLeftovers deletes the hidden folders that crashed processes have left.
func (s *Store) removeLeftovers() error {
	entries, err := s.opts.Host.ReadDir(opFindLeftovers, s.sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !s.isLeftover(e.Name()) {
			continue
		}
		if err := s.removeAll(filepath.Join(s.sessions(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// isLeftover reports whether the folder called name is hidden and may be deleted, because a crashed
// process has probably left it. This is always true for the folder of a session that was being
// deleted. For the folder of a session that was being created, it is true if the folder has not
// been modified for leftoverAge. The time in the session id does not matter, because a session can
// be created long after this time.
func (s *Store) isLeftover(name string) bool {
	if strings.HasPrefix(name, removedPrefix) {
		return true
	}
	if !strings.HasPrefix(name, newPrefix) {
		return false
	}
	h := s.opts.Host
	info, err := h.Lstat(opFindLeftovers, filepath.Join(s.sessions(), name))
	return err == nil && h.Now().Sub(info.ModTime()) > leftoverAge
}

// removeAll deletes a file, or a folder and its content. It deletes symbolic links, but not the
// files to which they lead. It ignores files that another process has already deleted.
func (s *Store) removeAll(name string) error {
	h := s.opts.Host
	info, err := h.Lstat(opRemoveSession, name)
	if err == nil && info.IsDir() {
		var entries []fs.DirEntry
		entries, err = h.ReadDir(opRemoveSession, name)
		for _, e := range entries {
			if err := s.removeAll(filepath.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	if err == nil {
		err = h.Remove(opRemoveSession, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
