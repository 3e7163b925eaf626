// Package safe prints the output of other programs to a terminal, so that the output cannot control
// the terminal.
package safe

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer writes the output of other programs to a terminal. It keeps text, newlines, tabs and the
// escape sequences that set colours, and drops all other escape sequences. If text follows a
// carriage return, the carriage return becomes a newline, so that the text does not overwrite the
// line. Other characters that are not printable become U+FFFD, the replacement character. The
// memory use is bounded, even if an escape sequence never ends.
type Writer struct {
	Plain bool // also drop colours

	out        io.Writer
	state      escape
	params     []byte // parameters of the current escape sequence, such as "1;31"
	incomplete []byte // first bytes of a character whose other bytes have not arrived
	cr         bool   // the last character, not counting escape sequences, was a carriage return
	colored    bool   // the output has set a colour
}

// escape is the state of the parser: which part of an escape sequence it has read.
type escape int

const (
	text       escape = iota
	escaped           // after ESC
	control           // after ESC [, while parameters are read
	skipped           // after ESC [, in a sequence that is dropped: it sets no colour or is too long
	command           // inside a sequence such as ESC ], which ends with BEL or ESC \
	commandEnd        // inside a command sequence, after an ESC that may end it
)

// maxParams is the maximum size of the parameters of a colour sequence, in bytes. Longer sequences
// are dropped.
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

// New returns a Writer that writes to the stream out.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// End resets the terminal's colour if the output has set one.
func (p *Writer) End() {
	if p.colored {
		// Ignore the error: if the terminal is gone, it needs no reset.
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
			// A newline ends the escape sequence, so that a sequence without an end does not hide
			// the next lines.
			p.state = text
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
		// Keep p.cr, so that a carriage return before the escape sequence still becomes a newline
		// if text follows the sequence.
		p.state = escaped
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

// parameter reads one character of a control sequence. If the character completes a sequence that
// sets a colour, parameter writes the sequence to b.
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
		p.state = text // the sequence is incomplete: drop it
		p.textRune(b, r)
	}
}
