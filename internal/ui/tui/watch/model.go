package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// Model is the state of the program: the data that was read, the open screens, and whether the help
// or a confirmation is shown. It is a value: [Model.Update] returns a new Model.
type Model struct {
	Color bool

	width, height int
	known         snapshot
	screens       []screen     // open screens, at least one; the last one is shown
	help          bool         // whether the help with all keys is shown instead of the screen
	confirm       confirmation // the action that the user has to confirm; zero if there is none
	result        Result       // result of the last action, shown in the last row
	resultAt      time.Time
}

// screen is what the terminal shows between the rows of [Model.head] and the rows of [Model.foot].
// Screens are values: methods that change a screen return a changed copy.
type screen interface {
	// focus returns the run and task whose data the screen needs. It returns false if the screen
	// needs the same data as the previously opened screen.
	focus() (Focus, bool)
	// path returns names with the names of this screen appended, such as the name of a run. The
	// parameter names holds those of the screens that were opened before. The title row shows all
	// of them.
	path(s snapshot, names []string) []string
	// summary returns the rows below the title row, which give an overview of what the screen
	// shows.
	summary(s snapshot, width int) []paint.Line
	// hints returns the most useful keys and the scroll position. The position is "" if everything
	// fits on the screen, or if the screen shows the position elsewhere.
	hints(s snapshot, f frame) (keys []string, position string)
	filtered() filter
	update(k Key, s snapshot, f frame) (screen, keyResult)
	// settle returns the screen with a cursor and scroll position that are valid for the present
	// data and size.
	settle(s snapshot, f frame) screen
	view(s snapshot, f frame) []string
}

// frame is the space in which a screen is drawn.
type frame struct {
	width, height int
	color         bool
}

// render returns the lines as terminal output, cut to the size of the frame.
func (f frame) render(lines []paint.Line) []string {
	var rows []string
	for _, l := range lines[:min(len(lines), max(f.height, 0))] {
		rows = append(rows, l.Render(f.width, f.color))
	}
	return rows
}

// keyResult is what a key does in addition to changing the screen that handles it. At most one
// field is set.
type keyResult struct {
	open    screen // screen to open above the current one
	back    bool   // close the current screen and show the screen below
	help    bool   // show the help with all keys
	note    string // a message for the user
	confirm confirmation
	action  any
}

// New returns a model that shows the fleet or, if run is not empty, that run. server is the address
// of the gaffer server whose fleet is shown. It is empty for the fleet of this machine.
func New(server, run string, now time.Time) Model {
	m := Model{known: snapshot{where: server, now: now}, screens: []screen{listScreen{content: fleetList{}}}}
	if run != "" {
		m.screens = append(m.screens, listScreen{content: runList{run}})
	}
	return m
}

// resultTime is how long the result of an action is shown if the user presses no key.
const resultTime = 10 * time.Second

// Update applies an event: a new terminal size, the time, a key, new data or the result of an
// action. It returns the new model and the actions to perform.
func (m Model) Update(event any) (Model, []any) {
	m.screens = slices.Clone(m.screens)
	var actions []any
	switch event := event.(type) {
	case Size:
		m.width, m.height = event.Width, event.Height
	case time.Time:
		m.known.now = event
		if event.Sub(m.resultAt) > resultTime {
			m.result = Result{}
		}
	case Key:
		m.result = Result{}
		m, actions = m.press(event)
	case Result:
		m.result, m.resultAt = event, m.known.now
		if event.Question != "" && event.Question == m.known.sending {
			m.known.sending = ""
			if q, ok := m.top().(questionScreen); ok && q.id == event.Question && !event.Failed {
				m = m.back()
			}
		}
	case Log:
		for i, sc := range m.screens {
			if t, ok := sc.(taskScreen); ok && t.run == event.Run && t.task == event.Task {
				t.log = t.log.add(event)
				m.screens[i] = t
			}
		}
	default:
		m.known = m.known.with(event)
	}
	m.screens[len(m.screens)-1] = m.top().settle(m.known, m.frame())
	for _, sc := range slices.Backward(m.screens) {
		if focus, ok := sc.focus(); ok {
			if focus != m.known.focus {
				m.known = m.known.refocused(focus)
				actions = append(actions, focus)
			}
			break
		}
	}
	return m, actions
}

// press handles a key. It returns the new model and the actions to perform.
func (m Model) press(k Key) (Model, []any) {
	if k.Name == "alt+esc" { // terminals send this if Escape is pressed twice quickly
		k.Name = "esc"
	}
	switch {
	case k.Name == "ctrl+c":
		return m, []any{Quit{}}
	case m.help:
		m.help = false
		return m, nil
	case m.confirm.action != nil:
		action := m.confirm.action
		if m.confirm = (confirmation{}); k.Name != "y" {
			return m.showNote("nothing was done"), nil
		}
		return m.perform(action)
	}
	changed, out := m.top().update(k, m.known, m.frame())
	m.screens[len(m.screens)-1] = changed
	switch {
	case out.open != nil:
		m.screens = append(m.screens, out.open)
	case out.back:
		m = m.back()
	case out.help:
		m.help = true
	case out.note != "":
		m = m.showNote(out.note)
	case out.confirm.action != nil:
		m.confirm = out.confirm
	case out.action != nil:
		return m.perform(out.action)
	}
	return m, nil
}

