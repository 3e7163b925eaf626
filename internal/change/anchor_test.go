package change

import (
	"strings"
	"testing"

	"gaffer/fleet"
)

func TestACommentFollowsItsLines(t *testing.T) {
	t.Parallel()
	text := numbered("line", 30)
	block := "line 5\nline 6\n"
	functions := "func a() {\n\treturn nil\n}\n\nfunc b() {\n\treturn nil\n}\n"
	for name, c := range map[string]struct {
		before, after string
		first, last   int
		want          fleet.Anchor // expected anchor, without Comment, Path and Side
	}{
		"unchanged":                     {text, text, 5, 6, fleet.Anchor{First: 5, Last: 6}},
		"inserted directly before":      {text, strings.Replace(text, block, "new\n"+block, 1), 5, 6, fleet.Anchor{First: 6, Last: 7}},
		"inserted directly after":       {text, strings.Replace(text, block, block+"new\n", 1), 5, 6, fleet.Anchor{First: 5, Last: 6}},
		"inserted between":              {text, strings.Replace(text, block, "line 5\nnew\nline 6\n", 1), 5, 6, fleet.Anchor{First: 5, Last: 7, Outdated: true}},
		"deleted before":                {text, strings.Replace(text, "line 1\nline 2\n", "", 1), 5, 6, fleet.Anchor{First: 3, Last: 4}},
		"inserted at the top":           {text, "new\n" + text, 1, 1, fleet.Anchor{First: 2, Last: 2}},
		"changed itself":                {text, strings.Replace(text, "line 5\n", "line five\n", 1), 5, 5, fleet.Anchor{First: 5, Last: 5, Outdated: true}},
		"replaced by more lines":        {text, strings.Replace(text, "line 5\n", "a\nb\nc\n", 1), 5, 5, fleet.Anchor{First: 5, Last: 7, Outdated: true}},
		"deleted itself":                {text, strings.Replace(text, block, "", 1), 5, 6, fleet.Anchor{First: 4, Last: 4, Outdated: true}},
		"moved down":                    {text, strings.Replace(text, block, "", 1) + block, 5, 6, fleet.Anchor{First: 29, Last: 30}},
		"moved and changed before":      {text, "new\n" + strings.Replace(text, block, "", 1) + block, 5, 6, fleet.Anchor{First: 30, Last: 31}},
		"copied twice and deleted":      {text, block + strings.Replace(text, block, "", 1) + block, 5, 6, fleet.Anchor{First: 6, Last: 6, Outdated: true}},
		"indented":                      {text, "if x {\n\t" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n\t") + "\n}\n", 5, 6, fleet.Anchor{First: 6, Last: 7}},
		"the same text elsewhere":       {functions, strings.Replace(functions, "\treturn nil\n}\n\nfunc b", "\treturn err\n}\n\nfunc b", 1), 2, 2, fleet.Anchor{First: 2, Last: 2, Outdated: true}},
		"a bracket that was moved":      {functions, strings.Replace(functions, "}\n\n", "\n", 1) + "}\n", 3, 3, fleet.Anchor{First: 2, Last: 2, Outdated: true}},
		"everything else was deleted":   {text, block, 5, 6, fleet.Anchor{First: 1, Last: 2}},
		"all lines were deleted":        {text, "", 5, 6, fleet.Anchor{Outdated: true}},
		"the last line, without an end": {"a\nb", "a\nb\n", 2, 2, fleet.Anchor{First: 2, Last: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(t, nil)
			w.Write(w.dir, "f", c.before)
			old := w.change()
			// Change every line in between: only the first and the last tree may matter.
			w.Write(w.dir, "f", strings.ToUpper(c.before)+"\n")
			w.change()
			w.Write(w.dir, "f", c.after)
			got := w.anchor(fleet.Comment{Path: "f", Side: fleet.NewSide, First: c.first, Last: c.last, Tree: old.Tree})
			c.want.Comment, c.want.Path, c.want.Side = "c1", "f", fleet.NewSide
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func (w work) anchor(comment fleet.Comment) fleet.Anchor {
	w.Helper()
	comment.ID = "c1"
	list, err := w.reader().Anchors(w.Context(), w.change(), []fleet.Comment{comment})
	if err != nil || len(list) != 1 {
		w.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

func TestACommentFollowsItsFile(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"old": numbered("line", 30), "gone": "1\n"})
	w.Write(w.dir, "old", numbered("line", 31))
	w.Write(w.dir, "gone", "2\n")
	tree := w.change().Tree
	w.Git(w.dir, "mv", "old", "new")
	w.Write(w.dir, "new", "top\n"+numbered("line", 31))
	w.Git(w.dir, "rm", "--quiet", "-f", "gone")
	for name, c := range map[string]struct{ comment, want fleet.Comment }{
		"lines of a renamed file": {fleet.Comment{Path: "old", Side: fleet.NewSide, First: 4, Last: 4, Tree: tree}, fleet.Comment{Path: "new", Side: fleet.NewSide, First: 5, Last: 5}},
		"a renamed file":          {fleet.Comment{Path: "old", Side: fleet.NewSide, Tree: tree}, fleet.Comment{Path: "new", Side: fleet.NewSide}},
		"the whole change":        {fleet.Comment{Tree: tree}, fleet.Comment{}},
		"by text alone":           {fleet.Comment{Path: "new", Side: fleet.NewSide, First: 4, Last: 4, Lines: "line 9", Tree: strings.Repeat("1", 40)}, fleet.Comment{Path: "new", Side: fleet.NewSide, First: 10, Last: 10}},
	} {
		got := w.anchor(c.comment)
		if want := (fleet.Anchor{Comment: "c1", Path: c.want.Path, Side: c.want.Side, First: c.want.First, Last: c.want.Last}); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	w.Write(w.dir, "new", "\x00")
	w.Write(w.dir, "old", numbered("line", 31))
	binary := w.anchor(fleet.Comment{Path: "old", Side: fleet.NewSide, First: 4, Last: 4, Tree: tree})
	if binary != (fleet.Anchor{Comment: "c1", Path: "old", Side: fleet.NewSide, First: 4, Last: 4}) {
		t.Errorf("back to what it was: %+v", binary)
	}
	w.Write(w.dir, "old", "\x00")
	binary = w.anchor(fleet.Comment{Path: "old", Side: fleet.NewSide, First: 4, Last: 4, Tree: tree})
	if binary != (fleet.Anchor{Comment: "c1", Path: "old", Side: fleet.NewSide, Outdated: true}) {
		t.Errorf("not text any more: %+v", binary)
	}
	for _, tree := range []string{tree, "", strings.Repeat("1", 40)} {
		got := w.anchor(fleet.Comment{Path: "gone", Side: fleet.NewSide, First: 1, Last: 1, Lines: "2", Tree: tree})
		if got != (fleet.Anchor{Comment: "c1", Path: "gone", Side: fleet.NewSide, Outdated: true}) {
			t.Errorf("gone, tree %q: %+v", tree, got)
		}
	}
}

func TestACommentOnTheOldSideFollowsTheBase(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"f": numbered("line", 30)})
	w.Write(w.dir, "f", strings.Replace(numbered("line", 30), "line 9\n", "", 1))
	w.Commit(w.dir, "work")
	old := w.change()
	w.Write(w.Dir, "f", "top\n"+numbered("line", 30))
	w.Commit(w.Dir, "meanwhile")
	w.Git(w.dir, "rebase", "--quiet", "main")
	for _, tree := range []string{old.Tree, old.Base} {
		got := w.anchor(fleet.Comment{Path: "f", Side: fleet.OldSide, First: 9, Last: 9, Tree: tree})
		if got != (fleet.Anchor{Comment: "c1", Path: "f", Side: fleet.OldSide, First: 10, Last: 10}) {
			t.Errorf("tree %s: %+v", tree, got)
		}
	}
}
