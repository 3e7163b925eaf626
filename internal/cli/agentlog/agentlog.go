// Package agentlog turns the log of an agent program into what people read: what the
// agent said and did, one entry after the other, with times where the log has them.
package agentlog

import (
	"bytes"
	"io"
	"strings"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// Options say how a log is written down. All may be zero.
type Options struct {
	Zone  *time.Location // of the times; nil writes none
	Since time.Time      // leaves out what was before
	Width int            // of the terminal; 0 breaks no lines
	Paint func(s display.Style, text string) string
	// Live is the clock for entries that come while they are written and have no
	// time of their own; nil, or a zero time, is none.
	Live func() time.Time
	// Heading is the line above what an attempt wrote, and when that began.
	Heading func(attempt int) (line string, began time.Time)
}

// Writer passes a log on as people read it. What is no line of an agent program's
// protocol goes on as it is. It forgets what has gone through.
type Writer struct {
	to   io.Writer
	opts Options

	log   agent.Transcript
	known bool // the log is of an agent program
	rest  []byte
	long  bool      // the line is too long to be looked at
	now   time.Time // of the last entry of which the time is known
	shown time.Time // the last time that was written
}

// New returns a writer.
func New(to io.Writer, opts Options) *Writer {
	if opts.Paint == nil {
		opts.Paint = func(_ display.Style, text string) string { return text }
	}
	return &Writer{to: to, opts: opts}
}

// Begin says that what follows was written by the attempt of that number.
func (w *Writer) Begin(attempt int) error {
	err := w.End()
	w.log, w.known, w.now, w.shown = agent.Transcript{}, false, time.Time{}, time.Time{}
	if w.opts.Heading == nil || err != nil {
		return err
	}
	line, began := w.opts.Heading(attempt)
	w.now = began
	if line != "" {
		_, err = io.WriteString(w.to, w.opts.Paint(display.Faint, line)+"\n")
	}
	return err
}

// longest is as much of a line as is looked at.
const longest = agent.MaxLine

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	var out bytes.Buffer
	for len(p) > 0 {
		at := bytes.IndexByte(p, '\n')
		if at < 0 {
			w.keep(p)
			break
		}
		w.keep(p[:at])
		w.line(&out)
		p = p[at+1:]
	}
	_, err := w.to.Write(out.Bytes())
	return n, err
}

func (w *Writer) keep(p []byte) {
	room := longest - len(w.rest)
	if len(p) > room {
		p, w.long = p[:room], true
	}
	w.rest = append(w.rest, p...)
}

// End passes on a last line that nothing has ended.
func (w *Writer) End() error {
	var out bytes.Buffer
	if len(w.rest) > 0 {
		w.line(&out)
	}
	w.entries(&out, w.log.End())
	_, err := w.to.Write(out.Bytes())
	return err
}

// line takes the line that was kept.
func (w *Writer) line(out *bytes.Buffer) {
	line, long := w.rest, w.long
	w.rest, w.long = w.rest[:0], false
	entries, ok := w.log.Line(line)
	w.known = w.known || ok
	w.entries(out, entries)
	switch {
	case ok || w.known && long:
	case w.now.Before(w.opts.Since) && !w.live():
	default:
		w.plain(out, string(line))
	}
}

// live notes the time of something that is written now, and reports whether it is
// wanted.
func (w *Writer) live() bool {
	if w.opts.Live == nil {
		return false
	}
	now := w.opts.Live()
	if !now.IsZero() {
		w.now = now
	}
	return !now.IsZero() && !now.Before(w.opts.Since)
}

// plain writes a line as it is. Between the entries of an agent it stands below them.
func (w *Writer) plain(out *bytes.Buffer, line string) {
	if w.known && w.opts.Zone != nil && line != "" {
		line = blank + line
	}
	out.WriteString(line + "\n")
}

// The signs before entries, and the style of each.
var looks = map[agent.EntryKind]struct {
	sign  string
	style display.Style
}{
	agent.Said:    {"", ""},
	agent.Did:     {"→ ", display.Bold},
	agent.Got:     {"  ", display.Faint},
	agent.Problem: {"✗ ", display.Red},
	agent.Asked:   {"? ", display.Yellow},
	agent.Noted:   {"· ", display.Faint},
}

const (
	clock = "15:04:05"
	blank = "          " // as wide as a time and the gap after it
)

func (w *Writer) entries(out *bytes.Buffer, entries []agent.Entry) {
	for _, e := range entries {
		if !e.At.IsZero() {
			w.now = e.At
		} else {
			w.live()
		}
		if w.now.Before(w.opts.Since) {
			continue
		}
		margin, look := w.margin(), looks[e.Kind]
		for i, line := range strings.Split(e.Text, "\n") {
			sign := look.sign
			if i > 0 {
				sign = strings.Repeat(" ", len([]rune(sign)))
			}
			width := 0
			if w.opts.Width > 0 {
				width = max(w.opts.Width-len(margin), 1)
			}
			for _, row := range paint.Hang(sign+line, width, len([]rune(look.sign))) {
				out.WriteString(margin + w.opts.Paint(look.style, row) + "\n")
				margin = strings.Repeat(" ", len(margin))
			}
		}
	}
}

// margin is the time if it is another than the one above.
func (w *Writer) margin() string {
	if w.opts.Zone == nil {
		return ""
	}
	if w.now.IsZero() || w.now.Truncate(time.Second).Equal(w.shown) {
		return blank
	}
	w.shown = w.now.Truncate(time.Second)
	return w.now.In(w.opts.Zone).Format(clock) + "  "
}
