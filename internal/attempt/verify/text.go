package verify

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/text/truncate"
	"gaffer/statefile/lazyregexp"
)

// maxOutput is the maximum number of characters that are kept of a check's output.
const maxOutput = 2000

// tail keeps only the last part of the data that is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// tailSize is how many bytes a tail keeps. It is more than maxOutput, which counts characters: a
// character may have several bytes, and terminal escape sequences are removed from the output
// later.
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

// String returns the kept data. It drops an incomplete character at the start.
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

// shorten cuts text to 120 characters, about one line.
func shorten(text string) string {
	return truncate.Chars(text, 120)
}

var escapes = lazyregexp.New(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)

// printable makes a program's output safe for terminals and documents. It removes terminal escape
// sequences, and replaces control characters and invalid UTF-8.
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

// collapseSpace replaces each sequence of white space by one space, as a browser does. It removes
// white space at both ends.
func collapseSpace(text string) string { return strings.Join(strings.Fields(text), " ") }
