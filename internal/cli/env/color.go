package env

import (
	"io"

	"gaffer/internal/text/display"
)

// Paint returns text in the style s if w accepts colour, and the unchanged text if it does not. No
// information may depend on colour alone.
func (e *Env) Paint(w io.Writer, s display.Style, text string) string {
	if !e.Color(w) {
		return text
	}
	return s.Paint(text)
}

// Color reports whether to write colour to w. If the setting color is always or never, it decides.
// If it is auto, the variable NO_COLOR decides, then FORCE_COLOR, then whether w is a terminal;
// TERM=dumb counts as no terminal.
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

// colorSetting returns the value of the setting color. It returns auto if the settings cannot be
// read; the command itself reports that error.
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
