package watch

import (
	"fmt"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// Rows returns the rows of the screen, from the top. They never exceed its height and
// width.
func (m Model) Rows() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	head, foot := m.head(), m.foot()
	room := m.height - len(head) - len(foot)
	rows := make([]string, 0, m.height)
	for _, l := range head {
		rows = append(rows, l.Render(m.width, m.Color))
	}
	body := m.body(room)
	rows = append(rows, body[:min(len(body), max(room, 0))]...)
	for len(rows) < m.height-len(foot) {
		rows = append(rows, "")
	}
	for _, l := range foot {
		rows = append(rows, l.Render(m.width, m.Color))
	}
	return rows[:min(len(rows), m.height)]
}

// room returns the number of rows between the head and the foot.
func (m Model) room() int { return m.height - len(m.head()) - len(m.foot()) }

// logRoom returns the number of visible lines of the log.
func (m Model) logRoom() int {
	room := m.room()
	return max(room-len(m.taskTop(m.width, room))-1, 0)
}

func (m Model) body(room int) []string {
	switch {
	case m.mode == helping:
		return m.helpRows(m.width, room)
	case m.here().screen == taskScreen:
		return m.taskScreenRows(m.width, room)
	case m.here().screen == questionScreen:
		return m.questionScreenRows(m.width, room)
	}
	l, _ := m.listHere()
	if len(l.keys) == 0 {
		return []string{paint.Styled(display.Faint, m.empty()).Render(m.width, m.Color)}
	}
	return l.rows(*m.here(), m.width, room, m.Color)
}

// empty returns the text for an empty list.
func (m Model) empty() string {
	switch {
	case m.here().filter != "":
		return "nothing here has that in it; Esc shows all again"
	case m.here().screen == runScreen:
		return ""
	case m.read.IsZero():
		return "reading the fleet …"
	case m.Where != "":
		return "nothing runs, and no worker was ever heard of: 'gaffer worker' starts one, 'gaffer run PLAN' a run"
	}
	return "nothing runs here: 'gaffer run PLAN' begins a run"
}

// head returns the current location, a warning if the fleet is unreachable, and a
// summary. It takes at most a third of the screen.
func (m Model) head() []paint.Line {
	rows := []paint.Line{m.title()}
	if gone := m.gone(); !gone.Since.IsZero() {
		rows = append(rows, paint.Styled(display.Red, fmt.Sprintf("✗ away since %s, %s; what is shown is as of then: %s",
			gone.Since.In(m.now.Location()).Format("15:04:05"), phrase.Age(max(m.now.Sub(gone.Since), 0)), phrase.Line(gone.Why))))
	}
	if m.mode != helping {
		rows = append(rows, m.summary()...)
	}
	if p := m.here(); p.filter != "" && m.mode != filtering {
		rows = append(rows, paint.Styled(display.Yellow, "/ "+display.Line(p.filter, 60)+"  shows only what has this in it; Esc shows all"))
	}
	return rows[:min(len(rows), max(m.height/3, 1))]
}

func (m Model) title() paint.Line {
	left := paint.Line{{Text: "gaffer watch", Style: display.Bold}}
	for _, word := range m.path() {
		left = append(left, paint.Span{Text: " › ", Style: display.Faint}, paint.Span{Text: word, Style: display.Bold})
	}
	where := "this machine"
	if m.Where != "" {
		where = display.Line(m.Where, 60)
	}
	live := paint.Span{Text: "● live", Style: display.Green}
	switch {
	case !m.gone().Since.IsZero():
		live = paint.Span{Text: "✗ away", Style: display.Red}
	case m.read.IsZero():
		live = paint.Span{Text: "○ reading", Style: display.Faint}
	}
	right := paint.Line{{Text: where + "  ", Style: display.Faint}, live}
	if left.Width()+right.Width()+2 > m.width {
		right = right[1:]
	}
	return paint.Apart(left, right, m.width)
}

// path returns the names of the locations up to the current one.
func (m Model) path() (words []string) {
	for _, p := range m.stack {
		switch p.screen {
		case runScreen:
			words = append(words, m.nameOrID(p.run))
		case taskScreen:
			if len(words) == 0 {
				words = append(words, m.nameOrID(p.run))
			}
			words = append(words, display.Line(p.task, 40))
		case questionScreen:
			words = append(words, "answer")
		}
	}
	if m.mode == helping {
		words = append(words, "keys")
	}
	return words
}

func (m Model) nameOrID(run string) string {
	if name := m.runName(run); name != "" {
		return name
	}
	return display.Printable(run)
}

