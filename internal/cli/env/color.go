package env

import (
	"io"
	"os"
)

// Style is a way to set text apart on a terminal.
type Style string

// The styles, as the parameters of the escape sequence that selects them.
const (
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint gives text in the style when w takes colour, else text as it is.
// Colour is never the only carrier of a meaning.
func (e *Env) Paint(w io.Writer, s Style, text string) string {
	if text == "" || s == "" || !e.Color(w) {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Color tells whether to write colour to w. A setting of always or never
// decides; with auto, NO_COLOR, then FORCE_COLOR, then whether w is a terminal.
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
	return e.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// colorSetting falls back to auto when the settings cannot be read: that error
// is told by the command, and must not be told in the middle of a line.
func (e *Env) colorSetting() string {
	c, err := e.Config()
	if err != nil {
		return "auto"
	}
	return c.Choice("color")
}

// IsTerminal holds every character device but the null device for a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// Interactive reports whether a person can be asked.
func (e *Env) Interactive() bool { return IsTerminal(e.In) && IsTerminal(e.Err) }
