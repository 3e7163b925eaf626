package teammerge

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"gaffer/statefile/lazyregexp"
)

// maxOutput is what is kept of a test's output, in bytes.
const maxOutput = 16 << 10

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte
	cut  bool // there was more
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*maxOutput {
		t.drop()
	}
	return len(p), nil
}

func (t *tail) drop() {
	if over := len(t.kept) - maxOutput; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
}

// escapes are how programs give their output colours and move the cursor.
var escapes = lazyregexp.New("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// text is what was kept as whole lines that can be shown: a line that was cut
// off at its beginning is left out if there is another.
func (t *tail) text() string {
	t.drop()
	text := string(t.kept)
	if t.cut {
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
		text = "…\n" + text
	}
	if text = shown(text); text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// shown is a text without what cannot be shown.
func shown(text string) string {
	text = escapes().ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
}

// clip cuts a text so that it has at most so many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}

// lineWriter passes on what tests print and begins each line of its own at the
// beginning of a line. It remembers the first error.
type lineWriter struct {
	to   io.Writer
	open bool // the last line has no end yet
	err  error
}

// Write never fails: tests are not to end because nobody listens.
func (w *lineWriter) Write(p []byte) (int, error) {
	if len(p) > 0 && w.err == nil {
		_, w.err = w.to.Write(p)
		w.open = p[len(p)-1] != '\n'
	}
	return len(p), nil
}

func (w *lineWriter) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	if w.open {
		line = "\n" + line
	}
	_, _ = w.Write([]byte(line))
}
