package runner

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// sentIDs records, in a file of the attempt, what was written to the agent's stdin: either the ids
// of the agent's questions and requests that were answered, or the ids of the user's messages. A
// gaffer process that adopts the attempt reads the same questions from the agent's log, and gets
// the same messages from the engine again. It must not write an answer or a message a second time.
// An id is recorded after its answer was written. If gaffer crashes in between, the answer is
// written twice, which is less harmful than an answer that is never written.
type sentIDs struct {
	path string
	ids  map[string]bool
}

func readSentIDs(f folder, name string) (sentIDs, error) {
	a := sentIDs{path: f.path(name), ids: map[string]bool{}}
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if id, err := strconv.Unquote(lines.Text()); err == nil { // skip a last line that is incomplete after a crash
			a.ids[id] = true
		}
	}
	return a, nil
}

func (a sentIDs) add(id string) error {
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
