package hookevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/byhand/agentproc"
)

// Folder is the folder that holds one document for each session of an agent program.
type Folder struct{ path string }

// NewFolder returns the Folder below gaffer's state folder. It does not create the folder.
func NewFolder(state string) Folder { return Folder{state + "/interactive"} }

const (
	lockName = ".lock"
	maxDoc   = 256 << 10
	maxDocs  = 1000
)

// Update applies the function change to the stored state of a session. If there is no valid file
// for the session, change gets the zero Session. If change returns a session without a status,
// nothing is stored. If this process dies, the file has either the old or the new content. The file
// is not synced to disk: after a power failure it is not needed, because the agents' processes have
// ended too.
func (f Folder) Update(ctx context.Context, program, session string, change func(Session) Session) (Session, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return Session{}, err
	}
	defer unlock()
	path := f.pathOf(program, session)
	s, _ := readDoc(path, program, session)
	if s = change(s); !s.known() {
		return s, nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	return s, replace(path, f.path+"/.new", data)
}

// lock takes the one lock for the files of all sessions. A process holds the lock only while it
// reads and then writes or deletes one small file. If ctx can be cancelled, lock polls, so that it
// can return when ctx ends. Otherwise it blocks in the kernel.
func (f Folder) lock(ctx context.Context) (unlock func(), err error) {
	name := f.path + "/" + lockName
	const flags = syscall.O_RDWR | syscall.O_CREAT | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	fd, err := open(name, flags)
	if errors.Is(err, syscall.ENOENT) {
		if err := os.MkdirAll(f.path, 0o700); err != nil {
			return nil, err
		}
		fd, err = open(name, flags)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	how, pause := syscall.LOCK_EX, time.Millisecond
	if ctx.Done() != nil {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(fd, how)
		if err == nil {
			return func() { _ = syscall.Close(fd) }, nil // closing the file releases its lock
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			_ = syscall.Close(fd)
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			_ = syscall.Close(fd)
			return nil, fmt.Errorf("lock %s: %w", name, context.Cause(ctx))
		case <-time.After(pause):
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}

// pathOf returns the path of a session's document. If the session's id is not valid in a file name,
// the file name contains a hash of the id instead.
func (f Folder) pathOf(program, session string) string {
	name := session
	if !IsFileNameSafe(name) {
		name = "x" + fingerprint([]byte(session))
	}
	return f.path + "/" + program + "." + name + ".json"
}

// Load returns the document of a session, or the zero value if there is no valid document.
func (f Folder) Load(program, session string) Session {
	s, _ := readDoc(f.pathOf(program, session), program, session)
	return s
}

// readDoc reads the document of a session, which is the file with its state. If the parameter
// session is empty, it accepts the document of any session. If there is no usable document, it
// returns the zero Session. The result spoilt is then true if the file is invalid, too large, not a
// regular file, or the document of another session. It is false if the file is missing or cannot be
// read.
func readDoc(path, program, session string) (s Session, spoilt bool) {
	data, err := ReadSmallFile(path, maxDoc)
	if err != nil {
		return Session{}, errors.Is(err, errNotSmallFile)
	}
	if json.Unmarshal(data, &s) != nil || s.Program != program || session != "" && s.Session != session {
		return Session{}, true
	}
	switch s.Status {
	case Idle, Running, Waiting:
		return s, false
	}
	return Session{}, true
}

// All returns the documents of all sessions and the paths of their files. It deletes invalid
// documents. It also deletes old files in which the usage of Claude Code's sessions is stored.
func (f Folder) All(now time.Time) (list []Session, paths []string) {
	list, paths, useless := f.read()
	for _, name := range useless {
		path := f.path + "/" + name
		if isUsageFile(name) {
			f.removeOldUsage(name, now)
			continue
		}
		program, _, _ := strings.Cut(name, ".")
		// Delete the invalid document. The next event of the session creates it again.
		f.remove(path, func() bool {
			_, spoilt := readDoc(path, program, "")
			return spoilt
		})
	}
	return list, paths
}

// Sessions returns the documents of all sessions. Unlike All, it deletes nothing.
func (f Folder) Sessions() []Session {
	list, _, _ := f.read()
	return list
}

// read returns the documents of all sessions with their paths. It looks at no more than maxDocs
// files. The result useless holds the names of the invalid documents, which the caller may delete,
// and of all files with the usage of sessions, which the caller may delete if they are old.
func (f Folder) read() (list []Session, paths, useless []string) {
	dir, err := os.Open(f.path)
	if err != nil {
		return nil, nil, nil
	}
	defer func() { _ = dir.Close() }() // ignore the error: the folder was only read
	names, _ := dir.Readdirnames(maxDocs)
	for _, name := range names {
		program, rest, _ := strings.Cut(name, ".")
		switch {
		case isUsageFile(name):
			useless = append(useless, name)
			continue
		case !strings.HasSuffix(rest, ".json") || !agentproc.IsProgram(program):
			continue
		}
		path := f.path + "/" + name
		s, spoilt := readDoc(path, program, "")
		switch {
		case s.known():
			list, paths = append(list, s), append(paths, path)
		case spoilt:
			useless = append(useless, name)
		}
	}
	return list, paths, useless
}

// Remove deletes the document of a session. If the session has had another event since s was read,
// Remove keeps the document.
func (f Folder) Remove(s Session, path string) {
	f.remove(path, func() bool {
		now, _ := readDoc(path, s.Program, s.Session)
		return now.known() && !now.At.After(s.At)
	})
}

// remove deletes a document if the function isRight returns true. It holds the lock of the folder
// while it calls isRight and deletes the file.
func (f Folder) remove(path string, isRight func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	unlock, err := f.lock(ctx)
	if err != nil {
		return // ignore the error: a later call deletes the document
	}
	defer unlock()
	if isRight() {
		_ = os.Remove(path)
	}
}
