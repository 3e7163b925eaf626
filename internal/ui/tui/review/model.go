package review

import (
	"slices"
	"strings"
	"time"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/program"
)

// Model is the state of the screen of 'gaffer review'. It is a value: [Model.Update] returns a new
// Model.
type Model struct {
	Color bool

	width, height int
	where         string // address of the gaffer server whose changes are shown; empty for this machine
	now           time.Time
	list          list
	change        change // the shown change; if change.task is empty, the list is shown
	editor        editor // the comment that the user is typing
	confirm       confirmation
	help          bool
	note          string // message in the last row
	failed        bool   // the message in note is about a failure
	noted         time.Time
}

// editor is a comment that the user is typing. It stays open until the comment is saved or the user
// drops it, so that no text is lost if saving fails.
type editor struct {
	open   bool
	saving bool
	act    Act // action that saves the comment; Enter adds the typed text to it
	input  parts.Input
}

// confirmation is an action that is performed if the user presses y.
type confirmation struct {
	text, yes string
	act       Act
}

// New returns a model that shows the changes of a run or, if task is not empty, the change of that
// task. server is the address of the server, or empty for this machine.
func New(server, run, task string, now time.Time) Model {
	m := Model{where: server, now: now, list: list{run: run}}
	if task != "" {
		m.change = change{run: run, task: task}
	}
	return m
}

// InitialActions returns the actions to perform before the first event.
func (m Model) InitialActions() []any {
	first := []any{Show{Run: m.list.run}}
	if m.change.task != "" {
		first = append(first, m.change.show())
	}
	return first
}

// Update applies an event: a size, the time, a key, data or the result of an action. It returns the
// new model and the actions to perform.
func (m Model) Update(event any) (Model, []any) {
	var actions []any
	switch event := event.(type) {
	case program.Size:
		m.width, m.height = event.Width, event.Height
	case time.Time:
		if m.now = event; event.Sub(m.noted) > resultTime {
			m.note = ""
		}
	case program.Key:
		m.note = ""
		m, actions = m.press(event)
	case Changes:
		if event.Run.ID == m.list.run {
			m.list.changes, m.list.read, m.list.readError = event, true, ""
		}
	case Page:
		m.change = m.change.withPage(event)
	case File:
		m.change = m.change.withFile(event)
	case ReadFailure:
		switch {
		case event.Run != m.list.run:
		case event.Task == "":
			m.list.readError = event.Why
		default:
			m.change = m.change.withReadFailure(event)
		}
	case Done:
		m = m.done(event)
	}
	if m.change.task != "" {
		var read any
		if m.change, read = m.change.settle(m.body()); read != nil {
			actions = append(actions, read)
		}
	} else {
		m.list = m.list.settle(m.body())
	}
	return m, actions
}

// done shows the result of an action. If a comment was saved, it closes the editor.
func (m Model) done(d Done) Model {
	if m.editor.saving && d.Act.Kind == m.editor.act.Kind {
		m.editor.saving = false
		if d.Err == nil {
			m.editor = editor{}
			m.change.mark = false
		}
	}
	if d.Err != nil {
		return m.showNote(d.Err.Error(), true)
	}
	return m.showNote(d.Act.done(), false)
}

func (m Model) showNote(text string, failed bool) Model {
	m.note, m.failed, m.noted = text, failed, m.now
	return m
}

// frame is the size of the space between the rows of head and the rows of foot, in columns and
// rows.
type frame struct{ width, height int }

func (m Model) body() frame {
	return frame{m.width, max(m.height-len(m.head())-len(m.foot()), 0)}
}

// Rows returns the rows of the terminal, from the top. They never exceed the terminal's height and
// width.
func (m Model) Rows() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	f := m.body()
	var body []paint.Line
	switch {
	case m.help:
		body = helpLines()
	case m.change.task != "":
		body = m.change.view(f)
	default:
		body = m.list.view(f)
	}
	lines := append(m.head(), body[:min(len(body), f.height)]...)
	foot := m.foot()
	for len(lines) < m.height-len(foot) {
		lines = append(lines, nil)
	}
	var rows []string
	for _, l := range append(lines, foot...)[:m.height] {
		rows = append(rows, l.Render(m.width, m.Color))
	}
	return rows
}

