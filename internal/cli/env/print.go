package env

import (
	"encoding/json"
	"fmt"
)

// PrintJSON writes v to stdout as indented JSON with a final newline. It does not escape characters
// such as < for HTML.
func (e *Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Printf prints a part of the command's result to stdout.
func (e *Env) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Out, format, args...)
	return err
}

// Talk prints a message and a newline to stderr. The message is not part of the command's result.
func (e *Env) Talk(format string, args ...any) {
	// Ignore the error: a command succeeds even if stderr cannot be written.
	_, _ = fmt.Fprintf(e.Err, format+"\n", args...)
}
