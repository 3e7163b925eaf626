package git_test

import (
	"slices"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
)

func (p project) changes(base, branch string) (files, commits []string) {
	p.Helper()
	files, commits, err := p.repo.Changes(p.Context(), base, branch)
	if err != nil {
		p.Fatal(err)
	}
	return files, commits
}

func TestChangesAreWhatABranchHasDoneItself(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "b.txt", "x\n")
	p.Git(a.Path, "mv", "shared.txt", "a.txt")
	p.Commit(a.Path, "move it")
	p.Write(p.Dir, "theirs.txt", "y\n")
	p.Commit(p.Dir, "work of others")
	p.Git(a.Path, "merge", "--quiet", "--no-edit", "main")
	p.Write(a.Path, "b.txt", "z\n")
	p.Commit(a.Path, "once more")
	files, commits := p.changes(a.Base, a.Branch)
	if want := []string{"a.txt", "b.txt", "shared.txt"}; !slices.Equal(files, want) {
		t.Errorf("files: %q", files)
	}
	var subjects []string
	for _, c := range commits {
		id, subject, _ := strings.Cut(c, " - ")
		if len(id) != 7 || !strings.HasPrefix(p.Git(p.Dir, "rev-parse", id), id) {
			t.Errorf("commit: %q", c)
		}
		subjects = append(subjects, subject)
	}
	if want := []string{"work of a", "move it", "once more"}; !slices.Equal(subjects, want) {
		t.Errorf("subjects: %q", subjects)
	}
}

func TestAMergeThatResolvesAConflictIsAChangeOfTheBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "of a\n")
	p.Write(p.Dir, "shared.txt", "of main\n")
	p.Write(p.Dir, "theirs.txt", "y\n")
	p.Commit(p.Dir, "work of others")
	if _, err := p.repo.Git.In(a.Path).Run(t.Context(), "merge", "--quiet", "main"); err == nil {
		t.Fatal("there is no conflict")
	}
	p.Write(a.Path, "shared.txt", "of both\n")
	p.Git(a.Path, "add", "-A")
	p.Git(a.Path, "commit", "--quiet", "-m", "resolve the conflict")
	p.Write(p.Dir, "more.txt", "z\n")
	p.Commit(p.Dir, "more work of others")
	p.Git(a.Path, "merge", "--quiet", "--no-edit", "main") // a merge without a conflict
	p.Write(a.Path, "b.txt", "z\n")
	p.Commit(a.Path, "once more")
	files, commits := p.changes(a.Base, a.Branch)
	if want := []string{"b.txt", "shared.txt"}; !slices.Equal(files, want) {
		t.Errorf("files: %q", files)
	}
	var subjects []string
	for _, c := range commits {
		_, subject, _ := strings.Cut(c, " - ")
		subjects = append(subjects, subject)
	}
	if want := []string{"work of a", "resolve the conflict", "once more"}; !slices.Equal(subjects, want) {
		t.Errorf("subjects: %q", subjects)
	}
}

func TestSettingsOfAPersonDoNotMatterForChanges(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "sub/ü.txt", "x\n")
	files, commits := p.changes(a.Base, a.Branch)
	for _, setting := range []string{"core.abbrev=12", "core.quotePath=true", "log.showSignature=true", "diff.renames=copies", "i18n.logOutputEncoding=UTF-16", "color.ui=always"} {
		name, value, _ := strings.Cut(setting, "=")
		p.Git(p.Dir, "config", name, value)
	}
	files2, commits2 := p.changes(a.Base, a.Branch)
	if !slices.Equal(files, files2) || !slices.Equal(commits, commits2) || !slices.Equal(files, []string{"sub/ü.txt"}) {
		t.Errorf("%q and %q, %q and %q", files, files2, commits, commits2)
	}
}

func TestOddNamesAndSubjectsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.create("a")
	odd := []string{" a", "\"quoted\"", "line\nbreak", "tab\t", "\xff\xfe"}
	for _, name := range odd {
		p.Write(a.Path, name, "x\n")
	}
	p.Commit(a.Path, "tab\tand \x1b[31mred "+strings.Repeat("ü", 300))
	// Write the commit object by hand, because git would convert the text to UTF-8.
	raw := "tree " + p.Git(a.Path, "rev-parse", "HEAD^{tree}") + "\nparent " + p.Git(a.Path, "rev-parse", "HEAD") +
		"\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nnot\xfftext\n"
	id, err := p.repo.Git.In(a.Path).Feed(t.Context(), raw, "hash-object", "-t", "commit", "-w", "--stdin")
	p.Must(err)
	p.Git(a.Path, "reset", "--quiet", "--hard", strings.TrimSpace(id))
	files, commits := p.changes(a.Base, a.Branch)
	if !slices.Equal(files, odd) {
		t.Errorf("files: %q", files)
	}
	if len(commits) != 2 || !strings.HasSuffix(commits[1], " - not�text") {
		t.Fatalf("commits: %q", commits)
	}
	if c := commits[0]; !strings.Contains(c, " - tab and  [31mred ü") || !strings.HasSuffix(c, "ü…") {
		t.Errorf("commit: %q", c)
	}
}

func TestChangesOfABranchThatIsNotThereAreNone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if files, commits := p.changes("main", "nothing"); len(files)+len(commits) > 0 {
		t.Errorf("%q, %q", files, commits)
	}
	if files, commits := p.changes("main", "main"); len(files)+len(commits) > 0 {
		t.Errorf("%q, %q", files, commits)
	}
	_, _, err := p.repo.Changes(t.Context(), "0123456789012345678901234567890123456789", "main")
	_ = gittest.As[*git.MissingError](t, err)
}

func TestABranchContainsWhatWasMergedIntoIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "x\n")
	tip := p.Git(a.Path, "rev-parse", "HEAD")
	for _, c := range []struct {
		branch string
		want   bool
	}{{"main", false}, {a.Branch, true}, {"nothing", false}} {
		if got, err := p.repo.Contains(t.Context(), c.branch, tip); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.branch, got, err)
		}
	}
}
