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

// The process that holds an attempt's lock writes records into the lock file, one per line. The
// line of a record begins with one of these words. All other lines are stderr of a supervisor, for
// example a crash report.
const (
	specWord = "spec {" // what to run, as a Spec; written before a supervisor gets the lock
	heldWord = "held {" // identity of the supervisor; after this line, an agent may be running
	exitWord = "exit {" // how the attempt ended; the last complete line with this word counts

	frozenWord = "frozen {" // when all processes of the attempt were frozen
	thawedWord = "thawed {" // when the frozen processes were resumed

	// unprovenWord begins a line that is written after the supervisor has died. The line says when
	// gaffer first failed to prove that all processes of the attempt have ended.
	unprovenWord = "doubt {"
)

// lockRecord is the parsed content of an attempt's lock file.
type lockRecord struct {
	spec          []byte           // the spec as JSON; nil if missing
	hasSupervisor bool             // the supervisor has written its identity, so an agent may be running
	supervisor    supervisorRecord // the record in the last complete "held" line
	exit          *Exit
	frozen        bool
	stderr        string

	unprovenSince time.Time // since when gaffer could not prove that all processes of the attempt have ended; zero if no "doubt" line says this
}

// unprovenRecord is the JSON of a "doubt" line. The line says since when gaffer has been unable to
// prove that the attempt has ended.
type unprovenRecord struct {
	Since time.Time `json:"since"`
}

// maxStderr is the maximum number of bytes of a supervisor's stderr in a lockRecord.
const maxStderr = 2000

// parseLockRecord parses the text of a lock file. It ignores the JSON of an incomplete line, which
// a crashed process may have left. But even an incomplete "held" line shows that an agent may be
// running.
func parseLockRecord(text []byte) (a lockRecord) {
	var words strings.Builder
	for line := range bytes.Lines(text) {
		whole := bytes.HasSuffix(line, []byte{'\n'})
		switch {
		case bytes.HasPrefix(line, []byte(heldWord)):
			a.hasSupervisor = true
			if whole {
				a.supervisor = parseSupervisorRecord(line[len(heldWord)-1:])
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
		case bytes.HasPrefix(line, []byte(unprovenWord)):
			var d unprovenRecord
			if whole && json.Unmarshal(line[len(unprovenWord)-1:], &d) == nil {
				a.unprovenSince = d.Since
			}
		case bytes.HasPrefix(line, []byte(thawedWord)):
			a.frozen = false
		case words.Len() < maxStderr && len(bytes.TrimSpace(line)) > 0:
			words.Write(line)
		}
	}
	a.stderr = strings.TrimSpace(words.String()[:min(words.Len(), maxStderr)])
	return a
}

// readLock reads and parses a lock file that this process has locked.
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
	return parseLockRecord(text[:n]), nil
}

// readLockRecord reads and parses the lock file of the folder. Another process may hold the lock.
// The result is empty if the folder has no lock file.
func (f folder) readLockRecord() (lockRecord, error) {
	text, err := statefile.ReadBytes(host.OS(), f.path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return parseLockRecord(text), err
}

// used reports whether a supervisor has written its identity into the lock file, or the
// attempt has already ended.
func (a lockRecord) used() bool { return a.hasSupervisor || a.exit != nil }

// specIn returns the spec from the lock file, or from the folder's spec.json if the lock
// file contains none.
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

// appendRecord appends a line to a lock file that this process has locked. It writes a newline
// first, because the previous line may be incomplete after a crash. A spec gets no such newline,
// because it is the first line.
func appendRecord(lock *os.File, word string, v any) error {
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

// recordExit appends the record of how the attempt ended to the lock file, which this process has
// locked, and syncs the file to disk. It fails if the lock file in the attempt's folder was deleted
// or replaced, because then no other process would find the record.
func (f folder) recordExit(lock *os.File, e Exit) error {
	if !isFile(int(lock.Fd()), f.path(lockFile)) {
		return fmt.Errorf("%s was deleted or replaced", f.path(lockFile))
	}
	if err := appendRecord(lock, exitWord, e); err != nil {
		return err
	}
	return lock.Sync()
}

// Job returns the [Spec.Job] of the attempt that was started in the folder dir. The error wraps
// fs.ErrNotExist if the folder has no lock file, or if the lock file contains no spec.
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
