package teammerge

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"gaffer/statefile/lazyregexp"
)

// maxOutput is the maximum number of bytes that are kept of a test's output. Earlier output is
// dropped.
const maxOutput = 16 << 10

// tailBuffer keeps the last maxOutput bytes that are written to it.
type tailBuffer struct {
	kept []byte
	cut  bool // earlier output was dropped
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*maxOutput {
		t.drop()
	}
	return len(p), nil
}

func (t *tailBuffer) drop() {
	if over := len(t.kept) - maxOutput; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
}

// escapes matches terminal escape sequences, such as those that set colours or move the cursor.
var escapes = lazyregexp.New("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// text returns the kept output as printable lines. If earlier output was dropped, the result starts
// with the line "…". The first kept line may be incomplete in this case, so text removes it if
// other lines follow it.
func (t *tailBuffer) text() string {
	t.drop()
	text := string(t.kept)
	if t.cut {
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
		text = "…\n" + text
	}
	if text = removeControls(text); text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// removeControls returns text without escape sequences, and without control characters except
// newlines and tabs.
func removeControls(text string) string {
	text = escapes().ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
}

// lineWriter copies the output of tests to another writer, and starts each message of gaffer on a
// new line. It stores the first write error, and writes nothing more after that.
type lineWriter struct {
	to   io.Writer
	open bool // the last line has no newline yet
	err  error
}

// Write never returns an error: a test must not fail because its output cannot be passed on.
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
