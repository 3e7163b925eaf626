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

// MaxTail is how much of the end of a log can be had.
const MaxTail = 1 << 20

// LogTail is the end of a log.
type LogTail struct {
	Text     []byte
	From, To int64 // where it is in the log
}

// logs are the names of the logs in a session's folder, each by itself.
func (s *Shelf) logs(id string) map[string]string {
	entries, err := s.host.ReadDir(opLook, filepath.Join(s.sessions(), id))
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

// Log reads at most so many bytes of the end of an agent's log, from the
// beginning of a line. It must be a plain file in the session's own folder:
// what a link there leads to is not the session's to show.
func (s *Shelf) Log(id, agent string, tail int64) (LogTail, error) {
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
	defer func() { _ = root.Close() }() // nothing was written
	f, err := root.OpenFile(filepath.Join(id, name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return LogTail{}, missing
	}
	defer func() { _ = f.Close() }() // likewise
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return LogTail{}, missing
	}
	return end(f, info, min(tail, MaxTail))
}

// logFile is what the session's document says where an agent's log is.
func (s *Shelf) logFile(id, agent string) string {
	status, err := s.store.Load(id)
	if err != nil {
		return "" // the protocol says where it is
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
	text := make([]byte, info.Size()-from)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return LogTail{}, err
	}
	text = text[:n]
	to := from + int64(n)
	if line := bytes.IndexByte(text, '\n') + 1; from > 0 && line > 0 && line < len(text) {
		text, from = text[line:], from+int64(line)
	}
	return LogTail{text, from, to}, nil
}
