package agentsettings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

func TestAFileWithInvalidContentIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, text, want string }{
		{"claude-settings-", `[]`, "line 1: the file is an array where an object should be"},
		{"claude-settings-", `"x"`, "line 1: the file is a string where an object should be"},
		{"claude-settings-", "{\n  \"model\": \"op", "line 2, column 15: not json: "},
		{"claude-settings-", "{\n  \"a\": 1", "line 2, column 9: not json: "},
		{"claude-settings-", "{} {}", "line 1, column 4: not json: "},
		{"claude-settings-", "{\"a\": 1 /* and so on }", "line 1, column 9: not json: "},
		{"claude-settings-", "{,}", "line 1, column 2: not json: "},
		{"claude-settings-", "{\n\"hooks\": \"none\"}", "line 2: hooks is a string where an object should be"},
		{"claude-settings-", "{\"hooks\": []}", "line 1: hooks is an array where an object should be"},
		{"claude-settings-", "{\"hooks\": null}", "line 1: hooks is null where an object should be"},
		{"claude-settings-", "{\"hooks\": {\n\"Stop\": {}}}", "line 2: hooks.Stop is an object where an array should be"},
		{"claude-settings-", "\xff\xfe{\x00}\x00", "line 1, column 1: not json: "},
		{"claude-mcp-", "{\"mcpServers\": 1}", "line 1: mcpServers is a number where an object should be"},
		{"codex-config-", "a = 1\nb = \"x", "line 2, column 6: not toml: unterminated basic string"},
		{"codex-config-", "a = 1\na = 2\n", "line 2, column 1: not toml: key a is already defined"},
		{"codex-config-", "[x]\n[x]\n", "line 2, column 2: not toml: table x already exists"},
		{"codex-config-", "a = [1,\n", "line 1, column 8: not toml: array is incomplete"},
		{"codex-config-", "[[a] ]\n", "line 1, column 4: not toml: expected ']]' to close array table name"},
		{"codex-config-", "a = yes\n", "line 1, column 5: not toml: unexpected character U+0079 'y' at start of value"},
		{"codex-config-", "a = '''x\n", "line 1, column 9: not toml: multiline literal string not terminated by '''"},
		{"codex-config-", "mcp_servers = 5\n", "line 1: mcp_servers is no table where a table should be"},
		{"codex-config-", "[[mcp_servers]]\nx = 1\n", "line 1: mcp_servers is no table where a table should be"},
		{"codex-config-", "a = \"\xff\"\n", "line 1, column 6: not toml: invalid UTF-8 character in basic string"},
	} {
		root, e := t.TempDir(), editor(t)
		f := theFile(t, wish(), root, c.kind)
		put(t, f.Path, []byte(c.text))
		_, err := e.Plan([]File{f})
		if err == nil || !strings.HasPrefix(err.Error(), f.Path+": "+c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
		if got := get(t, f.Path); !bytes.Equal(got, []byte(c.text)) {
			t.Errorf("%s became %s", c.text, got)
		}
		if _, err := os.Stat(e.Dir); err == nil {
			t.Errorf("%s: a journal was begun", c.text)
		}
	}
}

// Code that scans all of the following text for each comment would take many minutes for this file.
func TestManyUnclosedCommentsAreRefusedQuickly(t *testing.T) {
	t.Parallel()
	text := `{"a": 1} ` + strings.Repeat("/*x ", 2_000_000)
	begun := time.Now()
	_, err := Plan(JSON, []byte(text), nil, []Entry{wish().jsonServer()})
	if took := time.Since(begun); took > testenv.Patience {
		t.Errorf("took %s", took)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "line 1, column 10: not json: ") {
		t.Errorf("%v", err)
	}
}

func TestAPathThatIsNotARegularFileIsRefused(t *testing.T) {
	t.Parallel()
	root, e := t.TempDir(), editor(t)
	f := theFile(t, wish(), root, "codex-hooks-")
	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Plan([]File{f}); err == nil || !strings.Contains(err.Error(), "is a folder, not a document") {
		t.Errorf("a folder: %v", err)
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../nowhere/hooks.json", f.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Plan([]File{f}); err == nil || !strings.Contains(err.Error(), "is a link to ../nowhere/hooks.json, which is not there") {
		t.Errorf("a link to nowhere: %v", err)
	}
}

