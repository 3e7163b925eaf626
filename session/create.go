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

// Names of the file operations that create a session's folder. The methods of [host.Host] expect
// such a name, so that a test can make a certain operation fail.
const (
	opMakeSession host.Op = "make session folder"
	opShowSession host.Op = "show session folder"
	opSyncSession host.Op = "sync sessions folder"
	opUndoSession host.Op = "undo session folder"
)

// newPrefix is the prefix of a new session's folder name until the folder contains the session's
// document, status.json. It starts with a dot, so the folder is hidden.
const newPrefix = ".new-"

// ActiveKept is the kind of the notice to the user if a new session cannot become the active
// session, because the file active-session is not a symbolic link. In this case the file stays
// unchanged.
const ActiveKept statefile.NoticeKind = "active-session-kept"

// errTaken is the error that [Store.create] returns if the session id is already in use: by an
// existing session, by another process that is creating a session with this id, or by the hidden
// folder that such a process has left after a crash.
var errTaken = errors.New("session id is taken")

const (
	idTime   = "20060102-150405"
	idRandom = 4 // number of random bytes in a session id
)

// NewID returns an id for a new session, such as 20260201-143022-abc12345. It consists of the time
// now in UTC and of hexadecimal digits for random bytes, which NewID reads from the parameter
// random.
func NewID(now time.Time, random io.Reader) (string, error) {
	var b [idRandom]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("session id: %w", err)
	}
	return now.UTC().Format(idTime) + "-" + hex.EncodeToString(b[:]), nil
}

// Create creates a session, makes it the active session, and returns its id. After a crash the
// session either exists with its document or does not exist. If Create has created the session but
// fails to make it the active session, it returns both the id and an error. But if the reason is
// that the file active-session is not a symbolic link, Create notifies the user and returns no
// error.
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

// makeFolder creates the root folder of the store and, in it, the folder for the sessions. If the
// root folder is new, it gets a .gitignore, so that git ignores everything in it.
func (s *Store) makeFolder() error {
	if err := statefile.MkdirIgnored(s.opts.Host, s.root); err != nil {
		return err
	}
	return statefile.MkdirAll(s.opts.Host, s.sessions())
}

// createFresh creates a session with a new random id. If the id is already in use, it tries another
// id. It returns an error if 100 ids are in use.
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
		if err := s.create(id, data); !errors.Is(err, errTaken) {
			return id, err
		}
	}
	return "", fmt.Errorf("session id: %d ids in a row were taken", draws)
}

// create writes the document of a session, data, into a hidden folder and then renames the folder,
// so that other programs never see an incomplete session. It returns errTaken if the id is already
// in use.
func (s *Store) create(id string, data []byte) error {
	h, hidden := s.opts.Host, filepath.Join(s.sessions(), newPrefix+id)
	err := h.Mkdir(opMakeSession, hidden, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return errTaken
	}
	if err != nil {
		return err
	}
	if err := s.publish(id, hidden, data); err != nil {
		// Ignore errors: [Store.Clean] later deletes the hidden folder if it still exists.
		_ = h.Remove(opUndoSession, filepath.Join(hidden, statusName))
		_ = h.Remove(opUndoSession, hidden)
		return err
	}
	return h.SyncDir(opSyncSession, s.sessions())
}

// publish writes the session's document into the hidden folder and renames the folder to its final
// name. It first checks that no folder has the final name, because a rename may replace an empty
// folder. No other gaffer process can publish the same session after this check: only the process
// that has created the hidden folder calls publish.
func (s *Store) publish(id, hidden string, data []byte) error {
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

// activate makes the symbolic link active-session lead to the session. If a file active-session
// exists that is not a symbolic link, activate leaves it unchanged and notifies the user.
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
