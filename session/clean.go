package session

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gaffer/statefile/host"
)

// The steps of removing sessions.
const (
	opFindLeftovers host.Op = "find leftovers"
	opDeactivate    host.Op = "remove active-session"
	opHideSession   host.Op = "hide session folder"
	opRemoveSession host.Op = "remove session file"
)

// removedPrefix hides a session's folder while it is being removed.
const removedPrefix = ".removed-"

// leftoverAge is for how long nothing must have been done in the hidden folder of
// a new session before its writer is taken for dead.
const leftoverAge = time.Hour

// Cleaning says which sessions to remove.
type Cleaning struct {
	OlderThan time.Duration
	Force     bool // also the active session and those that run
	DryRun    bool // only tell
}

// Cleaned is an old session and what became of it.
type Cleaned struct {
	ID   string `json:"session_id"`
	Kept string `json:"kept,omitempty"` // why it was not removed
}

// Clean removes sessions that ended, or else began, long ago. It returns every
// such session, also those it kept: the active one and those that run, unless
// forced, and always those that cannot be read. A crash leaves each session
// whole or gone; what is left hidden is removed the next time.
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
		one := Cleaned{ID: e.ID, Kept: e.keep(c.Force)}
		if one.Kept == "" && !c.DryRun {
			if err := s.remove(e); err != nil {
				return done, err
			}
		}
		done = append(done, one)
	}
	return done, nil
}

// last is when something last happened in the session as far as is known.
func (e Entry) last() time.Time {
	switch {
	case !e.CompletedAt.IsZero():
		return e.CompletedAt.Time
	case !e.StartedAt.IsZero():
		return e.StartedAt.Time
	}
	made, _ := idMade(e.ID) // an unknown time is long ago; such a session is kept
	return made
}

// keep says why an old session must not be removed, or nothing.
func (e Entry) keep(force bool) string {
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

// idMade reads the time in an id.
func idMade(id string) (time.Time, error) {
	if len(id) < len(idTime) {
		return time.Time{}, errors.New("no time in the id")
	}
	return time.Parse(idTime, id[:len(idTime)])
}

// remove takes the link away first, so that it never leads to nothing, then
// the whole folder out of sight in one step, then what is in it.
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

// removeLeftovers finishes what a process that died had begun.
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

// isLeftover goes by the folder's own time: the id of a session that is recorded
// late says when its run began.
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

// removeAll removes a folder and all in it, and follows no link. What somebody
// else has removed meanwhile is as good as removed.
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
