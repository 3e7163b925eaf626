package docview

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gaffer/session"
	"gaffer/statefile"
)

// MaxTail is the maximum number of bytes of a log that one call of Log returns.
const MaxTail = 1 << 20

// LogTail is the last part of a log.
type LogTail struct {
	Text     []byte
	From, To int64 // offsets of the start and the end of Text in the log
}

// logs returns the names of the log files in a session's folder, as a set: each name maps to
// itself.
func (s *SessionReader) logs(id string) map[string]string {
	entries, err := s.host.ReadDir(opRead, filepath.Join(s.sessions(), id))
	if err != nil {
		return nil
	}
	list := map[string]string{}
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasSuffix(name, ".log") && statefile.CheckName("log", name) == nil {
			list[name] = name
		}
	}
	return list
}

// Log returns the last bytes of an agent's log: as many as the parameter tail says, but at most
// MaxTail. If they begin inside a line, Log leaves out the rest of that line. The log must be a
// regular file in the session's own folder. Links are not followed, because their target may be
// outside the folder.
func (s *SessionReader) Log(id, agent string, tail int64) (LogTail, error) {
	missing := &session.NotFoundError{What: "log", ID: agent, Where: "session " + id}
	if statefile.CheckName("session id", id) != nil || statefile.CheckName("agent id", agent) != nil {
		return LogTail{}, missing
	}
	name := logName(agent, s.logFile(id, agent), s.logs(id))
	if name == "" {
		return LogTail{}, missing
	}
	root, err := os.OpenRoot(s.sessions())
	if err != nil {
		return LogTail{}, missing
	}
	defer func() { _ = root.Close() }() // an error does not matter, because nothing was written
	f, err := root.OpenFile(filepath.Join(id, name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return LogTail{}, missing
	}
	defer func() { _ = f.Close() }() // an error does not matter, because nothing was written
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return LogTail{}, missing
	}
	return end(f, info, min(tail, MaxTail))
}

// logFile returns the path of an agent's log file as named in the session's document. It returns ""
// if the document does not name the log file, or cannot be read.
func (s *SessionReader) logFile(id, agent string) string {
	status, err := s.store.Load(id)
	if err != nil {
		return "" // the caller then uses the default name of the log file
	}
	for _, a := range status.Agents {
		if a.ID == agent {
			return a.LogFile
		}
	}
	return ""
}

func end(f io.ReaderAt, info fs.FileInfo, tail int64) (LogTail, error) {
	from := max(0, info.Size()-tail)
	start := max(0, from-1) // the byte before tells whether the first line is complete
	text := make([]byte, info.Size()-start)
	n, err := f.ReadAt(text, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return LogTail{}, err
	}
	text = text[:n]
	to := start + int64(n)
	skip := min(int(from-start), n)
	if line := bytes.IndexByte(text, '\n') + 1; from > 0 && line > 0 && line < len(text) {
		skip = line
	}
	return LogTail{text[skip:], start + int64(skip), to}, nil
}
