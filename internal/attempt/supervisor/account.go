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

// What is written in an attempt's lock, by its holder, is lines that begin with a
// word. All others are what a supervisor has said in a crash or, if its
// environment asks it to, at other times.
const (
	specWord = "spec {" // what to run, before a supervisor is given the lock
	heldWord = "held {" // who the supervisor is; from then on there may be an agent
	exitWord = "exit {" // how it ended; the last that is whole counts

	frozenWord = "frozen {" // since when everything stands still
	thawedWord = "thawed {" // and goes on again

	doubtWord = "doubt {" // since when it cannot be proved that nothing is left of it
)

// account is what is written in a lock.
type account struct {
	spec   []byte // nil if there is none
	signed bool
	by     signature // the last that is whole
	exit   *Exit
	frozen bool
	words  string

	doubted time.Time // zero if it was not
}

// doubt is what is written by who cannot prove that nothing is left of an attempt.
type doubt struct {
	Since time.Time `json:"since"`
}

// maxWords is how much of a supervisor's last words is kept.
const maxWords = 2000

// accountOf reads the text of a lock. A line that was cut off says nothing, but
// that there may be an agent.
func accountOf(text []byte) (a account) {
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

// readLock reads a lock that we hold.
func readLock(lock *os.File) (account, error) {
	info, err := lock.Stat()
	if err != nil {
		return account{}, err
	}
	if info.Size() > statefile.MaxSize {
		return account{}, fmt.Errorf("%s has %d bytes", lock.Name(), info.Size())
	}
	text := make([]byte, info.Size())
	n, err := lock.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return account{}, err
	}
	return accountOf(text[:n]), nil
}

// account reads the lock that somebody else may hold. If there is none it is
// empty.
func (f folder) account() (account, error) {
	text, err := statefile.ReadBytes(host.OS(), f.path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return accountOf(text), err
}

// used tells whether there was a supervisor before, or will be none.
func (a account) used() bool { return a.signed || a.exit != nil }

// specIn returns what the folder with this account says is to be run.
func (a account) specIn(f folder) (s Spec, err error) {
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

// note writes a line into a lock that we hold. What stands there may lack its
// end.
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

// end puts on record how an attempt ended: durably, in the lock that we hold.
func (f folder) end(lock *os.File, e Exit) error {
	if !isFile(int(lock.Fd()), f.path(lockFile)) {
		return fmt.Errorf("%s: is not there any more, or another file is", f.path(lockFile))
	}
	if err := note(lock, exitWord, e); err != nil {
		return err
	}
	return lock.Sync()
}

// Job returns the [Spec.Job] of the attempt that was started in a folder. Without
// one the error is fs.ErrNotExist.
func Job(dir string) ([]byte, error) {
	a, err := folder(dir).account()
	if err != nil {
		return nil, err
	}
	if a.spec == nil {
		return nil, &fs.PathError{Op: "read job", Path: dir, Err: fs.ErrNotExist}
	}
	s, err := a.specIn(folder(dir))
	return s.Job, err
}
