package review

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/program"
)

// Model is the state of the screen. It is a value: [Model.Update] returns a new one.
type Model struct {
	Color bool

	width, height int
	where         string // the server's address, or empty for this machine
	now           time.Time
	list          list
	change        change // shown if its task is set
	editor        editor // the comment that the user types
	confirm       confirmation
	help          bool
	note          string // shown in the last row
	failed        bool   // the note is about a failure
	noted         time.Time
}

// editor is a comment that the user types. It stays open until it is saved, so that no
// text is lost if saving fails.
type editor struct {
	open   bool
	saving bool
	act    Act // without the text
	input  parts.Input
}

// confirmation is an action that the user must confirm with y.
type confirmation struct {
	text, yes string
	act       Act
}

// New returns a model of the changes of a run, or of the change of one of its tasks.
// where is the server's address, or empty for this machine.
func New(where, run, task string, now time.Time) Model {
	m := Model{where: where, now: now, list: list{run: run}}
	if task != "" {
		m.change = change{run: run, task: task}
	}
	return m
}

// InitialActions returns the actions with which the screen starts.
func (m Model) InitialActions() []any {
	first := []any{Show{Run: m.list.run}}
	if m.change.task != "" {
		first = append(first, m.change.show())
	}
	return first
}

// Update processes an event: a size, the time, a key, data or the result of an action.
// It returns the new model and the actions to perform.
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

// done shows the result of an action. It closes the editor if the comment is saved.
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

// press handles a key.
func (m Model) press(k program.Key) (Model, []any) {
	if k.Name == "alt+esc" { // Escape pressed twice, fast
		k.Name = "esc"
	}
	switch {
	case k.Name == "ctrl+c":
		return m, []any{program.Quit{}}
	case m.help:
		m.help = false
		return m, nil
	case m.confirm.text != "":
		act := m.confirm.act
		if m.confirm = (confirmation{}); k.Name != "y" {
			return m.showNote("nothing was done", false), nil
		}
		return m, []any{act}
	case m.editor.open:
		return m.edit(k)
	case k.Name == "q":
		return m, []any{program.Quit{}}
	case k.Name == "?":
		m.help = true
		return m, nil
	case m.change.task == "":
		return m.pressList(k)
	}
	return m.pressChange(k)
}

// edit changes the comment that the user types.
func (m Model) edit(k program.Key) (Model, []any) {
	switch {
	case m.editor.saving: // keys must not change what is being saved
	case k.Name == "esc":
		if m.editor.input.Trimmed() != "" {
			m = m.showNote("the comment was dropped", false)
		}
		m.editor = editor{}
	case k.Name == "enter" && m.editor.input.Trimmed() != "":
		act := m.editor.act
		act.Comment.Text, m.editor.saving = m.editor.input.Trimmed(), true
		return m, []any{act}
	case k.Name != "enter":
		m.editor.input = program.Edit(m.editor.input, k)
	}
	return m, nil
}

func (m Model) pressList(k program.Key) (Model, []any) {
	entries, page := m.list.changes.Entries, max(m.body().height-2, 1)
	at := m.list.index()
	switch k.Name {
	case "esc":
		return m, []any{program.Quit{}}
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup", "ctrl+b":
		at -= page
	case "pgdown", "ctrl+f", "space":
		at += page
	case "home", "g":
		at = 0
	case "end", "G":
		at = len(entries)
	case "enter", "right", "l":
		if len(entries) == 0 {
			return m, nil
		}
		return m.open(entries[at].Task)
	default:
		return m, nil
	}
	if len(entries) > 0 {
		m.list.cursor = entries[min(max(at, 0), len(entries)-1)].Task.ID
	}
	return m, nil
}

// open shows the change of a task.
func (m Model) open(t fleet.Task) (Model, []any) {
	m.list.cursor = t.ID
	m.change = change{run: m.list.run, task: t.ID}
	return m, []any{m.change.show()}
}