func TestAFileThatWeCreatedIsDeletedByUndo(t *testing.T) {
	t.Parallel()
	root, e := t.TempDir(), editor(t)
	files := append(wish().ProjectFiles(root, Programs()), wish().IgnoreFile(root))
	do(t, e, files...)
	for _, f := range files {
		assertHoldsAll(t, f, nil, get(t, f.Path))
	}
	undo(t, e, files...)
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if data := get(t, filepath.Join(e.Dir, "journal.json")); bytes.Contains(data, []byte("splices")) {
		t.Errorf("the journal still has %s", data)
	}
}

func TestAFolderThatWeCreatedStaysIfItIsNowALink(t *testing.T) {
	t.Parallel()
	root, e := t.TempDir(), editor(t)
	f := theFile(t, wish(), root, "codex-hooks-")
	do(t, e, f)
	folder, moved := filepath.Dir(f.Path), filepath.Join(root, "dotfiles")
	if err := errors.Join(os.Rename(folder, moved), os.Symlink(moved, folder)); err != nil {
		t.Fatal(err)
	}
	undo(t, e, f)
	if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if _, err := os.Readlink(folder); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheOwnerCanReadTheJournal(t *testing.T) {
	t.Parallel()
	e := editor(t)
	state := filepath.Join(t.TempDir(), "state", "gaffer")
	e.Dir = filepath.Join(state, "init")
	do(t, e, theFile(t, wish(), t.TempDir(), "claude-settings-"))
	for _, dir := range []string{filepath.Dir(state), state, e.Dir} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

func TestAFileThatWeCreatedStaysIfOtherProgramsUseIt(t *testing.T) {
	t.Parallel()
	root, e := t.TempDir(), editor(t)
	f := theFile(t, wish(), root, "claude-settings-")
	do(t, e, f)
	put(t, f.Path, touched(t, JSON, get(t, f.Path)))
	undo(t, e, f)
	if got := decode(t, JSON, get(t, f.Path)); !contains(got, map[string]any{"theirs": json.Number("1")}) || len(got.(map[string]any)) != 1 {
		t.Errorf("left %v", got)
	}
}

func TestANewerGafferUpdatesItsOwnInPlace(t *testing.T) {
	t.Parallel()
	for name, old := range examples(t) {
		root, e := t.TempDir(), editor(t)
		f := theFile(t, wish(), root, name)
		if f.Format == Lines {
			continue
		}
		put(t, f.Path, old)
		do(t, e, f)
		first := get(t, f.Path)
		newer := wish()
		newer.Argv, newer.Shell = []string{"/opt/my tools/gaffer"}, "'/opt/my tools/gaffer'"
		f = theFile(t, newer, root, name)
		do(t, e, f)
		second := get(t, f.Path)
		want := bytes.ReplaceAll(bytes.ReplaceAll(first,
			[]byte("gaffer hook"), []byte("'/opt/my tools/gaffer' hook")), []byte("gaffer statusline"), []byte("'/opt/my tools/gaffer' statusline"))
		for _, before := range []string{`"command": `, `"command":`, `command = `} {
			want = bytes.ReplaceAll(want, []byte(before+`"gaffer"`), []byte(before+`"/opt/my tools/gaffer"`))
		}
		if !bytes.Equal(second, want) {
			t.Errorf("%s became\n%s, want\n%s", name, second, want)
		}
		undo(t, e, f)
		if back := get(t, f.Path); !bytes.Equal(back, old) {
			t.Errorf("%s came back as\n%s", name, back)
		}
	}
}

func TestAnEntryOfAnotherProgramStaysUnlessForced(t *testing.T) {
	t.Parallel()
	name := "claude-settings-13-own-statusline.json"
	old := examples(t)[name]
	root, e := t.TempDir(), editor(t)
	f := theFile(t, wish(), root, name)
	put(t, f.Path, old)
	edits := do(t, e, f)
	if got := edits[0].Kept; len(got) != 1 || got[0] != "status line" {
		t.Errorf("kept %q", got)
	}
	if !bytes.Contains(get(t, f.Path), []byte("~/.claude/statusline.sh")) {
		t.Errorf("it is gone:\n%s", get(t, f.Path))
	}
	w := wish()
	w.Status = StatusLineReplace
	f = theFile(t, w, root, name)
	do(t, e, f)
	if made := get(t, f.Path); bytes.Contains(made, []byte("statusline.sh")) || !bytes.Contains(made, []byte("gaffer statusline --fleet")) {
		t.Errorf("it was not replaced:\n%s", made)
	}
	made := get(t, f.Path)
	undo(t, e, f)
	if back := get(t, f.Path); !bytes.Equal(back, old) {
		t.Errorf("came back as\n%s", back)
	}
	do(t, e, f)
	put(t, f.Path, touched(t, JSON, made))
	undo(t, e, f)
	if back := get(t, f.Path); !bytes.Equal(back, touched(t, JSON, old)) {
		t.Errorf("after a change by others it came back as\n%s", back)
	}
}

func TestUndoRestoresAReplacedStatusLineAfterTwoChanges(t *testing.T) {
	t.Parallel()
	name := "claude-settings-13-own-statusline.json"
	old := examples(t)[name]
	for _, second := range []StatusLine{StatusLineReplace, StatusLineIfFree, StatusLineLeave} {
		root, e := t.TempDir(), editor(t)
		w := wish()
		w.Status = StatusLineReplace
		f := theFile(t, w, root, name)
		put(t, f.Path, old)
		do(t, e, f)
		put(t, f.Path, touched(t, JSON, get(t, f.Path)))
		w.Argv, w.Shell, w.Status = []string{"/opt/gaffer"}, "/opt/gaffer", second
		f = theFile(t, w, root, name)
		do(t, e, f)
		if ours := bytes.Contains(get(t, f.Path), []byte("/opt/gaffer statusline")); ours != (second == StatusLineReplace) {
			t.Errorf("%d: the second time made it\n%s", second, get(t, f.Path))
		}
		put(t, f.Path, touched(t, JSON, get(t, f.Path)))
		undo(t, e, f)
		if back := get(t, f.Path); !bytes.Equal(back, touched(t, JSON, touched(t, JSON, old))) {
			t.Errorf("%d: came back as\n%s", second, back)
		}
	}
}

func TestOurEntriesAreRecognizedWithoutAJournal(t *testing.T) {
	t.Parallel()
	for name, old := range examples(t) {
		root := t.TempDir()
		f := theFile(t, wish(), root, name)
		put(t, f.Path, old)
		do(t, editor(t), f)
		other := editor(t) // the editor of another user of the same repository
		if edits := do(t, other, f); edits[0].Changes() {
			t.Errorf("%s: added once more", name)
		}
		undo(t, other, f)
		if left := decode(t, f.Format, get(t, f.Path)); !contains(left, prune(decode(t, f.Format, old))) {
			t.Errorf("%s: left\n%s", name, get(t, f.Path))
		}
	}
}

func TestConcurrentWritesOfAProgramAreNotLost(t *testing.T) {
	t.Parallel()
	root, e := t.TempDir(), editor(t)
	f := theFile(t, wish(), root, "claude-mcp-")
	put(t, f.Path, []byte("{\n  \"numStartups\": 1\n}\n"))
	edits, err := e.Plan([]File{f})
	if err != nil {
		t.Fatal(err)
	}
	put(t, f.Path, []byte("{\n  \"numStartups\": 2\n}\n"))
	if err := e.Apply(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	if got := decode(t, JSON, get(t, f.Path)); !contains(got, map[string]any{"numStartups": json.Number("2"), "mcpServers": map[string]any{"gaffer": map[string]any{"command": "gaffer"}}}) {
		t.Errorf("got %v", got)
	}
	undo(t, e, f)
	if got := string(get(t, f.Path)); got != "{\n  \"numStartups\": 2\n}\n" {
		t.Errorf("came back as %q", got)
	}
	edits, err = e.Plan([]File{f})
	if err != nil {
		t.Fatal(err)
	}
	put(t, f.Path, []byte(`{"mcpServers": {"gaffer": {"command": "mine"}}}`))
	if err := e.Apply(t.Context(), edits); err == nil || !strings.Contains(err.Error(), "was changed by another program meanwhile") {
		t.Errorf("another server of the name: %v", err)
	}
}
