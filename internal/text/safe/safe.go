// Package safe shows the output of other programs on a terminal without letting it
// control the terminal.
package safe

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer writes the output of other programs to a terminal. It passes on text,
// newlines, tabs and the sequences that set colours. A carriage return starts a new
// line. Other escape sequences are dropped. Every other character becomes the
// replacement character. The memory it uses is bounded, whatever is written to it.
type Writer struct {
	Plain bool // also drop colours

	out        io.Writer
	state      escape
	params     []byte // parameters of the current sequence, which may set a colour
	incomplete []byte // the first bytes of an incomplete character
	cr         bool   // the last character was a carriage return
	colored    bool   // a colour was set
}

// escape is the state of the parser of escape sequences.
type escape int

const (
	text       escape = iota
	escaped           // ESC
	control           // ESC [ and parameters
	skipped           // ESC [ of a sequence that cannot set a colour
	command           // ESC ] and similar sequences, which end with BEL or ESC \
	commandEnd        // ESC within a command sequence
)

// maxParams is the maximum length of the parameters that set a colour, in bytes.
const maxParams = 64

// Write implements [io.Writer].
func (p *Writer) Write(data []byte) (int, error) {
	var b strings.Builder
	rest := append(p.incomplete, data...)
	for len(rest) > 0 && (utf8.FullRune(rest) || len(rest) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		p.handleRune(&b, r)
	}
	p.incomplete = append(p.incomplete[:0], rest...)
	if _, err := io.WriteString(p.out, b.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}

// New returns a Writer that writes to out.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// End resets the terminal's colour if the output has set one.
func (p *Writer) End() {
	if p.colored {
		// If this fails, the terminal is gone and needs no reset.
		_, _ = io.WriteString(p.out, "\x1b[0m")
	}
}

func (p *Writer) handleRune(b *strings.Builder, r rune) {
	switch p.state {
	case text:
		p.textRune(b, r)
	case escaped:
		p.afterEscape(b, r)
	case control, skipped:
		p.parameter(b, r)
	case command:
		switch r {
		case 0x07:
			p.state = text
		case 0x1b:
			p.state = commandEnd
		case '\n':
			p.state = text // a sequence without an end must not hide the following lines
			p.textRune(b, r)
		}
	case commandEnd:
		p.state = text
		if r != '\\' {
			p.afterEscape(b, r)
		}
	}
}

func (p *Writer) textRune(b *strings.Builder, r rune) {
	if r == 0x1b {
		p.state = escaped // p.cr stays set, because the carriage return applies to the character after the sequence
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

func (p *Writer) afterEscape(b *strings.Builder, r rune) {
	p.state = text
	switch r {
	case '[':
		p.state, p.params = control, p.params[:0]
	case ']', 'P', 'X', '^', '_':
		p.state = command
	case 0x1b:
		p.state = escaped
	case '\n':
		p.textRune(b, r)
	}
}

// parameter reads one character of a control sequence. At the end of the sequence it
// writes the sequence if it sets a colour.
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
		p.state = text // the sequence is incomplete
		p.textRune(b, r)
	}
}
