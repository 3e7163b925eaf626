package display

import "os"

// Style is a colour or weight of text on a terminal, such as "36" or "7;32".
type Style string

// The styles. The values are parameters of the SGR escape sequence.
const (
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint returns text between the escape sequences that select and reset the style. If the text or
// the style is empty, it returns the text as it is.
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
