package session

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// The steps of making a session beside those of writing its document.
const (
	opMakeSession host.Op = "make session folder"
	opShowSession host.Op = "show session folder"
	opSyncSession host.Op = "sync sessions folder"
	opUndoSession host.Op = "undo session folder"
)

// newPrefix hides a session's folder until its document is in it.
const newPrefix = ".new-"

// ActiveKept is the kind of a notice: active-session is not a link, so it was
// left as it is and the new session is not the active one.
const ActiveKept statefile.NoticeKind = "active-session-kept"

// errTaken is a session id that somebody else has.
var errTaken = errors.New("session id is taken")

const (
	idTime   = "20060102-150405"
	idRandom = 4 // bytes
)

// NewID returns an id for a session made now: the time in UTC and a random
// part, such as 20260201-143022-abc12345.
func NewID(now time.Time, random io.Reader) (string, error) {
	var b [idRandom]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("session id: %w", err)
	}
	return now.UTC().Format(idTime) + "-" + hex.EncodeToString(b[:]), nil
}

// Create makes a session and makes it the active one. A crash leaves no part
// of a session: either it is there with its document, or it is not. If only
// the last step failed, the id is returned with the error.
func (s *Store) Create(ctx context.Context, d Draft) (string, error) {
	if err := d.check(); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := s.makeFolder(); err != nil {
		return "", err
	}
	id, err := s.createFresh(d)
	if err != nil {
		return "", err
	}
	if err := s.activate(id); err != nil {
		return id, fmt.Errorf("session %s was made but is not the active one: %w", id, err)
	}
	return id, nil
}

// makeFolder makes the folder of sessions, which git ignores.
func (s *Store) makeFolder() error {
	if err := statefile.MkdirIgnored(s.opts.Host, s.root); err != nil {
		return err
	}
	return statefile.MkdirAll(s.opts.Host, s.sessions())
}

// createFresh draws ids until one is free.
func (s *Store) createFresh(d Draft) (string, error) {
	const draws = 100
	for range draws {
		now := s.opts.Now()
		id, err := NewID(now, s.opts.Rand)
		if err != nil {
			return "", err
		}
		data, err := d.build(id, s.opts.LogPrefix, now)
		if err != nil {
			return "", err
		}
		if err := s.place(id, data); !errors.Is(err, errTaken) {
			return id, err
		}
	}
	return "", fmt.Errorf("session id: %d ids in a row were taken", draws)
}

// place puts the session's folder where others see it, complete.
func (s *Store) place(id string, data []byte) error {
	h, hidden := s.opts.Host, filepath.Join(s.sessions(), newPrefix+id)
	err := h.Mkdir(opMakeSession, hidden, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return errTaken
	}
	if err != nil {
		return err
	}
	if err := s.show(id, hidden, data); err != nil {
		// What stays behind is hidden, and swept by Clean.
		_ = h.Remove(opUndoSession, filepath.Join(hidden, statusName))
		_ = h.Remove(opUndoSession, hidden)
		return err
	}
	return h.SyncDir(opSyncSession, s.sessions())
}

// show fills the hidden folder and gives it its name. The name is looked for
// first, because a folder may be renamed over an empty one. Nobody else can
// take it meanwhile: the hidden folder is ours alone.
func (s *Store) show(id, hidden string, data []byte) error {
	h := s.opts.Host
	if _, err := h.Lstat(opMakeSession, s.dir(id)); err == nil {
		return errTaken
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := statefile.WriteNew(h, filepath.Join(hidden, statusName), data, 0o666); err != nil {
		return err
	}
	return h.Rename(opShowSession, hidden, s.dir(id))
}

// activate points active-session to a session. Something that is not a link
// was put there by a person, and is left to that person.
func (s *Store) activate(id string) error {
	info, err := s.opts.Host.Lstat(opReadActive, s.active())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		s.notice(ActiveKept, s.active(), "is not a link; it was left as it is, so the new session is not the active one")
		return nil
	}
	return statefile.ReplaceLink(s.opts.Host, path.Join(sessionsName, id), s.active())
}

func (s *Store) notice(kind statefile.NoticeKind, path, text string) {
	if s.opts.Notice != nil {
		s.opts.Notice(statefile.Notice{Kind: kind, Path: path, Text: path + " " + text})
	}
}
