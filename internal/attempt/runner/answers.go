package runner

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// answered is the set of questions and requests that were answered, or of messages that
// were written to the agent. A process that takes over an attempt learns of them again,
// from the log or the engine, and must not write twice. An id is recorded after its
// answer was sent. If gaffer crashes in between, the answer is sent twice, which is less
// harmful than an answer that is never sent.
type answered struct {
	path string
	ids  map[string]bool
}

func readAnswered(f folder, name string) (answered, error) {
	a := answered{path: f.path(name), ids: map[string]bool{}}
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if id, err := strconv.Unquote(lines.Text()); err == nil { // the last line may be incomplete
			a.ids[id] = true
		}
	}
	return a, nil
}

func (a answered) note(id string) error {
	if id == "" || a.ids[id] {
		return nil
	}
	a.ids[id] = true
	f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Quote(id) + "\n")
	return errors.Join(err, f.Close())
}
