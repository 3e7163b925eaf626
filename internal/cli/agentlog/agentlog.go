// Package agentlog formats the log of an agent program for users. It prints what the
// agent said and did, entry by entry, and the times of the entries if they are known.
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

// Options configure a [Writer]. The zero value is valid.
type Options struct {
	Zone  *time.Location // time zone of the printed times; nil prints no times
	Since time.Time      // entries before this time are not printed; zero prints all entries
	Width int            // column at which lines are wrapped; 0 means no wrapping
	Paint func(s display.Style, text string) string
	// Live returns the time for an entry whose time is not in the log: zero while old output is
	// printed, and the current time while new output is printed as it arrives. If Live is nil or
	// returns zero, the entry gets the time of the entry before it. The first entry then gets the
	// start time of the attempt.
	Live func() time.Time
	// Heading returns the line to print above the output of an attempt, and the attempt's start
	// time. If the line is "" or Heading is nil, no heading is printed.
	Heading func(attempt int) (line string, began time.Time)
	// Outcome returns a text that says how a question of the current attempt was answered and by
	// whom, or "" if that is not known. The parameter text is the question with its options. The
	// Writer calls Outcome once per question: before it prints the next entry, or at the end of the
	// log. If Outcome is nil, answers are not printed.
	Outcome func(text string) string
}

// Writer formats the log of an agent for users. If a line is not in the protocol of an agent
// program, it is printed unchanged, possibly indented. Printed lines are not kept in memory.
type Writer struct {
	to   io.Writer
	opts Options

	log   agent.Transcript
	known bool // whether the log is known to be in the protocol of an agent program
	rest  []byte
	long  bool      // the current line is longer than maxParsedLine, and rest holds only its start
	now   time.Time // time of the latest entry; before the first entry, start of the attempt
	shown time.Time // the time that was printed last, truncated to seconds
	asked string    // the latest question, until its answer is printed; then empty
}

// New returns a Writer that prints to the stream out.
func New(out io.Writer, opts Options) *Writer {
	if opts.Paint == nil {
		opts.Paint = func(_ display.Style, text string) string { return text }
	}
	return &Writer{to: out, opts: opts}
}

// Begin prints the heading of the attempt with this number. Call it before writing the attempt's
// log. Begin first calls End to print the buffered output of the previous attempt.
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

// maxParsedLine is the maximum length of a line of the log in bytes. The rest of a longer line is
// dropped.
const maxParsedLine = agent.MaxLine

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
	room := maxParsedLine - len(w.rest)
	if len(p) > room {
		p, w.long = p[:room], true
	}
	w.rest = append(w.rest, p...)
}

// End prints what is still buffered: the last line, if the log does not end with a newline, and
// entries that are not complete yet.
func (w *Writer) End() error {
	var out bytes.Buffer
	if len(w.rest) > 0 {
		w.line(&out)
	}
	w.entries(&out, w.log.End())
	w.outcome(&out)
	_, err := w.to.Write(out.Bytes())
	return err
}

// line formats the line in w.rest, appends the result to buf and empties w.rest.
func (w *Writer) line(buf *bytes.Buffer) {
	line, long := w.rest, w.long
	w.rest, w.long = w.rest[:0], false
	entries, ok := w.log.Line(line)
	w.known = w.known || ok
	w.entries(buf, entries)
	switch {
	case ok || w.known && long:
	case w.now.Before(w.opts.Since) && !w.live():
	default:
		w.plain(buf, string(line))
	}
}

// live sets w.now, the time of the current entry, to the time that Options.Live returns. If there
// is no such time, it leaves w.now unchanged. It returns true if there is a time, and that time is
// not before Options.Since.
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

// plain writes a line that is not in the protocol of an agent program. If times are printed before
// the entries of the log, it indents the line, so that the line is aligned with the entries.
func (w *Writer) plain(out *bytes.Buffer, line string) {
	if w.known && w.opts.Zone != nil && line != "" {
		line = blank + line
	}
	out.WriteString(line + "\n")
}

// entryStyles holds, for each kind of entry, the sign to print before the text, and the style.
var entryStyles = map[agent.EntryKind]struct {
	sign  string
	style display.Style
}{
	agent.AgentText:     {"", ""},
	agent.ToolCall:      {"→ ", display.Bold},
	agent.ToolOutput:    {"  ", display.Faint},
	agent.Problem:       {"✗ ", display.Red},
	agent.QuestionAsked: {"? ", display.Yellow},
	agent.Note:          {"· ", display.Faint},
	agent.UserMessage:   {"> ", display.Bold},
}

const (
	clock = "15:04:05"
	blank = "          " // spaces as wide as a time and the gap after it
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
		w.outcome(out)
		if e.Kind == agent.QuestionAsked {
			w.asked = e.Text
		}
		margin, look := w.margin(), entryStyles[e.Kind]
		for i, line := range strings.Split(e.Text, "\n") {
			sign := look.sign
			if i > 0 {
				sign = strings.Repeat(" ", len([]rune(sign)))
			}
			width := 0
			if w.opts.Width > 0 {
				width = max(w.opts.Width-len(margin), 1)
			}
			for _, row := range paint.HangingIndent(sign+line, width, len([]rune(look.sign))) {
				out.WriteString(margin + w.opts.Paint(look.style, row) + "\n")
				margin = strings.Repeat(" ", len(margin))
			}
		}
	}
}

// outcome prints how the question in w.asked was answered, if that is known, and clears w.asked.
func (w *Writer) outcome(out *bytes.Buffer) {
	if w.asked == "" || w.opts.Outcome == nil {
		return
	}
	margin := ""
	if w.opts.Zone != nil {
		margin = blank
	}
	if text := w.opts.Outcome(w.asked); text != "" {
		out.WriteString(margin + w.opts.Paint(display.Faint, "· "+display.Line(text, 200)) + "\n")
	}
	w.asked = ""
}

// margin returns the text to print before the current entry: its time, or spaces if the time is
// unknown or the same as the last printed time. If no times are printed, it returns "".
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
