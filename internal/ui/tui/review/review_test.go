package review

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/ui/tui/program"
)

func TestEveryScreenAtSeveralSizes(t *testing.T) {
	t.Parallel()
	since := page()
	since.Since, since.Change.Files = seen, since.Change.Files[:1]
	for _, size := range []program.Size{{Width: 120, Height: 40}, {Width: 80, Height: 24}, {Width: 40, Height: 12}} {
		at := func(task string, what ...any) Model { return screenOf(size.Width, size.Height, task, what...) }
		for name, m := range map[string]Model{
			"list":    at("", changes(), "j"),
			"change":  at("api", changes(), page()),
			"file":    at("api", changes(), page(), "]", health(), "n"),
			"range":   at("api", page(), "]", health(), "n n J J"),
			"comment": at("api", page(), "]", health(), "n n c W h y ?"),
			"since":   at("api", page(), "tab", since),
			"discard": at("api", page(), "x"),
			"help":    at("api", page(), "?"),
		} {
			golden(t, fmt.Sprintf("%s-%dx%d.golden", name, size.Width, size.Height), picture(m))
		}
	}
	m := screenOf(100, 30, "api", page(), "]", health(), "n n")
	m.Color = true
	golden(t, "file-color.golden", strings.ReplaceAll(picture(m), "\x1b", "␛"))
}

func TestLoadingAndFailureAreNeverShownAsNoChanges(t *testing.T) {
	t.Parallel()
	nothing := page()
	nothing.Change.Files, nothing.Review.Comments = nil, nil
	trouble := func(task, path string) ReadFailure {
		return ReadFailure{Run: runID, Task: task, Path: path, Why: "the change is on worker build-1"}
	}
	for name, c := range map[string]struct {
		m    Model
		want string
	}{
		"the list is being read":       {screenOf(80, 24, ""), "reading the changes …"},
		"the list cannot be read":      {screenOf(80, 24, "", trouble("", "")), "✗ cannot be read: the change is on worker build-1"},
		"the list is empty":            {screenOf(80, 24, "", Changes{Run: fleet.Run{ID: runID}}), "No task of this run has a worktree"},
		"the change is being read":     {screenOf(80, 24, "api"), "reading the change of api …"},
		"the change cannot be read":    {screenOf(80, 24, "api", trouble("api", "")), "✗ cannot be read: the change is on worker build-1"},
		"the change cannot be reread":  {screenOf(100, 24, "api", page(), trouble("api", "")), "what is shown was read before"},
		"the change has no files":      {screenOf(80, 24, "api", nothing), "The task has changed no file."},
		"a file is being read":         {screenOf(80, 24, "api", page(), "]"), "reading the file …"},
		"a file cannot be read":        {screenOf(80, 24, "api", page(), "]", trouble("api", "api/health.go")), "✗ cannot be read: the change is on worker build-1"},
		"a file is too large to show":  {screenOf(80, 24, "api", page(), "]", File{Of: health().Of, Diff: fleet.FileChange{TooLarge: "it has 50 MB"}}), "not shown: it has 50 MB"},
		"a mode is all that changed":   {screenOf(80, 24, "api", page(), "]", File{Of: health().Of}), "no line has changed"},
		"a list that was read, failed": {screenOf(80, 24, "", changes(), trouble("", "")), "what is shown was read before"},
	} {
		got := picture(c.m)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q\n%s", name, c.want, got)
		}
		if !strings.Contains(c.want, "no file") && strings.Contains(got, "changed no file") {
			t.Errorf("%s is shown as no changes\n%s", name, got)
		}
	}
}

func TestAFileIsReadWhenItIsOpened(t *testing.T) {
	t.Parallel()
	m, actions := does(screenOf(80, 24, "api", page()), "]")
	if diff := cmp.Diff([]any{health().Of}, actions); diff != "" {
		t.Fatal(diff)
	}
	if _, again := m.Update(now); len(again) != 0 {
		t.Errorf("it is requested again: %v", again)
	}
	// If the agent changes one file, only the diff of this file is read again.
	m = take(m, health(), "n")
	line := m.change.cursor
	changed := page()
	changed.Change.Tree, changed.Change.Files[0].Digest = "3", "d1b"
	m, actions = m.Update(changed)
	if want := (Read{Run: runID, Task: "api", Tree: "3", Path: "api/health.go"}); !reflect.DeepEqual(actions, []any{want}) {
		t.Errorf("%v, want %v", actions, want)
	}
	late := health() // the diff that was requested first, for an older tree
	late.Diff.Hunks = nil
	if m = take(m, late); m.change.diffs["api/health.go"].read {
		t.Error("a diff of an older tree is shown")
	}
	newer := health()
	newer.Of.Tree = "3"
	if m = take(m, newer); m.change.cursor == (key{}) || line == (key{}) {
		t.Errorf("the cursor is at %v, it was at %v", m.change.cursor, line)
	}
	if _, actions = does(m, "[ ]"); len(actions) != 0 {
		t.Errorf("a diff that is known is read again: %v", actions)
	}
}

