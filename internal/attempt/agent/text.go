package agent

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/text/truncate"
)

// Lengths to which texts are cut.
const (
	summaryLength = 500 // maximum length of a summary, in characters
	doingLength   = 80  // maximum length of a description of the current activity, in characters

	questionLength = 4000 // maximum length of a question, in characters

	answerLength = 256 << 10 // maximum length of [Verdict.Answer], in bytes
	outputLength = 48 << 10  // lastOutput keeps up to about twice this many bytes
)

// clean makes output safe to display. It removes escape sequences, and characters that are not
// printable except newline and tab. It replaces invalid UTF-8 by U+FFFD, and a carriage return
// within a line by a newline.
func clean(text string) string {
	if isPrintableASCII(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == 0x1b {
			i += escapeLength(text[i:])
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\r' && i < len(text) && text[i] != '\n':
			// A progress bar uses a carriage return without a newline to overwrite its line. Show
			// each version of the line on a line of its own.
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// isPrintableASCII reports whether text contains only printable ASCII, newlines and tabs, so that
// it needs no cleaning.
func isPrintableASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// escapeLength returns the length of the escape sequence at the start of text. A sequence without
// an end extends to the end of text.
func escapeLength(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[': // control sequence: ends with a byte from @ to ~
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				return i + 1
			}
		}
		return len(text)
	case ']', 'P', '_', '^': // string sequence: ends with BEL or ESC \
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return i + 1
			}
			if text[i] == 0x1b {
				return min(i+2, len(text))
			}
		}
		return len(text)
	}
	return 2
}

// firstChars returns the first n characters of text.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// endFromLine returns at most the last n characters of text. If it has to cut text, the result
// begins with a whole line, or with "…" and a whole word if there is no whole line.
func endFromLine(text string, n int) string {
	kept := lastChars(text, n)
	if len(kept) == len(text) || n < 2 {
		return kept
	}
	if _, lines, ok := strings.Cut(kept, "\n"); ok && strings.TrimSpace(lines) != "" {
		return lines
	}
	kept = lastChars(kept, n-1)
	if _, words, ok := strings.Cut(kept, " "); ok {
		kept = words
	}
	return "…" + kept
}

// lastChars returns the last n characters of text.
func lastChars(text string, n int) string {
	i := len(text)
	for ; i > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text[i:]
}

// shortLine shortens text to one short line, for the agent's current activity.
func shortLine(text string) string {
	// Cut the text before cleaning it, to save time: a line of output can have a megabyte, but only
	// doingLength characters are shown.
	text = firstChars(text, 20*doingLength)
	text = strings.Join(strings.Fields(clean(text)), " ")
	return truncate.Chars(text, doingLength)
}

// forDecision prepares the text of a request for the user who must allow or deny it. It makes
// everything visible that the user must know: it escapes invisible characters, and where it cuts
// the text, it says how many characters are missing.
func forDecision(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	var b strings.Builder
	written := 0
	for i, r := range text {
		if written >= questionLength {
			fmt.Fprintf(&b, "… (%d more characters)", utf8.RuneCountInString(text[i:]))
			break
		}
		char := visible(r)
		b.WriteString(char)
		written += utf8.RuneCountInString(char)
	}
	return b.String()
}

// visible returns a character, escaped if the user could not see it. Spaces of any width stay as
// they are, because they hide nothing.
func visible(r rune) string {
	if r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) {
		return string(r)
	}
	return strings.Trim(strconv.QuoteRune(r), "'")
}

// summary returns the last part of text, at most summaryLength characters long. The function clean
// has made it safe to display, for example by removing escape sequences.
func summary(text string) string {
	if n := len(text) - 20*summaryLength; n > 0 {
		text = text[n:]
	}
	return strings.TrimSpace(endFromLine(strings.TrimSpace(clean(text)), summaryLength))
}

// endOfAnswer returns the last answerLength bytes of text, with invalid UTF-8 replaced.
func endOfAnswer(text string) string {
	return strings.ToValidUTF8(truncate.Tail(text, answerLength), "\uFFFD")
}

// lastOutput keeps the end of a program's output, up to about twice outputLength bytes.
type lastOutput struct{ text []byte }

func (t *lastOutput) add(line []byte) {
	const limit = outputLength
	if n := len(line) - limit; n > 0 {
		line = line[n:]
	}
	if len(t.text)+len(line) > 2*limit {
		t.text = append(t.text[:0], t.text[max(0, len(t.text)-limit):]...)
	}
	t.text = append(append(t.text, line...), '\n')
}

func (t *lastOutput) forget() { t.text = nil }

func (t *lastOutput) String() string { return summary(t.all()) }

func (t *lastOutput) all() string { return string(t.text) }
