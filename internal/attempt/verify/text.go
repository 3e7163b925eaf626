package verify

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/text/truncate"
	"gaffer/statefile/lazyregexp"
)

// maxOutput is the number of characters of a check's output that are kept.
const maxOutput = 2000

// tail keeps the end of the data that is written to it, in bounded memory.
type tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// tailSize has room for maxOutput characters of any size, plus escape sequences that
// are removed.
const tailSize = 8 * maxOutput

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > tailSize {
		p, t.cut = p[n-tailSize:], true
	}
	if over := len(t.data) + len(p) - tailSize; over > 0 {
		t.data, t.cut = append(t.data[:0], t.data[over:]...), true
	}
	t.data = append(t.data, p...)
	return n, nil
}

// String returns the kept data, starting at a whole character.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := t.data
	for t.cut && len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return string(data)
}

// lastChars returns the last n characters of text.
func lastChars(text string, n int) string {
	at := len(text)
	for ; at > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}

// shorten cuts text to a single short line's length.
func shorten(text string) string {
	return truncate.Chars(text, 120)
}

var escapes = lazyregexp.New(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)

// printable makes a program's output safe for terminals and documents. It removes
// escape sequences and control characters.
func printable(text string) string {
	text = escapes().ReplaceAllString(strings.ToValidUTF8(text, "\ufffd"), "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
	return strings.TrimSpace(text)
}

// collapseSpace collapses white space, as a browser does.
func collapseSpace(text string) string { return strings.Join(strings.Fields(text), " ") }
