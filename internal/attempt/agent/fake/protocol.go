package fake

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// protocol imitates the output of one real program, as far as gaffer reads it.
type protocol interface {
	begin() (prompt string, err error)
	say(text string)
	// tool prints the start of a tool call, and returns a function that prints the call's result.
	// The members of input are either "command", or "file_path" and "content".
	tool(name string, input object) func(output string, code int)
	ask(question string, options []string) (answer string, ok bool)
	permission(tool, input string) bool
	retry(n int)
	compact()  // reports that the conversation was shortened, if the protocol has a message for that
	halfDone() // prints half of a success message
	// spend reports the usage so far, in the middle of a turn, if the protocol has a message for
	// that. It returns false if the cost has reached the program's limit.
	spend(u usage) bool
	done(text string, u usage)
	failed(f fault, u usage) (code int)
	// interrupted prints that the user has ended the turn, if the protocol has a message for that.
	// It returns the program's exit code.
	interrupted(u usage) (code int)
	// arrived returns the messages that have arrived during the turn since the last call of
	// arrived.
	arrived() []string
	// endTurn ends the turn and returns true. If a message has arrived that the protocol adds to
	// the same turn, endTurn returns false and the turn goes on.
	endTurn() bool
	// next waits for the message that starts another turn. ok is false when stdin ends. A protocol
	// with only one turn returns false at once.
	next() (message string, ok bool)
}

// fault says why a turn fails, for example because of an error of the model's servers.
type fault struct {
	text   string
	status int       // HTTP status, or 0
	reset  time.Time // when the rate limit ends; zero if there is no limit or its end is unknown
	long   bool      // the prompt is too long
	budget bool      // the cost limit is reached
}

func (f fault) message() string {
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
	cached        int // the part of input that came from the model's cache
}

type object map[string]any

// writeJSON writes a value as a line of JSON.
func (w *stdio) writeJSON(value any) {
	data, err := json.Marshal(value)
	if err != nil {
		w.writeStderr(err.Error())
		return
	}
	w.line(string(data))
}

// readJSON decodes the next line of stdin that is JSON. It skips other lines. At the end of
// stdin it returns an error.
func (w *stdio) readJSON(into any) error {
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

// readAll reads stdin to its end. Like the real programs it waits forever if stdin stays
// open.
func (w *stdio) readAll() (string, error) {
	data, err := io.ReadAll(w.in)
	return string(data), err
}

// uuid returns a new random UUID, for a conversation, a turn or a line of output.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
