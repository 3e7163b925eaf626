package review

import (
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/program"
)

// press handles a key. It returns the new model and the actions to perform.
func (m Model) press(k program.Key) (Model, []any) {
	if k.Name == "alt+esc" { // terminals send this if Escape is pressed twice quickly
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

// edit handles a key while the user types a comment.
func (m Model) edit(k program.Key) (Model, []any) {
	switch {
	case m.editor.saving: // the text must not change while it is being saved
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

// pressList handles a key while the list of changes is shown.
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

// pressChange handles a key while a change is shown.
func (m Model) pressChange(k program.Key) (Model, []any) {
	switch k.Name {
	case "esc", "backspace":
		return m.back()
	case "N":
		return m.openNeighbour(+1)
	case "P":
		return m.openNeighbour(-1)
	case "tab":
		return m.toggleSince()
	case "R":
		return m.showNote("reading again …", false), []any{m.change.show()}
	}
	if !m.change.read { // all other keys need the change, which is not read yet
		return m, nil
	}
	switch k.Name {
	case "c":
		return m.writeComment()
	case "e", "d", "r":
		return m.changeComment(k.Name)
	case "v":
		return m.toggleViewed()
	case "a":
		return m.approve()
	case "s":
		return m.sendBack()
	case "m":
		return m.merge()
	case "x":
		return m.confirmFirst("Discard the change of "+display.Line(m.change.task, 40)+"? Its worktree is deleted; its branch and a rescue ref keep the work.", "y discards", Discard)
	case "u":
		return m.undo()
	}
	var note string
	if m.change, note = m.change.move(k.Name, m.body()); note != "" {
		return m.showNote(note, false), nil
	}
	return m, nil
}

// back goes back by one step. If several lines are chosen, it ends that choice. Otherwise it goes
// from a file to the overview, or from the overview to the list of changes.
func (m Model) back() (Model, []any) {
	switch c := m.change; {
	case c.mark:
		m.change.mark = false
	case c.file > 0:
		m.change = c.goTo(0)
	default:
		m.list.cursor, m.change = c.task, change{}
		return m, []any{Show{Run: m.list.run}}
	}
	return m, nil
}

// toggleSince switches between the whole change and the part that is new since the last review.
func (m Model) toggleSince() (Model, []any) {
	c := m.change
	if !c.since && c.page.Review.Seen == "" {
		return m.showNote("you have not sent back or approved this change yet, so all of it is new", false), nil
	}
	m.change = change{run: c.run, task: c.task, since: !c.since}
	return m, []any{m.change.show()}
}

// act returns an action of this kind on the shown change.
func (m Model) act(kind Kind) Act {
	return Act{Kind: kind, Run: m.change.run, Task: m.change.task, Tree: m.change.page.Change.Tree}
}

// confirmFirst asks the user to confirm an action on the shown change. The parameter yes is the
// text that says which key confirms it, such as "y merges".
func (m Model) confirmFirst(question, yes string, kind Kind) (Model, []any) {
	m.confirm = confirmation{question, yes, m.act(kind)}
	return m, nil
}

// writeComment opens the editor for a comment at the chosen position.
func (m Model) writeComment() (Model, []any) {
	comment, ok := m.change.newComment(m.body())
	if !ok {
		return m.showNote("this file is not read yet", false), nil
	}
	m.editor = editor{open: true, act: m.act(Comment)}
	m.editor.act.Comment = comment
	return m, nil
}

// changeComment changes the chosen comment: the key e edits it, d deletes it, and r resolves it or,
// if it is already resolved, opens it again. A comment that was sent to the agent cannot be edited
// or deleted.
func (m Model) changeComment(key string) (Model, []any) {
	comment, ok := m.change.commentAt(m.body())
	act := m.act(Edit)
	act.Comment = comment
	switch {
	case !ok:
		return m.showNote("choose a comment first", false), nil
	case key == "r":
		act.Kind, act.Comment.Resolved = Resolve, !comment.Resolved
		return m, []any{act}
	case comment.Round > 0:
		return m.showNote("this comment was sent in round "+fmt.Sprint(comment.Round)+": the agent has read it", false), nil
	case key == "d":
		act.Kind = Delete
		return m, []any{act}
	}
	m.editor = editor{open: true, act: act, input: parts.Input(comment.Text)}
	return m, nil
}

// toggleViewed marks the chosen file as viewed and, if its diff is shown, goes to the next file. If
// the file is already marked and has not changed since, toggleViewed removes the mark instead.
func (m Model) toggleViewed() (Model, []any) {
	c := m.change
	file, ok := c.chosenFile(m.body())
	if !ok {
		return m.showNote("choose a file first", false), nil
	}
	act := m.act(View)
	act.Path = file.Path
	if c.page.Review.Viewed[file.Path] != file.Digest {
		act.Digest = file.Digest
		if c.file > 0 && c.file < len(c.page.Change.Files) {
			m.change = c.goTo(c.file + 1)
		}
	}
	return m, []any{act}
}

func (m Model) approve() (Model, []any) {
	if drafts := len(drafts(m.change.page.Review)); drafts > 0 {
		return m.showNote(phrase.Count(drafts, "comment")+" not sent yet: s sends them to the agent, d deletes the chosen one", true), nil
	}
	return m, []any{m.act(Approve)}
}

func (m Model) sendBack() (Model, []any) {
	review := m.change.page.Review
	// SendBack sends the new comments to the agent. Without new comments, it is useful only if the
	// change was sent back before: it then makes sure that a gaffer process still works on the run.
	if len(drafts(review)) == 0 && review.State != fleet.ReviewSentBack {
		return m.showNote("there is no comment to send: c writes one", false), nil
	}
	return m, []any{m.act(SendBack)}
}

func (m Model) merge() (Model, []any) {
	page := m.change.page
	text := fmt.Sprintf("Merge the change of %s: %s, +%d −%d? Files of a worktree that has the branch checked out are updated.", display.Line(m.change.task, 40), phrase.Count(len(page.Change.Files), "file"), page.Change.Added, page.Change.Removed)
	if page.Review.State != fleet.ReviewApproved {
		text += " It is not approved."
	}
	return m.confirmFirst(text, "y merges", Merge)
}

// undo undoes a merge, or restores a discarded change.
func (m Model) undo() (Model, []any) {
	switch m.change.page.Review.State {
	case fleet.ReviewMerged:
		return m.confirmFirst("Undo the merge of "+display.Line(m.change.task, 40)+"? The branch moves back to where it was.", "y undoes it", UndoMerge)
	case fleet.ReviewDiscarded:
		return m, []any{m.act(Restore)}
	}
	return m.showNote("only a merge or a discarded change can be undone", false), nil
}

// drafts returns the comments that were not sent yet. A change with drafts cannot be approved.
func drafts(r fleet.Review) (list []fleet.Comment) {
	for _, c := range r.Comments {
		if c.Round == 0 {
			list = append(list, c)
		}
	}
	return list
}

// openNeighbour opens the next change in the list if step is 1, or the previous change if step is
// -1.
func (m Model) openNeighbour(step int) (Model, []any) {
	entries := m.list.changes.Entries
	at := slices.IndexFunc(entries, func(e Entry) bool { return e.Task.ID == m.change.task })
	switch {
	case !m.list.read:
		return m.showNote("the list of changes is not read yet", false), nil
	case at+step < 0:
		return m.showNote("this is the first change", false), nil
	case at+step >= len(entries):
		return m.showNote("this is the last change", false), nil
	}
	return m.open(entries[at+step].Task)
}