func TestTheNextHunkIsItsFirstChangedLine(t *testing.T) {
	t.Parallel()
	p := page()
	p.Anchors[0].First, p.Anchors[0].Last = 10, 10 // put a comment above the first changed line
	m := screenOf(80, 24, "api", p, "]", health(), "n")
	if k := m.change.cursor; k.kind != codeRow || k.old != 12 {
		t.Errorf("the cursor is at %+v", k)
	}
	if k := take(m, "n").change.cursor; k.old != 41 {
		t.Errorf("the second hunk: %+v", k)
	}
	if k := take(m, "n p").change.cursor; k.old != 12 {
		t.Errorf("back: %+v", k)
	}
	if unread := screenOf(80, 24, "api", p, "] n"); unread.change.file != 1 {
		t.Errorf("a file that is not read yet is skipped: file %d is shown", unread.change.file)
	}
	if m = take(m, "n n"); m.change.file != 2 {
		t.Errorf("after the last hunk comes file %d", m.change.file)
	}
}

func TestACommentIsOnTheChosenLines(t *testing.T) {
	t.Parallel()
	file := screenOf(80, 24, "api", page(), "]", health())
	for keys, want := range map[string]fleet.Comment{
		"n":     {Path: "api/health.go", Side: fleet.OldSide, First: 12, Last: 12, Tree: "b", Lines: "\treturn 404"},
		"n j j": {Path: "api/health.go", Side: fleet.NewSide, First: 12, Last: 12, Tree: tree, Lines: "\tif ready {"},
		// A range with lines of both sides counts as a range of the new side.
		"n n J J J": {Path: "api/health.go", Side: fleet.NewSide, First: 43, Last: 44, Tree: tree, Lines: "\t\"/health\": health, // for the new load balancer\n\t\"/ready\": ready,"},
		"n n j K":   {Path: "api/health.go", Side: fleet.OldSide, First: 41, Last: 42, Tree: "b", Lines: "\t\"/healthz\": health, // for the old load balancer\n\t\"/x\": nothing,"},
		// Comments between the lines do not interrupt a range.
		"n j j J J": {Path: "api/health.go", Side: fleet.NewSide, First: 12, Last: 14, Tree: tree, Lines: "\tif ready {\n\t\tw.WriteHeader(http.StatusOK)\n\t}"},
		"g":         {Path: "api/health.go", Tree: tree},
		"[":         {Tree: tree},
	} {
		_, actions := does(take(file, keys, "c o k"), "enter")
		want.Text = "ok"
		if diff := cmp.Diff([]any{Act{Run: runID, Task: "api", Kind: Comment, Tree: tree, Comment: want}}, actions); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", keys, diff)
		}
	}
}

func TestACommentThatCannotBeSavedIsNotLost(t *testing.T) {
	t.Parallel()
	m, actions := does(screenOf(80, 24, "api", page(), "]", health(), "n c o k"), "enter")
	act := actions[0].(Act)
	m = take(m, "x") // press a key while the comment is being saved
	m = take(m, Done{Act: act, Err: errors.New("the server is away")})
	if got := picture(m); !strings.Contains(got, "> ok▏") || !strings.Contains(got, "✗ not saved: the server is away") {
		t.Errorf("the comment is gone:\n%s", got)
	}
	m, actions = does(m, "enter")
	if !reflect.DeepEqual(actions, []any{act}) {
		t.Errorf("%v, want %v", actions, act)
	}
	if m = take(m, Done{Act: act}); m.editor.open {
		t.Error("the editor is still open")
	}
}

