package change

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/attempt/snapshot"
	"gaffer/internal/git"
)

// numbered returns lines "NAME 1" to "NAME n".
func numbered(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", name, i+1)
	}
	return b.String()
}

func TestAChangeHasEveryKindOfFile(t *testing.T) {
	t.Parallel()
	hostile := "<b>\"x\"\t\n\x1b[31m -- \xff"
	w := newWork(t, map[string]string{
		"changed.go": numbered("line", 40), "deleted": "gone\n", "old name": numbered("renamed", 20), "source": numbered("copied", 20),
		"tool.sh": "echo\n", "becomes a link": "text\n", "binary": "\x00\x01", "no end": "a\nb", "sql": "-- one\n-- two\n", hostile: "1\n", "kept": "kept\n",
		"dir/[a]*?": "glob\n", "dir/a": "other\n",
	})
	link := strings.Repeat("1", 40)
	if err := os.Mkdir(filepath.Join(w.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.Git(w.dir, "update-index", "--add", "--cacheinfo", "160000,"+link+",sub")
	w.Git(w.dir, "mv", "old name", "new name")
	w.Write(w.dir, "new name", numbered("renamed", 20)+"more\n")
	w.Write(w.dir, "source", numbered("copied", 19)+"other\n")
	w.Write(w.dir, "copy", numbered("copied", 20))
	w.Write(w.dir, "changed.go", strings.Replace(numbered("line", 40), "line 2\n", "line two\nand a half\n", 1))
	w.Commit(w.dir, "first half")
	for _, name := range []string{"deleted", "becomes a link"} {
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("kept", filepath.Join(w.dir, "becomes a link")), os.Chmod(filepath.Join(w.dir, "tool.sh"), 0o755)); err != nil {
		t.Fatal(err)
	}
	w.Write(w.dir, "binary", "\x00\x02")
	w.Write(w.dir, "no end", "a\nB")
	w.Write(w.dir, "sql", "-- one\n++ three\n")
	w.Write(w.dir, hostile, "2\n")
	w.Write(w.dir, "dir/[a]*?", "globs\n")
	w.Write(w.dir, "dir/a", "others\n")
	w.Write(w.dir, "untracked/deep", "new\n")

	c := w.change()
	want := "changed " + hostile + "\ntype becomes a link\nchanged binary\nchanged changed.go\ncopied copy source\ndeleted deleted\nchanged dir/[a]*?\nchanged dir/a\n" +
		"renamed new name old name\nchanged no end\nchanged source\nchanged sql\nadded sub\nchanged tool.sh\nadded untracked/deep\n"
	if got := shown(c); got != want {
		t.Errorf("files are\n%s\nwant\n%s", got, want)
	}
	if len(c.Commits) != 1 || c.Commits[0].Subject != "first half" || !c.Dirty || c.Tip != w.Git(w.dir, "rev-parse", "HEAD") || c.Base != w.Git(w.Dir, "rev-parse", "main") {
		t.Errorf("%+v, dirty %v, base %s, tip %s", c.Commits, c.Dirty, c.Base, c.Tip)
	}
	added, removed, digests := 0, 0, map[string]bool{}
	for _, f := range c.Files {
		added, removed, digests[f.Digest] = added+f.Added, removed+f.Removed, true
		checkFile(w, c, f)
	}
	if added != c.Added || removed != c.Removed || len(digests) != len(c.Files) {
		t.Errorf("+%d -%d, want +%d -%d; %d digests of %d files", c.Added, c.Removed, added, removed, len(digests), len(c.Files))
	}
	if f := w.file(c, string([]rune(hostile)), Options{}); f.Path != hostile {
		t.Errorf("by its name in JSON: %q", f.Path)
	}
	if f := w.file(c, "tool.sh", Options{}); f.OldMode != "100644" || f.NewMode != "100755" || f.Hunks != nil {
		t.Errorf("mode: %+v", f)
	}
	if f := w.file(c, "no end", Options{}); !f.Hunks[0].Lines[1].NoEOL || !f.Hunks[0].Lines[2].NoEOL || f.Hunks[0].Lines[0].NoEOL {
		t.Errorf("no end of line: %+v", f.Hunks)
	}
	if f := w.file(c, "sub", Options{}); f.Hunks[0].Lines[0].Text != "Subproject commit "+link {
		t.Errorf("submodule: %+v", f.Hunks)
	}
	if f := w.file(c, "changed.go", Options{}); len(f.Hunks) != 1 || f.Hunks[0].OldFirst != 1 || f.Hunks[0].OldLines != 5 || f.Hunks[0].NewLines != 6 {
		t.Errorf("usual context: %+v", f.Hunks)
	}
	if f := w.file(c, "changed.go", Options{Context: 1000}); f.Hunks[0].OldLines != 40 {
		t.Errorf("whole file: %+v", f.Hunks)
	}
	missing := (*git.MissingError)(nil)
	if _, err := w.reader().File(t.Context(), c, "kept", Options{}); !errors.As(err, &missing) {
		t.Errorf("a file that is not in the change: %v", err)
	}
	if again := w.change(); again.Tree != c.Tree {
		t.Errorf("tree %s, then %s", c.Tree, again.Tree)
	}
	if refs := w.Git(w.Dir, "for-each-ref", "--format=%(refname)", "refs/gaffer/review"); refs != "refs/gaffer/review/run1/a/1" {
		t.Errorf("refs are %s", refs)
	}
	if got := w.Git(w.dir, "status", "--porcelain", "sql"); got != "M sql" {
		t.Errorf("the worktree's own index was changed: %q", got)
	}
}

// checkFile fails the test unless the hunks of a file turn its old content into its new content.
func checkFile(w work, c fleet.Change, of fleet.ChangeFile) {
	w.Helper()
	f := w.file(c, of.Path, Options{Context: 1_000_000})
	if f.Binary != (of.Path == "binary") {
		w.Errorf("%q: binary is %v", of.Path, f.Binary)
	}
	if f.Binary || len(f.Hunks) == 0 || f.NewMode == "160000" {
		return
	}
	var before, after bytes.Buffer
	for _, h := range f.Hunks {
		for _, line := range h.Lines {
			text := line.Text
			if !line.NoEOL {
				text += "\n"
			}
			if line.Op != "+" {
				before.WriteString(text)
			}
			if line.Op != "-" {
				after.WriteString(text)
			}
		}
	}
	for blob, got := range map[string]string{f.OldBlob: before.String(), f.NewBlob: after.String()} {
		if blob == "" {
			continue
		}
		want, err := w.reader().Blob(w.Context(), blob)
		if err != nil || got != string(want) {
			w.Errorf("%q: hunks have %q, want %q, %v", of.Path, got, want, err)
		}
	}
}

func TestLargeFilesAndLinesAreNotShownAndSaySo(t *testing.T) {
	t.Parallel()
	w := newWork(t, nil)
	w.Write(w.dir, "large", strings.Repeat("0123456789abcde\n", maxBlob/16+1))
	w.Write(w.dir, "lines", strings.Repeat("x\n", maxDiffLines+1))
	w.Write(w.dir, "long", "short\n"+strings.Repeat("x", maxLineBytes+1)+"\n")
	c := w.change()
	for path, says := range map[string]string{"large": "the file has 5 MB", "lines": "the diff has 20001 lines", "long": "a line has 20001 bytes"} {
		f := w.file(c, path, Options{})
		if !strings.Contains(f.TooLarge, says) || f.Hunks != nil || f.Binary {
			t.Errorf("%s: %q, %d hunks, binary %v", path, f.TooLarge, len(f.Hunks), f.Binary)
		}
	}
	large := (*LargeError)(nil)
	if _, err := w.reader().Blob(t.Context(), c.Files[0].NewBlob); !errors.As(err, &large) {
		t.Errorf("blob: %v", err)
	}
}

func TestSecurityNothingThatTheRepositoryNamesIsRunOrObeyed(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	w.Write(w.dir, "a.txt", "ONE\n")
	w.Commit(w.dir, "work")
	want := w.change()
	trace := filepath.Join(t.TempDir(), "trace")
	program := filepath.Join(t.TempDir(), "planted")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >>'"+trace+"'\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"diff.external": program + " external", "diff.evil.command": program + " command", "diff.evil.textconv": program + " textconv",
		"diff.evil.binary": "true", "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.renames": "false", "diff.context": "0",
		"filter.evil.clean": program + " clean", "filter.evil.smudge": program + " smudge", "filter.evil.required": "true",
		"core.fsmonitor": program + " fsmonitor", "core.hooksPath": filepath.Dir(program), "core.attributesFile": filepath.Join(w.dir, "attributes"),
		"color.ui": "always", "core.pager": program + " pager", "core.quotePath": "false", "remote.origin.promisor": "true",
		"remote.origin.url": "ext::" + program + " fetch", "protocol.ext.allow": "always",
	} {
		w.Git(w.Dir, "config", key, value)
	}
	for _, hook := range []string{"reference-transaction", "post-index-change"} {
		for _, dir := range []string{filepath.Dir(program), filepath.Join(w.Dir, ".git", "hooks")} {
			w.Write(dir, hook, "#!/bin/sh\n"+program+" hook\n")
			if err := os.Chmod(filepath.Join(dir, hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	attributes := "* diff=evil filter=evil merge=evil\n*.txt -diff\n"
	w.Write(w.dir, "attributes", attributes)
	w.Write(w.Dir, ".gitattributes", attributes)
	w.Write(w.Dir, ".git/info/attributes", attributes)
	// gaffer must ignore git's replacements: with one, gaffer would show another content than the
	// content that it merges.
	w.Git(w.Dir, "-c", "core.hooksPath=/dev/null", "replace", want.Files[0].NewBlob, want.Files[0].OldBlob)
	w.Write(w.dir, "b.txt", "TWO\n")
	_ = os.Remove(trace) // git replace itself may run programs, but gaffer may not

	c := w.change()
	if got := shown(c); got != "changed a.txt\nadded attributes\nchanged b.txt\n" {
		t.Errorf("files are\n%s", got)
	}
	for path, line := range map[string]string{"a.txt": "ONE", "b.txt": "TWO"} {
		f := w.file(c, path, Options{})
		if len(f.Hunks) != 1 || f.Hunks[0].Lines[1].Text != line {
			t.Errorf("%s: %+v", path, f)
		}
	}
	if _, err := w.reader().Anchors(t.Context(), c, []fleet.Comment{{ID: "c1", Path: "a.txt", Side: fleet.NewSide, First: 1, Last: 1, Tree: want.Tree}}); err != nil {
		t.Error(err)
	}
	if said, err := os.ReadFile(trace); err == nil {
		t.Errorf("a program of the repository ran:\n%s", said)
	}
}

func TestAChangeSinceAnEarlierTreeHasOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"a": "1\n", "b": "1\n"})
	w.Write(w.dir, "a", "2\n")
	w.Write(w.dir, "b", "2\n")
	first := w.change()
	w.Write(w.dir, "b", "3\n")
	w.Write(w.dir, "c", "1\n")
	c := w.change()
	since, err := w.reader().Since(t.Context(), c, first.Tree)
	if err != nil || shown(since) != "changed b\nadded c\n" || since.Added != 2 || since.Removed != 1 {
		t.Errorf("%s%+v, %v", shown(since), since, err)
	}
	if since.Files[0].Digest != c.Files[1].Digest {
		t.Error("the digest is not that of the whole change, which marks files as viewed")
	}
	f := w.file(c, "b", Options{From: first.Tree})
	if f.Hunks[0].Lines[0].Text != "2" || f.Hunks[0].Lines[1].Text != "3" {
		t.Errorf("%+v", f.Hunks)
	}
	if at, err := w.reader().At(t.Context(), "run1", "a", first.Tree); err != nil || shown(at) != "changed a\nchanged b\n" {
		t.Errorf("at the first tree: %+v, %v", at, err)
	}
	missing := (*git.MissingError)(nil)
	for _, tree := range []string{"", "main", "--all", strings.Repeat("1", 40)} {
		if _, err := w.reader().Since(t.Context(), c, tree); !errors.As(err, &missing) {
			t.Errorf("since %q: %v", tree, err)
		}
	}
}

func TestAChangeOutlivesItsWorktreeAndGit(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"a": "1\n"})
	missing := (*git.MissingError)(nil)
	if _, err := w.reader().Change(t.Context(), "run1", "other"); !errors.As(err, &missing) {
		t.Errorf("a task without a worktree: %v", err)
	}
	w.Write(w.dir, "a", "2\n")
	if list, _, err := snapshot.OfAttempt(t.Context(), w.repo, "run1", "a", 1); err != nil || len(list) != 1 || list[0] != (git.FileDiff{Path: "a", Insertions: 1, Deletions: 1}) {
		t.Fatalf("%+v, %v", list, err)
	}
	w.Write(w.dir, "a", "3\n")
	c := w.change()
	if _, err := w.repo.Remove(t.Context(), w.tree, true); err != nil {
		t.Fatal(err)
	}
	for _, ref := range strings.Fields(w.Git(w.Dir, "for-each-ref", "--format=%(refname)", "refs/gaffer/rescue")) {
		w.Git(w.Dir, "update-ref", "-d", ref)
	}
	w.Git(w.Dir, "reflog", "expire", "--expire=now", "--all")
	w.Git(w.Dir, "gc", "--quiet", "--prune=now")
	after := w.change()
	if f := w.file(after, "a", Options{}); after.Tree != c.Tree || f.Hunks[0].Lines[1].Text != "3" {
		t.Errorf("%+v", f)
	}
	first, err := w.reader().Attempt(t.Context(), "run1", "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	if f := w.file(first, "a", Options{}); f.Hunks[0].Lines[1].Text != "2" {
		t.Errorf("attempt 1: %+v", f)
	}
	other := (*AttemptError)(nil)
	if _, err := w.reader().Attempt(t.Context(), "run1", "a", 2); !errors.As(err, &other) || !strings.HasSuffix(err.Error(), "kept are those of attempt 1") {
		t.Errorf("attempt 2: %v", err)
	}
	w.Git(w.Dir, "fsck", "--strict")
}

