package fake

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// voice is one of the protocols. What it says is what the real program says, as
// far as gaffer listens.
type voice interface {
	begin() (prompt string, err error)
	say(text string)
	// tool says that a tool starts, and returns how to say what came of it.
	tool(name, input string) func(output string, code int)
	ask(question string, options []string) (answer string, ok bool)
	permission(tool, input string) bool
	retry(n int)
	compact() // says that it has made its conversation shorter, if there is a way to
	torn()    // half of what would be a success
	done(text string, u usage)
	failed(f fault, u usage) (code int)
	leave() // until nobody wants anything more
}

// fault is a failure as the program's servers give it.
type fault struct {
	text   string
	status int       // of HTTP; 0 is none
	reset  time.Time // of a limit
	long   bool      // the prompt is too long
}

func (f fault) words() string {
	switch {
	case f.text != "":
		return f.text
	case f.long:
		return "prompt is too long: 250000 tokens > 200000 maximum"
	}
	return fmt.Sprintf("unexpected status %d: fake error", f.status)
}

type usage struct {
	input, output int
	usd           float64
}

type object map[string]any

// json writes a value as a line.
func (w *world) json(value any) {
	data, err := json.Marshal(value)
	if err != nil {
		w.complain(err.Error())
		return
	}
	w.line(string(data))
}

// read is the next line of stdin as JSON. Lines that are none are passed over;
// the end is an error.
func (w *world) read(into any) error {
	for {
		line, err := w.in.ReadBytes('\n')
		if json.Unmarshal(line, into) == nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// all is stdin to its end. Like the real programs, it waits for an end that
// does not come.
func (w *world) all() (string, error) {
	data, err := io.ReadAll(w.in)
	return string(data), err
}

// uuid is a new id of a conversation.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