func (m Model) perform(action any) (Model, []any) {
	if a, ok := action.(Answer); ok {
		m.known.sending = a.Question
	}
	return m, []any{action}
}

func (m Model) showNote(text string) Model {
	m.result, m.resultAt = Result{Text: text}, m.known.now
	return m
}

func (m Model) top() screen { return m.screens[len(m.screens)-1] }

// back closes the current screen, unless it is the first one.
func (m Model) back() Model {
	m.screens = m.screens[:max(len(m.screens)-1, 1)]
	return m
}

// Rows returns the rows of the terminal, from the top. They never exceed the terminal's height and
// width.
func (m Model) Rows() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	whole := frame{m.width, m.height, m.Color}
	rows, foot, f := whole.render(m.head()), whole.render(m.foot()), m.frame()
	body := m.top().view
	if m.help {
		body = func(_ snapshot, f frame) []string { return f.render(helpLines(f.width)) }
	}
	inner := body(m.known, f)
	rows = append(rows, inner[:min(len(inner), max(f.height, 0))]...)
	for len(rows) < m.height-len(foot) {
		rows = append(rows, "")
	}
	rows = append(rows, foot...)
	return rows[:min(len(rows), m.height)]
}

// frame returns the space for the screen, between the rows of [Model.head] and those of
// [Model.foot].
func (m Model) frame() frame {
	return frame{m.width, m.height - len(m.head()) - len(m.foot()), m.Color}
}

// head returns the rows at the top of the terminal: the title, a warning if the fleet is
// unreachable, a summary, and the text of the active filter. They take at most a third of the
// terminal.
func (m Model) head() []paint.Line {
	rows := []paint.Line{m.title()}
	if away := m.known.unreachable(); !away.Since.IsZero() {
		rows = append(rows, paint.Styled(display.Red, fmt.Sprintf("✗ away since %s, %s; what is shown is as of then: %s",
			away.Since.In(m.known.now.Location()).Format("15:04:05"), phrase.Age(max(m.known.now.Sub(away.Since), 0)), phrase.Line(away.Why))))
	}
	if !m.help {
		rows = append(rows, m.top().summary(m.known, m.width)...)
	}
	if f := m.top().filtered(); f.text != "" && !f.typing {
		rows = append(rows, paint.Styled(display.Yellow, "/ "+display.Line(f.text, 60)+"  shows only what has this in it; Esc shows all"))
	}
	return rows[:min(len(rows), max(m.height/3, 1))]
}

func (m Model) title() paint.Line {
	var names []string
	for _, sc := range m.screens {
		names = sc.path(m.known, names)
	}
	if m.help {
		names = append(names, "keys")
	}
	left := paint.Line{{Text: "gaffer watch", Style: display.Bold}}
	for _, name := range names {
		left = append(left, paint.Span{Text: " › ", Style: display.Faint}, paint.Span{Text: name, Style: display.Bold})
	}
	where := "this machine"
	if m.known.where != "" {
		where = display.Line(m.known.where, 60)
	}
	live := paint.Span{Text: "● live", Style: display.Green}
	switch {
	case !m.known.unreachable().Since.IsZero():
		live = paint.Span{Text: "✗ away", Style: display.Red}
	case m.known.read.IsZero():
		live = paint.Span{Text: "○ reading", Style: display.Faint}
	}
	right := paint.Line{{Text: where + "  ", Style: display.Faint}, live}
	if left.Width()+right.Width()+2 > m.width {
		right = right[1:]
	}
	return paint.Ends(left, right, m.width)
}

// foot returns the rows at the bottom of the terminal. They show one of these: the action to
// confirm, the filter that the user is typing, the result of an action, or the most useful keys.
func (m Model) foot() []paint.Line {
	switch f := m.top().filtered(); {
	case m.confirm.action != nil:
		return m.confirm.lines(m.width, m.height)
	case f.typing:
		return []paint.Line{append(f.input.Row("/ ", m.width), paint.Span{Text: "  Enter keeps it, Esc takes it away", Style: display.Faint})}
	case m.result.Text != "":
		style, mark := display.Bold, ""
		if m.result.Failed {
			style, mark = display.Red, "✗ "
		}
		return []paint.Line{paint.Styled(style, mark+phrase.Line(m.result.Text))}
	case m.help:
		return []paint.Line{paint.Styled(display.Faint, "any key goes back")}
	}
	keys, position := m.top().hints(m.known, frame{m.width, m.height - len(m.head()) - 1, m.Color})
	// Leave out keys that do not fit. But always show the last key: on most screens it is "?",
	// which opens the help.
	last := keys[len(keys)-1]
	var fitting []string
	for _, k := range keys[:len(keys)-1] {
		more := append(slices.Clone(fitting), k)
		if cells.Width(strings.Join(append(more, last), "  ")) <= m.width {
			fitting = more
		}
	}
	left := paint.Styled(display.Faint, strings.Join(append(fitting, last), "  "))
	var right paint.Line
	if position != "" {
		right = paint.Styled(display.Faint, position)
	}
	return []paint.Line{paint.Ends(left, right, m.width)}
}