func TestKeysActOnTheReview(t *testing.T) {
	t.Parallel()
	drafts := page().Review.Comments
	none := page()
	none.Review.Comments = drafts[:1]
	resolved := page()
	resolved.Review.Comments = []fleet.Comment{with(drafts[3], func(c *fleet.Comment) { c.Resolved = true })}
	merged, gone := page(), page()
	merged.Review.State, gone.Review.State = fleet.ReviewMerged, fleet.ReviewDiscarded
	act := func(a Act) []any { a.Run, a.Task, a.Tree = runID, "api", tree; return []any{a} }
	for _, c := range []struct {
		page Page
		keys string
		want []any
		says string
	}{
		{none, "a", act(Act{Kind: Approve}), ""},
		{page(), "a", nil, "2 comments not sent yet"},
		{resolved, "a", nil, "1 comment not sent yet"},
		{resolved, "s", act(Act{Kind: SendBack}), ""},
		{page(), "s", act(Act{Kind: SendBack}), ""},
		{none, "s", nil, "there is no comment to send"},
		{page(), "m", nil, "It is not approved."},
		{page(), "m y", act(Act{Kind: Merge}), ""},
		{page(), "u", nil, "only a merge or a discarded change can be undone"},
		{merged, "u y", act(Act{Kind: UndoMerge}), ""},
		{gone, "u", act(Act{Kind: Restore}), ""},
		{page(), "R", []any{Show{Run: runID, Task: "api"}}, "reading again"},
		{page(), "x n", nil, "nothing was done"},
		{page(), "x y", act(Act{Kind: Discard}), ""},
		{page(), "] v", append(act(Act{Kind: View, Path: "api/health.go", Digest: "d1"}), Read{Run: runID, Task: "api", Tree: tree, Path: "api/health_test.go"}), ""},
		{page(), "] ] v", act(Act{Kind: View, Path: "api/health_test.go"}), ""},
		{page(), "d", act(Act{Kind: Delete, Comment: drafts[3]}), ""},
		{page(), "j d", act(Act{Kind: Delete, Comment: drafts[3]}), ""},
		{page(), "j ctrl+u e ! enter", act(Act{Kind: Edit, Comment: with(drafts[3], func(c *fleet.Comment) { c.Text += "!" })}), ""},
		{page(), "r", act(Act{Kind: Resolve, Comment: with(drafts[3], func(c *fleet.Comment) { c.Resolved = true })}), ""},
		{page(), "tab", []any{Show{Run: runID, Task: "api", Since: true}}, ""},
		{page(), "N", []any{Show{Run: runID, Task: "page"}}, ""},
		{page(), "P", []any{Show{Run: runID, Task: "schema"}}, ""},
		{page(), "esc", []any{Show{Run: runID}}, "8 changes: 1 approved, 2 to review, 1 with comments, 1 sent back, 1 not ready"},
		{page(), "q", []any{program.Quit{}}, ""},
	} {
		m, got := does(screenOf(100, 40, "api", changes(), c.page), c.keys)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.keys, diff)
		}
		if !strings.Contains(picture(m), c.says) {
			t.Errorf("%s: want %q\n%s", c.keys, c.says, picture(m))
		}
	}
}

func with(c fleet.Comment, change func(*fleet.Comment)) fleet.Comment { change(&c); return c }

func TestNoCommentIsHidden(t *testing.T) {
	t.Parallel()
	p := page()
	overview := picture(screenOf(100, 80, "api", p))
	file := picture(screenOf(100, 80, "api", p, "]", health()))
	for _, c := range p.Review.Comments {
		if !strings.Contains(overview+file, c.ID+" · ") {
			t.Errorf("%s is not shown", c.ID)
		}
	}
	for _, want := range []string{"outdated", "was: func healthz() {", "agent: ✓ fixed", "agent: ✗ not fixed: the name is part of the protocol", "api/gone.go is not in this change any more"} {
		if !strings.Contains(overview+file, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	// Put the comment on a line that is in no hunk: it is shown above the hunks.
	p.Anchors[0].First, p.Anchors[0].Last = 700, 700
	if got := picture(screenOf(100, 80, "api", p, "]", health())); !strings.Contains(got, "c1 · ada · sent in round 1 · on api/health.go, line 13") {
		t.Errorf("c1 is lost:\n%s", got)
	}
}

func TestHostileTextDoesNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	p, list, f := page(), changes(), health()
	p.Task.Prompt, p.Task.Attempt.Summary, p.Task.Attempt.Denied = hostile, hostile, []string{hostile}
	for i := range p.Review.Comments {
		c := &p.Review.Comments[i]
		c.Text, c.By, c.Lines = hostile, hostile, hostile
	}
	for i := range p.Change.Files {
		p.Change.Files[i].Path, p.Change.Files[i].From = fmt.Sprint(i, hostile), hostile
	}
	for i := range list.Entries {
		list.Entries[i].Task.Name = hostile
	}
	f.Of.Path = p.Change.Files[0].Path
	for _, h := range f.Diff.Hunks {
		for i := range h.Lines {
			h.Lines[i].Text = hostile
		}
	}
	for width := 0; width < 130; width += 7 {
		for _, m := range []Model{
			screenOf(width, 40, "", list), screenOf(width, 90, "api", p), screenOf(width, 60, "api", p, "]", f, "n c"),
			screenOf(width, 30, "api", ReadFailure{Run: runID, Task: "api", Why: hostile}), screenOf(width, 5, "api", p, "x"),
		} {
			rows := m.Rows()
			if len(rows) > m.height {
				t.Fatalf("%d rows on %d", len(rows), m.height)
			}
			for _, row := range rows {
				if cells.Width(row) > width {
					t.Fatalf("%d columns on %d: %q", cells.Width(row), width, row)
				}
				if strings.ContainsFunc(row, func(c rune) bool { return unicode.IsControl(c) || c == '\u202e' }) {
					t.Fatalf("a control character is shown: %q", row)
				}
			}
		}
	}
}