func TestOnlyTreesThatAreNeededAreKept(t *testing.T) {
	t.Parallel()
	w := newWork(t, nil)
	var trees []string
	for i := range 24 {
		w.Write(w.dir, "a", fmt.Sprint(i))
		trees = append(trees, w.change().Tree)
	}
	if err := w.reader().Release(t.Context(), "run1", "a", trees[1:2]); err != nil {
		t.Fatal(err)
	}
	kept, err := snapshot.List(t.Context(), w.repo, "run1", "a")
	if err != nil || len(kept) != 21 || kept[0].Tree != trees[1] || kept[1].Tree != trees[4] || kept[20].Tree != trees[23] {
		t.Errorf("%+v, %v", kept, err)
	}
}

func TestWhatTheAgentMergedFromTheUsersBranchIsNotItsChange(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"a": "1\n"})
	w.Write(w.dir, "b", "agent\n")
	w.Commit(w.dir, "work")
	w.Write(w.Dir, "c", "user\n")
	w.Commit(w.Dir, "meanwhile")
	if got := shown(w.change()); got != "added b\n" {
		t.Errorf("while main has moved: %s", got)
	}
	w.Git(w.dir, "merge", "--quiet", "--no-edit", "main")
	c := w.change()
	if got := shown(c); got != "added b\n" || c.Base != w.Git(w.Dir, "rev-parse", "main") {
		t.Errorf("after a merge of main: %s, base %s", got, c.Base)
	}
	if len(c.Commits) != 2 || c.Commits[0].Subject != "work" {
		t.Errorf("commits: %+v", c.Commits)
	}
	w.Git(w.Dir, "merge", "--quiet", "--no-ff", "--no-edit", w.tree.Branch)
	if got := shown(w.change()); got != "added b\n" {
		t.Errorf("after it was merged into main: %s", got)
	}
	w.Git(w.Dir, "reset", "--quiet", "--hard", w.tree.Branch)
	if got := shown(w.change()); !strings.Contains(got, "added b\n") {
		t.Errorf("after main was moved to it: %s", got)
	}
}