func (m Model) head() []paint.Line {
	left := paint.Line{{Text: "gaffer review", Style: display.Bold}}
	add := func(name string) {
		left = append(left, paint.Span{Text: " › ", Style: display.Faint}, paint.Span{Text: name, Style: display.Bold})
	}
	if name := m.list.changes.Run.Name; name != "" {
		add(display.Line(name, 40))
	} else {
		add(display.Line(m.list.run, 40))
	}
	var rows []paint.Line
	right := paint.Line{{Text: display.Line(m.where, 60), Style: display.Faint}}
	if c := m.change; c.task != "" {
		add(display.Line(c.task, 40))
		if c.read {
			right = paint.Line{badge(c.page.Review, c.page.Task)}
		}
		rows = c.head()
	}
	if m.help {
		add("keys")
	}
	rows = append([]paint.Line{paint.Ends(left, right, m.width)}, rows...)
	return rows[:min(len(rows), max(m.height/3, 1))]
}

// foot returns the rows at the bottom. They show one of these: the action to confirm, the comment
// that the user is typing, a message to the user, or the most useful keys.
func (m Model) foot() []paint.Line {
	switch {
	case m.confirm.text != "":
		var lines []paint.Line
		for _, text := range paint.Wrap(m.confirm.text, m.width, max(m.height-2, 1)) {
			lines = append(lines, paint.Styled(display.Bold, text))
		}
		return append(lines, paint.Styled(display.Yellow, m.confirm.yes+", any other key does nothing"))
	case m.editor.open:
		hint := paint.Styled(display.Faint, "Enter saves it, Esc drops it")
		switch {
		case m.editor.saving:
			hint = paint.Styled(display.Faint, "saving …")
		case m.note != "" && m.failed:
			hint = paint.Styled(display.Red, "✗ not saved: "+phrase.Line(m.note))
		}
		title := paint.Styled(display.Yellow, "comment on "+PlaceName(m.editor.act.Comment))
		return []paint.Line{title, m.editor.input.Row("> ", m.width), hint}
	case m.note != "":
		if m.failed {
			return []paint.Line{paint.Styled(display.Red, "✗ "+phrase.Line(m.note))}
		}
		return []paint.Line{paint.Styled(display.Bold, phrase.Line(m.note))}
	case m.help:
		return []paint.Line{paint.Styled(display.Faint, "any key goes back")}
	}
	keys := []string{"Enter opens", "j k choose", "q leaves"}
	if m.change.task != "" {
		keys = []string{"] [ files", "n p hunks", "c comment", "v viewed", "a approve", "s send back", "m merge", "N next change", "Tab new since review"}
		if m.change.mark {
			keys = []string{"c comments on the lines", "Esc keeps one line"}
		}
	}
	// Leave out keys that do not fit. But always show the last key, which opens the list of all
	// keys.
	fitting, last := []string(nil), "? keys"
	for _, k := range keys {
		if cells.Width(strings.Join(append(slices.Clone(fitting), k, last), "  ")) <= m.width {
			fitting = append(fitting, k)
		}
	}
	return []paint.Line{paint.Styled(display.Faint, strings.Join(append(fitting, last), "  "))}
}

// helpLines returns a row for each key, which says what the key does.
func helpLines() (lines []paint.Line) {
	for _, k := range []struct{ key, does string }{
		{"↑ ↓  j k", "up and down; PgUp PgDn, Home End (g G) go further"},
		{"J K", "choose several lines; Shift with ↑ ↓ does too"},
		{"← →", "sideways in long lines"},
		{"n p", "next and previous hunk"},
		{"] [", "next and previous file; before the first is the overview"},
		{"N P", "next and previous change"},
		{"Enter Esc", "open what is chosen; back"},
		{"Tab", "all of the change, or what is new since your last review"},
		{"c", "comment on the chosen lines, file or change"},
		{"e d r", "edit, delete or resolve the chosen comment"},
		{"v", "mark the file as viewed, until it changes again"},
		{"a", "approve"},
		{"s", "send all comments back to the agent"},
		{"m x", "merge or discard the change; both ask first"},
		{"u", "undo a merge, bring a discarded change back"},
		{"R", "read the change again, while the agent works on it"},
		{"q", "leave; what runs goes on"},
	} {
		lines = append(lines, paint.Line{{Text: cells.Fill(k.key, 9), Style: display.Bold}, {Text: "  " + k.does}})
	}
	return lines
}
