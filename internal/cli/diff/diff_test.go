package diff

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
)

// reviewed is a fleet with one task. The user has reviewed the task's change at tree seen, or never
// if seen is empty.
type reviewed struct {
	openfleet.Fleet
	seen  string
	files []fleet.ChangeFile
}

func (reviewed) FindTask(context.Context, string) (fleet.Task, error) {
	return fleet.Task{Run: "r", ID: "api"}, nil
}

func (r reviewed) Change(_ context.Context, _, _ string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	v := fleet.TaskChange{Change: fleet.Change{Tree: "now", Files: []fleet.ChangeFile{{Path: "old", Status: "changed"}, {Path: "new", Status: "changed"}}}}
	v.Review.Seen = r.seen
	if q.Since != "" {
		v.Change.Files = r.files
	}
	return v, nil
}

func (reviewed) ChangedFile(_ context.Context, _, _ string, q fleet.FileQuery) (fleet.FileChange, error) {
	line := fleet.DiffLine{Op: "+", Text: q.Path + " from " + q.From + " to " + q.Tree}
	return fleet.FileChange{ChangeFile: fleet.ChangeFile{Path: q.Path, Status: "changed"}, Hunks: []fleet.Hunk{{NewFirst: 1, NewLines: 1, Lines: []fleet.DiffLine{line}}}}, nil
}

func TestOnlyWhatIsNewSinceTheReviewIsShown(t *testing.T) {
	t.Parallel()
	var out, talk bytes.Buffer
	e := &env.Env{Out: &out, Err: &talk, Getenv: func(string) string { return "" }}
	o := options{sinceReview: true}
	if err := show(t.Context(), e, reviewed{}, "api", o); exit.Of(err) != exit.CodeNotFound {
		t.Errorf("before any review: %v", err)
	}
	if err := show(t.Context(), e, reviewed{seen: "seen", files: []fleet.ChangeFile{{Path: "new"}}}, "api", o); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "+new from seen to now\n") || strings.Contains(got, "old") {
		t.Errorf("%s", got)
	}
	out.Reset()
	if err := show(t.Context(), e, reviewed{seen: "seen"}, "api", o); err != nil || out.Len() > 0 || !strings.Contains(talk.String(), "nothing since your last review") {
		t.Errorf("nothing new: %v, %s, %s", err, out.String(), talk.String())
	}
}

func TestAFileThatBecameALinkIsDeletedAndAdded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	line := func(op string) []fleet.DiffLine { return []fleet.DiffLine{{Op: op, Text: "x", NoEOL: op == "+"}} }
	f := fleet.FileChange{ChangeFile: fleet.ChangeFile{Path: "a b\n", Status: "type", OldMode: "100644", NewMode: "120000"}, Hunks: []fleet.Hunk{
		{OldFirst: 1, OldLines: 1, Lines: line("-")}, {NewFirst: 1, NewLines: 1, Lines: line("+")},
	}}
	if err := (printer{out: &out}).file(f); err != nil {
		t.Fatal(err)
	}
	want := `diff --git "a/a b\n" "b/a b\n"
deleted file mode 100644
--- "a/a b\n"
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git "a/a b\n" "b/a b\n"
new file mode 120000
--- /dev/null
+++ "b/a b\n"
@@ -0,0 +1 @@
+x
\ No newline at end of file
`
	if got := out.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