// summary returns the rows that summarize the fleet or the run.
func (m Model) summary() []paint.Line {
	switch m.here().screen {
	case fleetScreen:
		return []paint.Line{m.glance()}
	case runScreen:
		return m.runHead(m.width)
	}
	return nil
}

func (m Model) glance() paint.Line {
	if m.read.IsZero() {
		return nil
	}
	line := paint.Line{{Text: "✓ nobody waits for you", Style: display.Green}}
	if n := len(m.fleet.Questions); n > 0 {
		age := phrase.Age(max(m.now.Sub(m.fleet.Questions[0].Asked), 0))
		line = paint.Line{{Text: "? " + phrase.Count(n, "question") + ", the oldest " + age, Style: display.Yellow}}
	}
	running, failed, online := 0, 0, 0
	for _, r := range m.fleet.Runs {
		if !r.Status.Final() {
			running, failed = running+r.Counts.Running, failed+r.Counts.Failed
		}
	}
	for _, w := range m.fleet.Workers {
		if w.Online() {
			online++
		}
	}
	line = append(line, paint.Span{Text: fmt.Sprintf("   ● %d running", running)})
	if failed > 0 {
		line = append(line, paint.Span{Text: fmt.Sprintf("   ✗ %d failed", failed), Style: display.Red})
	}
	if n := len(m.fleet.Workers); n > 0 {
		line = append(line, paint.Span{Text: fmt.Sprintf("   workers %d/%d online", online, n), Style: display.Faint})
	}
	return line
}

// foot returns the confirmation, the filter's input or a note, else the most useful
// keys.
func (m Model) foot() []paint.Line {
	switch {
	case m.mode == confirming:
		return m.confirmRows()
	case m.mode == filtering:
		return []paint.Line{{{Text: "/ ", Style: display.Bold}, {Text: cells.End(display.Printable(m.input), m.width-4)}, {Text: "▏"}, {Text: "  Enter keeps it, Esc takes it away", Style: display.Faint}}}
	case m.note.Text != "":
		style, mark := display.Bold, ""
		if m.note.Failed {
			style, mark = display.Red, "✗ "
		}
		return []paint.Line{paint.Styled(style, mark+phrase.Line(m.note.Text))}
	}
	return []paint.Line{m.hints()}
}

// confirmRows returns the confirmation. It is wrapped and not cut to one row, so that
// the user sees what would be done.
func (m Model) confirmRows() []paint.Line {
	var rows []paint.Line
	for _, text := range paint.Wrap(m.confirm.text, m.width, max(m.height-1, 1)) {
		rows = append(rows, paint.Styled(display.Bold, text))
	}
	return append(rows, paint.Styled(display.Yellow, m.confirm.yes+", any other key does nothing"))
}

// hints returns the most useful keys. Those that do not fit are left out, except the
// last one, which shows all keys.
func (m Model) hints() paint.Line {
	keys := m.hinted()
	last := keys[len(keys)-1]
	var words []string
	for _, k := range keys[:len(keys)-1] {
		next := append(words[:len(words):len(words)], k)
		if cells.Width(strings.Join(append(next, last), "  ")) <= m.width {
			words = next
		}
	}
	left := paint.Styled(display.Faint, strings.Join(append(words, last), "  "))
	return paint.Apart(left, m.position(), m.width)
}

func (m Model) hinted() []string {
	switch {
	case m.mode == helping:
		return []string{"any key goes back"}
	case m.here().screen == questionScreen:
		return []string{"Enter sends", "Esc back", "Tab next", "Ctrl-D denies"}
	case m.here().screen == taskScreen:
		return []string{"Esc back", "↑↓ log", "l whole log", "a answer", "c cancel", "r retry", "/ filter", "? help"}
	case m.here().screen == runScreen:
		return []string{"Enter open", "Esc back", "a answer", "c cancel", "r retry", "l log", "/ filter", "? help"}
	}
	return []string{"Enter open", "a answer", "c cancel", "/ filter", "Tab section", "q leave", "? help"}
}

// position returns the scroll position in a list longer than the screen.
func (m Model) position() paint.Line {
	l, ok := m.listHere()
	head := len(m.head())
	room := m.height - head - 1
	if !ok || m.mode == helping || len(l.keys) <= room || room <= 0 {
		return nil
	}
	top := l.top(*m.here(), room)
	return paint.Styled(display.Faint, fmt.Sprintf("%d–%d of %d", top+1, top+room, len(l.keys)))
}