func (m Model) pressChange(k program.Key) (Model, []any) {
	c := m.change
	act := Act{Run: c.run, Task: c.task, Tree: c.page.Change.Tree}
	perform := func(kind Kind) (Model, []any) { act.Kind = kind; return m, []any{act} }
	switch k.Name {
	case "esc", "backspace":
		switch {
		case c.mark:
			m.change.mark = false
		case c.file > 0:
			m.change = c.goTo(0)
		default:
			m.list.cursor, m.change = c.task, change{}
			return m, []any{Show{Run: m.list.run}}
		}
		return m, nil
	case "N", "P":
		return m.openNeighbour(map[string]int{"N": +1, "P": -1}[k.Name])
	case "tab":
		if !c.since && c.page.Review.Seen == "" {
			return m.showNote("you have not sent back or approved this change yet, so all of it is new", false), nil
		}
		m.change = change{run: c.run, task: c.task, since: !c.since}
		return m, []any{m.change.show()}
	}
	if k.Name == "R" {
		return m.showNote("reading again …", false), []any{c.show()}
	}
	if !c.read { // the other keys need the change
		return m, nil
	}
	switch review := c.page.Review; k.Name {
	case "c":
		comment, ok := c.newComment(m.body())
		if !ok {
			return m.showNote("this file is not read yet", false), nil
		}
		act.Kind, act.Comment = Comment, comment
		m.editor = editor{open: true, act: act}
	case "e", "d", "r":
		comment, ok := c.commentAt(m.body())
		act.Comment = comment
		switch {
		case !ok:
			return m.showNote("choose a comment first", false), nil
		case k.Name == "r":
			act.Comment.Resolved = !comment.Resolved
			return perform(Resolve)
		case comment.Round > 0:
			return m.showNote("this comment was sent in round "+fmt.Sprint(comment.Round)+": the agent has read it", false), nil
		case k.Name == "d":
			return perform(Delete)
		}
		act.Kind = Edit
		m.editor = editor{open: true, act: act, input: parts.Input(comment.Text)}
	case "v":
		file, ok := c.chosenFile(m.body())
		if !ok {
			return m.showNote("choose a file first", false), nil
		}
		act.Path = file.Path
		if review.Viewed[file.Path] != file.Digest {
			act.Digest = file.Digest
			if c.file > 0 && c.file < len(c.page.Change.Files) {
				m.change = c.goTo(c.file + 1)
			}
		}
		return perform(View)
	case "a":
		if drafts := len(drafts(review)); drafts > 0 {
			m.confirm = confirmation{"Approve with " + phrase.Count(drafts, "comment") + " that was never sent to the agent?", "y approves", withKind(act, Approve)}
			return m, nil
		}
		return perform(Approve)
	case "s":
		if len(drafts(review)) == 0 && review.State != fleet.ReviewSentBack { // what was sent may wait for a gaffer that died
			return m.showNote("there is no comment to send: c writes one", false), nil
		}
		return perform(SendBack)
	case "m":
		text := fmt.Sprintf("Merge the change of %s: %s, +%d −%d? Files of a worktree that has the branch checked out are updated.", display.Line(c.task, 40), phrase.Count(len(c.page.Change.Files), "file"), c.page.Change.Added, c.page.Change.Removed)
		if review.State != fleet.ReviewApproved {
			text += " It is not approved."
		}
		m.confirm = confirmation{text, "y merges", withKind(act, Merge)}
	case "x":
		m.confirm = confirmation{"Discard the change of " + display.Line(c.task, 40) + "? Its branch and its worktree are deleted; a rescue ref keeps the work.", "y discards", withKind(act, Discard)}
	case "u":
		switch review.State {
		case fleet.ReviewMerged:
			m.confirm = confirmation{"Undo the merge of " + display.Line(c.task, 40) + "? The branch moves back to where it was.", "y undoes it", withKind(act, UndoMerge)}
		case fleet.ReviewDiscarded:
			return perform(Restore)
		default:
			return m.showNote("only a merge or a discarded change can be undone", false), nil
		}
	default:
		var note string
		if m.change, note = c.move(k.Name, m.body()); note != "" {
			return m.showNote(note, false), nil
		}
	}
	return m, nil
}

func withKind(a Act, kind Kind) Act { a.Kind = kind; return a }

// drafts returns the comments that were not sent yet.
func drafts(r fleet.Review) (list []fleet.Comment) {
	for _, c := range r.Comments {
		if c.Round == 0 && !c.Resolved {
			list = append(list, c)
		}
	}
	return list
}

// openNeighbour opens the next or the previous change.
func (m Model) openNeighbour(by int) (Model, []any) {
	entries := m.list.changes.Entries
	at := slices.IndexFunc(entries, func(e Entry) bool { return e.Task.ID == m.change.task })
	switch {
	case !m.list.read:
		return m.showNote("the list of changes is not read yet", false), nil
	case at+by < 0:
		return m.showNote("this is the first change", false), nil
	case at+by >= len(entries):
		return m.showNote("this is the last change", false), nil
	}
	return m.open(entries[at+by].Task)
}

// frame is the space between the head and the foot.
type frame struct{ width, height int }

func (m Model) body() frame {
	return frame{m.width, max(m.height-len(m.head())-len(m.foot()), 0)}
}

// Rows returns the rows of the terminal, from the top. They never exceed its height and
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

// foot returns the confirmation, the comment that is typed, a note, or the most useful
// keys.
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
	// Keys that do not fit are left out, except the last one, which shows all keys.
	fitting, last := []string(nil), "? keys"
	for _, k := range keys {
		if cells.Width(strings.Join(append(slices.Clone(fitting), k, last), "  ")) <= m.width {
			fitting = append(fitting, k)
		}
	}
	return []paint.Line{paint.Styled(display.Faint, strings.Join(append(fitting, last), "  "))}
}

// helpLines returns the keys and what they do.
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
