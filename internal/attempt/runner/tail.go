package runner

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"gaffer/internal/attempt/agent"
)

// tail reads a growing log line by line, in constant memory.
type tail struct {
	path string
	at   int64 // offset of the next read in the file, in bytes
	line []byte
	skip bool // the current line is too long, so its rest is skipped
	buf  []byte
}

// maxRead is the maximum number of bytes per read.
const maxRead = 64 << 10

// read calls the function visit for every new line. It reads up to the offset limit, in bytes. If
// limit is negative, it reads up to the end of the log. The parameter complete says that no more
// output will be written. Then visit also gets a last line that does not end with a newline.
func (t *tail) read(limit int64, complete bool, visit func(line []byte)) error {
	if info, err := os.Stat(t.path); err == nil && info.Size() == t.at && !complete {
		return nil
	}
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no log: nothing was written yet, or the log was deleted
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	if err := t.growBuffer(f); err != nil {
		return err
	}
	for {
		buf := t.buf
		if limit >= 0 {
			buf = buf[:min(int64(len(buf)), max(limit-t.at, 0))]
		}
		n, err := f.ReadAt(buf, t.at)
		t.at += int64(n)
		t.lines(buf[:n], visit)
		if errors.Is(err, io.EOF) || n == 0 {
			break
		}
		if err != nil {
			return err
		}
	}
	if complete && len(t.line) > 0 {
		visit(t.line)
		t.line = nil
	}
	return nil
}

// growBuffer makes the buffer large enough for the unread output, but at most maxRead bytes long.
// It does not always allocate maxRead bytes, because there are many logs and most are short.
func (t *tail) growBuffer(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if want := min(maxRead, max(info.Size()-t.at+1, 512)); int64(len(t.buf)) < want {
		t.buf = make([]byte, want)
	}
	return nil
}

// lines splits data into lines and passes every complete line to the function each. It truncates
// lines to agent.MaxLine bytes.
func (t *tail) lines(data []byte, each func([]byte)) {
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			t.add(data)
			return
		}
		t.add(data[:end])
		each(bytes.TrimSuffix(t.line, []byte("\r")))
		t.line, t.skip = t.line[:0], false
		data = data[end+1:]
	}
}

func (t *tail) add(data []byte) {
	if t.skip {
		return
	}
	if room := agent.MaxLine - len(t.line); len(data) > room {
		data, t.skip = data[:room], true
	}
	t.line = append(t.line, data...)
}
