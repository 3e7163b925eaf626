package env

import (
	"io"

	"gaffer/internal/text/display"
)

// Paint returns text in the style s if w accepts colour. Otherwise it returns text unchanged. The
// caller must not use a colour as the only sign of a difference.
func (e *Env) Paint(w io.Writer, s display.Style, text string) string {
	if !e.Color(w) {
		return text
	}
	return s.Paint(text)
}

// Color reports whether to write colour to w. If the setting "color" is "always" or "never", the
// setting decides. If it is "auto", the first of these environment variables that is not empty
// decides: NO_COLOR, then FORCE_COLOR. If both are empty, Color returns true if w is a terminal and
// TERM is not dumb.
func (e *Env) Color(w io.Writer) bool {
	switch e.colorSetting() {
	case "always":
		return true
	case "never":
		return false
	}
	if e.Getenv("NO_COLOR") != "" {
		return false
	}
	if force := e.Getenv("FORCE_COLOR"); force != "" {
		return force != "0"
	}
	return e.Getenv("TERM") != "dumb" && display.IsTerminal(w)
}

// colorSetting returns the value of the setting "color". If the settings cannot be read, it ignores
// the error and returns "auto".
func (e *Env) colorSetting() string {
	c, err := e.Config()
	if err != nil {
		return "auto"
	}
	return c.Choice("color")
}

// Interactive reports whether the command can ask the user a question.
func (e *Env) Interactive() bool { return display.IsTerminal(e.In) && display.IsTerminal(e.Err) }

// ForOut returns a text to print to stdout. If stdout is a terminal, it replaces control characters
// in the text.
func (e *Env) ForOut(text string) string {
	if display.IsTerminal(e.Out) {
		return display.PrintableLines(text)
	}
	return text
}
