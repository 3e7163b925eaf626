package worktree

import (
	"os"
	"reflect"
	"testing"

	"gaffer/internal/git"
)

func TestWhatATaskHasChangedIsListedByFile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "done.txt", "1\n2\n3\n")
	p.Write(tree.Path, "shared.txt", "one\nthree\n")
	p.Write(tree.Path, "folder/with\ttab.txt", "new\n")
	p.Write(tree.Path, "picture.bin", "\x00\x01\x02")
	p.Write(tree.Path, "noise.log", "ignored\n")
	index := p.Read(p.Dir, ".git/worktrees/a/index")
	list, there, err := p.repo.Diff(t.Context(), tree.Run, tree.Task)
	want := []git.FileDiff{
		{Path: "done.txt", Insertions: 3}, {Path: "folder/with\ttab.txt", Insertions: 1}, {Path: "picture.bin"}, {Path: "shared.txt", Deletions: 1},
	}
	if err != nil || !there || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v, %v", list, there, err)
	}
	if p.Read(p.Dir, ".git/worktrees/a/index") != index {
		t.Error("it wrote the index")
	}
	fresh := p.create("b")
	if list, there, err := p.repo.Diff(t.Context(), fresh.Run, "b"); err != nil || !there || len(list) > 0 {
		t.Errorf("of a fresh one: %+v, %v, %v", list, there, err)
	}
}

func TestATaskWithoutATreeHasNothingChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"a", "never"} {
		if list, there, err := p.repo.Diff(t.Context(), tree.Run, task); err != nil || there || len(list) > 0 {
			t.Errorf("%s: %+v, %v, %v", task, list, there, err)
		}
	}
}
