package credential

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// TokenFile is the file with the text of the first access token that was created in a database. The
// first server that runs on the database creates the token and the file. While a server runs, it
// holds a shared lock on a lock file next to the token file.
type TokenFile struct {
	file     string
	lock     *os.File
	soleUser bool // no other server held the lock when this server started
}

// LockTokenFile locks a token file until Release is called. If no other server holds the lock,
// LockTokenFile gets an exclusive lock, which CreateFirst turns into a shared lock. Otherwise it
// waits until no server holds an exclusive lock, and gets a shared lock.
func LockTokenFile(file string) (*TokenFile, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(file+".lock", os.O_RDONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	h := &TokenFile{file: file, lock: lock}
	err = h.flock(syscall.LOCK_EX | syscall.LOCK_NB)
	if h.soleUser = err == nil; errors.Is(err, syscall.EWOULDBLOCK) {
		err = h.flock(syscall.LOCK_SH)
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: lock.Name(), Err: err}, lock.Close())
	}
	return h, nil
}

func (h *TokenFile) flock(how int) error {
	for {
		if err := syscall.Flock(int(h.lock.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Release releases the lock.
func (h *TokenFile) Release() { _ = h.lock.Close() } // the lock file has no content, so an error does not matter

// CreateFirst creates an admin token if the store has no token. It writes the token's text to the
// file, which only the file's owner can read, and returns the text. It returns "" if the store
// already has a token. If a server on another database uses the file, CreateFirst does not replace
// the file but returns a conflict error.
func (h *TokenFile) CreateFirst(ctx context.Context, b *TokenStore) (text string, err error) {
	defer func() {
		if shared := h.flock(syscall.LOCK_SH); err == nil {
			err = shared
		}
	}()
	all, err := b.List(ctx)
	if err != nil || len(all) > 0 {
		return "", err
	}
	// Write the file before the token becomes valid. In the other order, a crash in between would
	// leave a valid token whose text no user knows. CreateFirst would then create no other token,
	// because the store already contains one.
	text, _, err = b.create(ctx, TokenSpec{Role: Admin, Name: "first"}, func(text string) error {
		switch err := h.write(text); {
		case errors.Is(err, fs.ErrExist):
			return &Error{taken, fmt.Sprintf("%s holds the token of a server that runs on another database; give this server a state folder of its own with XDG_STATE_HOME, or stop the other", h.file)}
		case err != nil:
			return fmt.Errorf("keep the first token: %w", err)
		}
		return nil
	})
	return text, err
}

// write writes the token to the file. If no other server used the file when this server started,
// write replaces an existing file and its permissions. Otherwise it never replaces the file: it
// returns an error if the file exists.
func (h *TokenFile) write(text string) error {
	temp, err := os.CreateTemp(filepath.Dir(h.file), ".token-") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = temp.WriteString(text + "\n")
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
	case h.soleUser:
		err = os.Rename(temp.Name(), h.file)
	default:
		err = os.Link(temp.Name(), h.file)
	}
	if gone := os.Remove(temp.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
