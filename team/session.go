package team

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/statefile"
)

// Init creates a session of the team with the given requirements and returns the session's id. It
// returns a [*SessionExistsError] if the folder already has a session.
func (s *Store) Init(ctx context.Context, requirements string) (id string, err error) {
	id, _, err = s.begin(ctx, requirements, false)
	return id, err
}

// InitNew archives the current session, if there is one, and creates a new session. It returns the id
// of the new session. archive is the path of the folder with the archived documents, or "" if there
// was no session.
func (s *Store) InitNew(ctx context.Context, requirements string) (id, archive string, err error) {
	return s.begin(ctx, requirements, true)
}

func (s *Store) begin(ctx context.Context, requirements string, replace bool) (id, archive string, err error) {
	switch {
	case strings.TrimSpace(requirements) == "":
		return "", "", &RequirementsError{"are empty"}
	case !utf8.ValidString(requirements):
		return "", "", &RequirementsError{"are not UTF-8 text"}
	}
	if err := statefile.MkdirIgnored(s.opts.Host, s.root); err != nil {
		return "", "", err
	}
	err = s.exclusive(ctx, func(now time.Time) error {
		c, err := s.planArchive(now)
		if err != nil {
			return err
		}
		if len(c.Move) > 0 && !replace {
			return &SessionExistsError{Root: s.root, SessionID: s.sessionID()}
		}
		if id, err = s.freeID(now, c.Archive); err != nil {
			return err
		}
		c.New = &newSession{SessionID: id, Requirements: requirements, Time: At(now)}
		archive = s.archivePath(c)
		return s.writeAndExecute(c)
	})
	return id, archive, err
}

// Archive moves the documents of the session to a new folder in archive/ and returns that folder's
// path. Afterwards there is no session.
func (s *Store) Archive(ctx context.Context) (archive string, err error) {
	err = s.exclusive(ctx, func(now time.Time) error {
		c, err := s.planArchive(now)
		if err != nil {
			return err
		}
		if len(c.Move) == 0 {
			return &NoSessionError{Root: s.root}
		}
		archive = s.archivePath(c)
		return s.writeAndExecute(c)
	})
	return archive, err
}

// Copy copies the documents of the session to a new folder in archive/ and returns that folder's
// path. The session stays unchanged.
func (s *Store) Copy(ctx context.Context) (copied string, err error) {
	err = s.exclusive(ctx, func(now time.Time) error {
		present, err := s.present()
		if err != nil {
			return err
		}
		if len(present) == 0 {
			return &NoSessionError{Root: s.root}
		}
		name := s.sessionID()
		if statefile.CheckName("session", name) != nil {
			name = "unknown_" + stampOf(now)
		}
		if name, err = unusedName(name+"_before", s.archived); err != nil {
			return err
		}
		copied = filepath.Join(s.root, archiveFolder, name)
		for _, d := range present {
			data, err := statefile.ReadBytes(s.opts.Host, s.path(d))
			if err != nil {
				return err
			}
			to := filepath.Join(copied, d.Path())
			if err := statefile.MkdirAll(s.opts.Host, filepath.Dir(to)); err != nil {
				return err
			}
			if err := statefile.WriteNew(s.opts.Host, to, data, 0o666); err != nil {
				return err
			}
		}
		return nil
	})
	return copied, err
}

func (s *Store) archivePath(c change) string {
	if c.Archive == "" {
		return ""
	}
	return filepath.Join(s.root, archiveFolder, c.Archive)
}

// planArchive returns a plan to move the existing documents to a new archive folder; the plan is
// empty if there are none. It returns a [*LinkError] if a document is a symbolic link, because a
// relative link would point to another file after the move.
func (s *Store) planArchive(now time.Time) (c change, err error) {
	c.Move, err = s.present()
	if err != nil || len(c.Move) == 0 {
		return c, err
	}
	for _, d := range c.Move {
		info, err := s.opts.Host.Lstat(opLook, s.path(d))
		if err != nil {
			return c, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return c, &LinkError{Path: s.path(d)}
		}
	}
	name := s.sessionID()
	if statefile.CheckName("session", name) != nil {
		name = "unknown_" + stampOf(now)
	}
	c.Archive, err = unusedName(name, s.archived)
	return c, err
}

// sessionID returns the id of the current session from pm_state.json or, if that has no id or
// cannot be read, from orchestrator_state.json. It returns "" if neither of them has an id.
func (s *Store) sessionID() string {
	for _, d := range []Document{PMStateDoc, OrchestratorDoc} {
		if doc, err := s.files[d].Load(); err == nil {
			if id := doc.Value().Get("session_id").Text(); id != "" {
				return id
			}
		}
	}
	return ""
}

func (s *Store) archived(name string) (bool, error) {
	return s.exists(filepath.Join(s.root, archiveFolder, name))
}

// freeID returns an id for a new session, which neither the current session nor an archived session
// has. The parameter archiving is the name of the archive folder that the current session will get,
// or "" if there is no session.
func (s *Store) freeID(now time.Time, archiving string) (string, error) {
	present := s.sessionID()
	return unusedName("v4_"+stampOf(now), func(id string) (bool, error) {
		if id == present || id == archiving {
			return true, nil
		}
		return s.archived(id)
	})
}

// unusedName returns name if it is not in use. Otherwise, it returns the first of name_2, name_3
// and so on that is not in use. The function taken reports whether a name is in use.
func unusedName(name string, taken func(string) (bool, error)) (string, error) {
	candidate := name
	for n := 2; ; n++ {
		if is, err := taken(candidate); err != nil || !is {
			return candidate, err
		}
		candidate = fmt.Sprintf("%s_%d", name, n)
	}
}

// SessionExistsError reports that no session can be created because the team's folder already has
// one.
type SessionExistsError struct{ Root, SessionID string }

func (e *SessionExistsError) Error() string {
	if e.SessionID == "" {
		return e.Root + ": there is a session already"
	}
	return fmt.Sprintf("%s: there is session %s already", e.Root, e.SessionID)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *SessionExistsError) Conflict() bool { return true }

// Hint tells the user what to do next.
func (e *SessionExistsError) Hint() string {
	return "'gaffer team show' says where it stands; 'gaffer team init --new' archives it and begins another"
}

// LinkError reports a document that is a symbolic link and cannot be archived.
type LinkError struct{ Path string }

func (e *LinkError) Error() string { return e.Path + ": is a symbolic link and cannot be archived" }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *LinkError) Conflict() bool { return true }

// Hint tells the user what to do next.
func (e *LinkError) Hint() string { return "replace the link by the document itself" }

// RequirementsError reports invalid requirements of a session.
type RequirementsError struct{ Problem string }

func (e *RequirementsError) Error() string { return "begin session: the requirements " + e.Problem }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *RequirementsError) Usage() bool { return true }
