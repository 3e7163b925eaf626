package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// The holder of an attempt's lock writes lines into it that begin with one of these
// words. All other lines are stderr of a supervisor: a crash report, or debug output
// that its environment has enabled.
const (
	specWord = "spec {" // what to run; written before a supervisor gets the lock
	heldWord = "held {" // identity of the supervisor; from here on there may be an agent
	exitWord = "exit {" // how the attempt ended; the last complete line counts

	frozenWord = "frozen {" // when all processes were frozen
	thawedWord = "thawed {" // when they were resumed

	doubtWord = "doubt {" // when it was first found that processes of the attempt may be alive
)

// lockRecord is the parsed content of a lock.
type lockRecord struct {
	spec   []byte // nil if missing
	signed bool
	by     supervisorRecord // from the last complete line
	exit   *Exit
	frozen bool
	words  string

	doubted time.Time // zero if no doubt was recorded
}

// doubt is recorded by a process that cannot prove that an attempt has ended.
type doubt struct {
	Since time.Time `json:"since"`
}

// maxWords is the maximum number of bytes kept of a supervisor's stderr.
const maxWords = 2000

// accountOf parses the text of a lock. An incomplete line is ignored, except that an
// incomplete "held" line still means that there may be an agent.
func accountOf(text []byte) (a lockRecord) {
	var words strings.Builder
	for line := range bytes.Lines(text) {
		whole := bytes.HasSuffix(line, []byte{'\n'})
		switch {
		case bytes.HasPrefix(line, []byte(heldWord)):
			a.signed = true
			if whole {
				a.by = parseSignature(line[len(heldWord)-1:])
			}
		case bytes.HasPrefix(line, []byte(specWord)):
			if whole && a.spec == nil {
				a.spec = line[len(specWord)-1:]
			}
		case bytes.HasPrefix(line, []byte(exitWord)):
			var e Exit
			if whole && json.Unmarshal(line[len(exitWord)-1:], &e) == nil {
				a.exit = &e
			}
		case bytes.HasPrefix(line, []byte(frozenWord)):
			a.frozen = true
		case bytes.HasPrefix(line, []byte(doubtWord)):
			var d doubt
			if whole && json.Unmarshal(line[len(doubtWord)-1:], &d) == nil {
				a.doubted = d.Since
			}
		case bytes.HasPrefix(line, []byte(thawedWord)):
			a.frozen = false
		case words.Len() < maxWords && len(bytes.TrimSpace(line)) > 0:
			words.Write(line)
		}
	}
	a.words = strings.TrimSpace(words.String()[:min(words.Len(), maxWords)])
	return a
}

// readLock reads and parses a lock that we hold.
func readLock(lock *os.File) (lockRecord, error) {
	info, err := lock.Stat()
	if err != nil {
		return lockRecord{}, err
	}
	if info.Size() > statefile.MaxSize {
		return lockRecord{}, fmt.Errorf("%s has %d bytes", lock.Name(), info.Size())
	}
	text := make([]byte, info.Size())
	n, err := lock.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return lockRecord{}, err
	}
	return accountOf(text[:n]), nil
}

// readLockRecord reads a lock that another process may hold. It returns an empty account if
// there is no lock.
func (f folder) readLockRecord() (lockRecord, error) {
	text, err := statefile.ReadBytes(host.OS(), f.path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return accountOf(text), err
}

// used reports whether a supervisor has signed the lock, or the attempt has already
// ended.
func (a lockRecord) used() bool { return a.signed || a.exit != nil }

// specIn returns the spec from the lock, or from the folder's spec.json if the lock
// has none.
func (a lockRecord) specIn(f folder) (s Spec, err error) {
	text, from := a.spec, f.path(lockFile)
	if text == nil {
		from = f.path(specFile)
		if text, err = statefile.ReadBytes(host.OS(), from); err != nil {
			return Spec{}, err
		}
	}
	if err = json.Unmarshal(text, &s); err == nil {
		err = s.check()
	}
	if err != nil {
		return Spec{}, fmt.Errorf("%s: %w", from, err)
	}
	return s, nil
}

// note appends a line to a lock that we hold. It first writes a newline, because the
// previous line may be incomplete after a crash.
func note(lock *os.File, word string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := make([]byte, 0, 1+len(word)+len(data))
	if word != specWord {
		line = append(line, '\n')
	}
	line = append(append(line, word[:len(word)-1]...), data...)
	_, err = lock.Write(append(line, '\n'))
	return err
}

// end durably records how an attempt ended in the lock, which we hold.
func (f folder) end(lock *os.File, e Exit) error {
	if !isFile(int(lock.Fd()), f.path(lockFile)) {
		return fmt.Errorf("%s: is not there any more, or another file is", f.path(lockFile))
	}
	if err := note(lock, exitWord, e); err != nil {
		return err
	}
	return lock.Sync()
}

// Job returns the [Spec.Job] of the attempt that was started in a folder. The error is
// fs.ErrNotExist if the lock contains no spec.
func Job(dir string) ([]byte, error) {
	a, err := folder(dir).readLockRecord()
	if err != nil {
		return nil, err
	}
	if a.spec == nil {
		return nil, &fs.PathError{Op: "read job", Path: dir, Err: fs.ErrNotExist}
	}
	s, err := a.specIn(folder(dir))
	return s.Job, err
}
