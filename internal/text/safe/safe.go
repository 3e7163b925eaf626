// Package safe lets a terminal show what other programs have written.
package safe

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer passes a log on to a terminal that the log must not steer. Text,
// newlines, tabs and the sequences that set colours go through; a carriage
// return begins a new line; other escape sequences are left out, and all else
// is shown as the replacement character. Its memory is fixed, whatever is
// written to it.
type Writer struct {
	Plain bool // leaves out colours, too

	out     io.Writer
	state   escape
	params  []byte // of a sequence that may turn out to set a colour
	rest    []byte // the beginning of a character whose end has not come
	cr      bool   // the last character was a carriage return
	colored bool   // a colour was set
}

// escape is how far an escape sequence has been read.
type escape int

const (
	text       escape = iota
	began             // ESC
	control           // ESC [ and parameters
	skipped           // ESC [ and more than a colour can have
	command           // ESC ] and the like, which end with BEL or ESC \
	commandEnd        // ESC within such a one
)

// maxParams is as long as the parameters of a colour ever are.
const maxParams = 64

// Write implements [io.Writer].
func (p *Writer) Write(data []byte) (int, error) {
	var b strings.Builder
	rest := append(p.rest, data...)
	for len(rest) > 0 && (utf8.FullRune(rest) || len(rest) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		p.take(&b, r)
	}
	p.rest = append(p.rest[:0], rest...)
	if _, err := io.WriteString(p.out, b.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}

// New returns a writer to a terminal.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// End leaves the terminal in no colour.
func (p *Writer) End() {
	if p.colored {
		// What is left behind by a log that cannot be written is another's worry.
		_, _ = io.WriteString(p.out, "\x1b[0m")
	}
}

func (p *Writer) take(b *strings.Builder, r rune) {
	switch p.state {
	case text:
		p.char(b, r)
	case began:
		p.begin(b, r)
	case control, skipped:
		p.parameter(b, r)
	case command:
		switch r {
		case 0x07:
			p.state = text
		case 0x1b:
			p.state = commandEnd
		case '\n':
			p.state = text // one that never ends must not hide the rest
			p.char(b, r)
		}
	case commandEnd:
		p.state = text
		if r != '\\' {
			p.begin(b, r)
		}
	}
}

func (p *Writer) char(b *strings.Builder, r rune) {
	if r == 0x1b {
		p.state = began // a carriage return before it counts for what comes after it
		return
	}
	cr := p.cr
	p.cr = false
	switch {
	case r == '\r':
		p.cr = true
	case r == '\n':
		b.WriteByte('\n')
		return
	case r == '\t' || unicode.IsPrint(r):
		if cr {
			b.WriteByte('\n')
		}
		b.WriteRune(r)
		return
	default:
		b.WriteRune(unicode.ReplacementChar)
	}
}

func (p *Writer) begin(b *strings.Builder, r rune) {
	p.state = text
	switch r {
	case '[':
		p.state, p.params = control, p.params[:0]
	case ']', 'P', 'X', '^', '_':
		p.state = command
	case 0x1b:
		p.state = began
	case '\n':
		p.char(b, r)
	}
}

// parameter reads on to the end of a control sequence, and lets it through if it
// sets a colour.
func (p *Writer) parameter(b *strings.Builder, r rune) {
	switch {
	case r >= '0' && r <= '9' || r == ';' || r == ':':
		if len(p.params) == maxParams {
			p.state = skipped
		}
		if p.state == control {
			p.params = append(p.params, byte(r))
		}
	case r == 'm' && p.state == control && !p.Plain:
		p.state, p.colored = text, true
		b.WriteString("\x1b[" + string(p.params) + "m")
	case r >= 0x40 && r <= 0x7e:
		p.state = text
	case r >= 0x20 && r <= 0x3f:
		p.state = skipped
	default:
		p.state = text // broken off
		p.char(b, r)
	}
}
