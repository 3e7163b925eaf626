package display

import "os"

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

// Paint returns text with the escape sequences of a style around it.
func (s Style) Paint(text string) string {
	if text == "" || s == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// IsTerminal reports whether a stream is a character device other than the null
// device.
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
