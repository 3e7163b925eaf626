package watch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// maxInput is the maximum length of an answer, in bytes.
const maxInput = 2000

// question returns the question that is shown, and false if it is no longer open.
func (m Model) question() (fleet.Question, bool) {
	list := m.questions()
	at := slices.IndexFunc(list, func(q fleet.Question) bool { return q.ID == m.here().question })
	if at < 0 {
		return fleet.Question{}, false
	}
	return list[at], true
}

// questions returns the fleet's questions and those of the run that is shown. The run
// is read separately and may be newer.
func (m Model) questions() []fleet.Question {
	list := slices.Clone(m.fleet.Questions)
	for _, t := range m.run.Tasks {
		if phrase.Waiting(t) && !slices.ContainsFunc(list, func(q fleet.Question) bool { return q.ID == t.Question.ID }) {
			list = append(list, *t.Question)
		}
	}
	return list
}

// answering handles a key while an answer is typed. Text that was typed for one
// question is never sent to another.
func (m Model) answering(k Key) (Model, []any) {
	q, open := m.question()
	switch k.Name {
	case "esc":
		return m.leave(), nil
	case "tab":
		return m.nextQuestion(), nil
	}
	if !open || m.sending != "" {
		return m, nil
	}
	switch k.Name {
	case "enter":
		return m.send(q)
	case "ctrl+d":
		return m.deny(q, strings.TrimSpace(m.input)), nil
	case "down":
		m.input = option(q, m.input, +1)
	case "up":
		m.input = option(q, m.input, -1)
	default:
		m.input = edited(m.input, k)
	}
	return m, nil
}

// edited returns a line after a key was pressed.
func edited(line string, k Key) string {
	switch k.Name {
	case "backspace", "ctrl+h":
		_, size := utf8.DecodeLastRuneInString(line)
		return line[:len(line)-size]
	case "ctrl+u":
		return ""
	case "ctrl+w":
		line = strings.TrimRight(line, " ")
		return line[:strings.LastIndexByte(line, ' ')+1]
	}
	if text := display.OneLine(k.Text); len(line)+len(text) <= maxInput && text != "" {
		return line + text
	}
	if k.Text == " " || k.Name == "space" {
		return line + " "
	}
	return line
}

// option returns the number of the next option in a direction.
func option(q fleet.Question, typed string, by int) string {
	if len(q.Options) == 0 {
		return typed
	}
	n, err := strconv.Atoi(strings.TrimSpace(typed))
	if err != nil {
		n = 0
		if by < 0 {
			n = 1
		}
	}
	n += by
	if n < 1 {
		n = len(q.Options)
	}
	if n > len(q.Options) {
		n = 1
	}
	return strconv.Itoa(n)
}

// send interprets the answer: a number is an option, a lone d denies, anything else
// is text.
func (m Model) send(q fleet.Question) (Model, []any) {
	typed := strings.TrimSpace(m.input)
	switch typed {
	case "":
		return m, nil
	case "d":
		return m.deny(q, ""), nil
	}
	text, err := q.Choose(typed)
	if err != nil {
		return m.tell(err.Error()), nil
	}
	m.sending = q.ID
	return m, []any{Answer{Question: q.ID, Name: q.Name, Text: text}}
}

func (m Model) nextQuestion() Model {
	list := m.questions()
	if len(list) == 0 {
		return m
	}
	at := slices.IndexFunc(list, func(q fleet.Question) bool { return q.ID == m.here().question })
	next := list[(at+1)%len(list)].ID
	if next != m.here().question {
		m.input = ""
	}
	m.here().question = next
	return m
}

// questionScreenRows returns the screen of a question. The row where the answer is
// typed is always shown, and then as many of the others as fit.
func (m Model) questionScreenRows(width, room int) []string {
	q, open := m.question()
	if !open {
		return []string{paint.Plain("This question is not open any more: somebody has answered it, or its task has ended.").Render(width, m.Color)}
	}
	rows := []paint.Line{m.asks(q), nil}
	for _, text := range paint.Wrap(q.Text, width-markWidth, 200) {
		rows = append(rows, paint.Plain("  "+text))
	}
	rows = append(rows, nil)
	for i, text := range q.Options {
		rows = append(rows, m.optionRow(i+1, text))
	}
	if len(q.Options) > 0 {
		rows = append(rows, nil)
	}
	if over := len(rows) + 1 - room; over > 0 {
		rows = shorten(rows, room-1, len(q.Options)+1)
	}
	rows = append(rows, m.inputRow(q, width))
	var lines []string
	for _, l := range rows {
		lines = append(lines, l.Render(width, m.Color))
	}
	return lines
}

// shorten removes blank rows, then the end of the question's text. The options, which
// are the last rows, stay as long as they fit.
func shorten(rows []paint.Line, room, options int) []paint.Line {
	rows = slices.DeleteFunc(rows, func(l paint.Line) bool { return len(l) == 0 })
	over := len(rows) - max(room, 0)
	if over <= 0 {
		return rows
	}
	text := len(rows) - options + 1 // the rows of the heading and the question's text
	if text-over-1 >= 1 {
		kept := append(rows[:text-over-1:text-over-1], paint.Styled(display.Faint, fmt.Sprintf("  … %d more rows", over+1)))
		return append(kept, rows[text:]...)
	}
	return rows[:max(room, 0)]
}

func (m Model) asks(q fleet.Question) paint.Line {
	head := "? " + display.Line(q.Name, 50) + " asks"
	if name := m.runName(q.Run); name != "" {
		head = "? " + display.Line(q.Name, 50) + " of " + name + " asks"
	}
	facts := []string{phrase.Age(m.now.Sub(q.Asked)) + " ago"}
	if at := slices.IndexFunc(m.fleet.Questions, func(other fleet.Question) bool { return other.ID == q.ID }); len(m.fleet.Questions) > 1 {
		facts = append(facts, fmt.Sprintf("%d of %d", at+1, len(m.fleet.Questions)))
	}
	if !q.Expires.IsZero() {
		facts = append(facts, fmt.Sprintf("in %s the answer is %q", phrase.Age(q.Expires.Sub(m.now)), phrase.Line(q.Default)))
	}
	return paint.Line{{Text: head, Style: display.Yellow}, {Text: "  " + strings.Join(facts, ", "), Style: display.Faint}}
}

func (m Model) optionRow(n int, text string) paint.Line {
	mark, style := "  ", display.Style("")
	if strings.TrimSpace(m.input) == strconv.Itoa(n) {
		mark, style = "▸ ", chosen
	}
	return paint.Line{{Text: fmt.Sprintf("%s%d ", mark, n), Style: display.Bold}, {Text: phrase.Line(text), Style: style}}
}

// inputRow returns the row where the answer is typed. It shows the end of a long
// answer.
func (m Model) inputRow(q fleet.Question, width int) paint.Line {
	if m.sending == q.ID {
		return paint.Line{{Text: "> ", Style: display.Bold}, {Text: "sending …", Style: display.Faint}}
	}
	line := paint.Line{{Text: "> ", Style: display.Bold}, {Text: cells.End(display.Printable(m.input), width-4)}, {Text: "▏"}}
	if m.input != "" {
		return line
	}
	help := "text and Enter; d denies"
	if len(q.Options) > 0 {
		help = "a number or text, and Enter; d denies"
	}
	return append(line, paint.Span{Text: help, Style: display.Faint})
}
