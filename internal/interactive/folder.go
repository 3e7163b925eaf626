package interactive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Folder is where the documents of sessions are.
type Folder struct{ path string }

// In names the folder below gaffer's state. Nothing is made.
func In(state string) Folder { return Folder{filepath.Join(state, "interactive")} }

const (
	lockName = ".lock"
	maxDoc   = 256 << 10
	maxDocs  = 1000
)

// Update changes the document of a session. Whoever dies in it leaves the old one
// or the new one. Nothing is synced: what a power failure takes is about
// processes that it has ended.
func (f Folder) Update(ctx context.Context, program, session string, change func(Session) Session) (Session, error) {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return Session{}, err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return Session{}, err
	}
	defer unlock()
	path := f.pathOf(program, session)
	s := change(readDoc(path, program, session))
	if !s.known() {
		return s, nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	temp := filepath.Join(f.path, ".new")
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return s, err
	}
	return s, os.Rename(temp, path)
}

// lock is one for all documents: it is held for as long as a small file takes.
func (f Folder) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(f.path, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	pause := time.Millisecond
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // which unlocks it
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), context.Cause(ctx))
		case <-time.After(pause):
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}

// pathOf is the place of a session's document. An id that cannot be a name has
// one made of it.
func (f Folder) pathOf(program, session string) string {
	name := session
	if !plain(name) {
		sum := sha256.Sum256([]byte(session))
		name = "x" + hex.EncodeToString(sum[:16])
	}
	return filepath.Join(f.path, program+"."+name+".json")
}

// readDoc reads the document of a session. One that is not whole, or not that
// session's, is none.
func readDoc(path, program, session string) Session {
	var s Session
	data, err := readSmall(path, maxDoc)
	if err != nil || json.Unmarshal(data, &s) != nil || s.Program != program || session != "" && s.Session != session {
		return Session{}
	}
	switch s.Status {
	case Idle, Running, Waiting:
		return s
	}
	return Session{}
}

// all reads every document, and says where it is.
func (f Folder) all(now time.Time) (list []Session, paths []string) {
	dir, err := os.Open(f.path)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = dir.Close() }() // nothing was written to it
	names, _ := dir.Readdirnames(maxDocs)
	for _, name := range names {
		if isMeter(name) {
			f.forgetMeter(name, now)
			continue
		}
		program, rest, _ := strings.Cut(name, ".")
		if !strings.HasSuffix(rest, ".json") || !isProgram(program) {
			continue
		}
		path := filepath.Join(f.path, name)
		if s := readDoc(path, program, ""); s.known() {
			list, paths = append(list, s), append(paths, path)
		} else {
			_ = os.Remove(path) // nobody can read it, and the next event makes it anew
		}
	}
	return list, paths
}

func isProgram(name string) bool { return name == Claude || name == Codex || name == Gemini }

// remove takes a document away unless its session was heard of meanwhile.
func (f Folder) remove(ctx context.Context, s Session, path string) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	unlock, err := f.lock(ctx)
	if err != nil {
		return // the next look does it
	}
	defer unlock()
	if now := readDoc(path, s.Program, s.Session); !now.At.After(s.At) {
		_ = os.Remove(path)
	}
}

// readSmall reads a regular file of at most so many bytes and waits for nothing.
func readSmall(path string, most int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written to it
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > most:
		return nil, fmt.Errorf("%s: no regular file of at most %d bytes", path, most)
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// Load reads the document of a session, the zero one if there is none.
func (f Folder) Load(program, session string) Session {
	return readDoc(f.pathOf(program, session), program, session)
}
