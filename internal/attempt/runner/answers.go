package runner

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// answered are the questions and requests that were answered. Whoever takes over
// meets them again in the log and must not answer twice. They are noted after
// the answer was sent: of the two ways to be cut off in between, an answer that
// comes twice does less harm than one that never comes.
type answered struct {
	path string
	ids  map[string]bool
}

func readAnswered(f folder) (answered, error) {
	a := answered{path: f.path(answeredFile), ids: map[string]bool{}}
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if id, err := strconv.Unquote(lines.Text()); err == nil { // the last may be torn
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
