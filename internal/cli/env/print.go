package env

import (
	"encoding/json"
	"fmt"
)

// PrintJSON writes v as a result: indented, characters such as < left as they
// are, with a newline at the end.
func (e *Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Printf writes a result.
func (e *Env) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Out, format, args...)
	return err
}

// Talk tells the person at the terminal something that is not the result.
func (e *Env) Talk(format string, args ...any) {
	// A broken stderr must not fail a command that did its work.
	_, _ = fmt.Fprintf(e.Err, format+"\n", args...)
}
