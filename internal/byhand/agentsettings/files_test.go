package agentsettings

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gaffer/statefile/host"
)

func wish() Integration {
	return Integration{
		Argv: []string{"gaffer"}, Shell: "gaffer", Answer: time.Minute,
		LocalState: []string{"/.founder-mode/status/", "/.fctry/state.json", "/coordination/"},
	}
}

// theFile returns the settings file below root that an example is for. The example's file name says
// which one.
func theFile(t *testing.T, w Integration, root, example string) File {
	t.Helper()
	files := append(w.ProjectFiles(root, Programs()), w.IgnoreFile(root))
	for i, prefix := range []string{"claude-settings-", "claude-mcp-", "codex-hooks-", "codex-config-", "gitignore-"} {
		if strings.HasPrefix(example, prefix) {
			return files[i]
		}
	}
	t.Fatalf("%s: of no known kind", example)
	return File{}
}

func examples(t *testing.T) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir("testdata/files")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join("testdata/files", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = data
	}
	if len(all) < 20 {
		t.Fatalf("%d examples, want 20 at least", len(all))
	}
	return all
}

func editor(t *testing.T) *Editor {
	return &Editor{Host: host.OS(), Dir: filepath.Join(t.TempDir(), "init")}
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o640); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// do plans the edits of the files and applies them.
func do(t *testing.T, e *Editor, files ...File) []Edit {
	t.Helper()
	edits, err := e.Plan(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	return edits
}

func undo(t *testing.T, e *Editor, files ...File) []Edit {
	t.Helper()
	edits, err := e.PlanUndo(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	return edits
}

func TestUndoRestoresFilesByteForByte(t *testing.T) {
	t.Parallel()
	for name, old := range examples(t) {
		for _, linked := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " behind a link"}[linked], func(t *testing.T) {
				root, e := t.TempDir(), editor(t)
				f := theFile(t, wish(), root, name)
				target := f.Path
				if linked {
					target = filepath.Join(root, "dotfiles", name)
					put(t, f.Path, nil) // creates the file's folder
					if err := os.Remove(f.Path); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(target, f.Path); err != nil {
						t.Fatal(err)
					}
				}
				put(t, target, old)

				edits := do(t, e, f)
				made := get(t, target)
				if bytes.Equal(made, old) {
					t.Fatal("nothing was added")
				}
				if !bytes.Equal(made, edits[0].New) {
					t.Error("it is not what was shown")
				}
				assertHoldsAll(t, f, old, made)
				if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("mode %v, %v", info.Mode(), err)
				}
				if info, err := os.Lstat(f.Path); err != nil || (info.Mode()&os.ModeSymlink != 0) != linked {
					t.Errorf("the link: %v, %v", info.Mode(), err)
				}
				if again := do(t, e, f); again[0].Changes() || !bytes.Equal(get(t, target), made) {
					t.Errorf("a second time changes it:\n%s", get(t, target))
				}

				undo(t, e, f)
				if back := get(t, target); !bytes.Equal(back, old) {
					t.Errorf("came back as\n%q, was\n%q", back, old)
				}
				if again := undo(t, e, f); again[0].Changes() {
					t.Error("a second undo changes it")
				}
				assertNoTempFiles(t, filepath.Dir(target), filepath.Base(target))
			})
		}
	}
}

// assertNoTempFiles fails the test if temporary files are left beside the file with this name.
func assertNoTempFiles(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != name && strings.Contains(e.Name(), name) {
			t.Errorf("%s was left", e.Name())
		}
	}
}

// assertHoldsAll fails the test unless the file's program can read the new content, and it has
// everything of the old content in the same order, plus the entries.
func assertHoldsAll(t *testing.T, f File, old, made []byte) {
	t.Helper()
	w, err := writerOf(f.Format)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := w.inspect(made, f.Entries); err != nil || !found.complete {
		t.Fatalf("complete %v, %v:\n%s", found.complete, err, made)
	}
	// All bytes of old must still be there in the same order: only commas and our
	// entries were inserted.
	if !isSubsequence(old, made) {
		t.Errorf("bytes are missing or elsewhere:\n%s", made)
	}
	before, after := decode(t, f.Format, old), decode(t, f.Format, made)
	if !contains(after, before) {
		t.Errorf("has not all that it had:\n%s", made)
	}
}

func isSubsequence(part, whole []byte) bool {
	for _, b := range whole {
		if len(part) > 0 && part[0] == b {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// decode parses a file in the same way as its program. For JSON that is encoding/json, which
// accepts neither comments nor trailing commas.
func decode(t *testing.T, f Format, data []byte) any {
	t.Helper()
	switch f {
	case TOML:
		text, err := parseTOML(data)
		if err != nil {
			t.Fatalf("%v:\n%s", err, data)
		}
		return withoutNaN(text.root)
	case Lines:
		m := map[string]any{}
		for line := range strings.Lines(string(data)) {
			m[strings.TrimSpace(line)] = true
		}
		return m
	}
	plain, _ := standardize(data)
	plain = bytes.TrimSpace(bytes.TrimPrefix(plain, []byte(byteOrderMark)))
	if len(plain) == 0 {
		return map[string]any{}
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	return v
}

// withoutNaN replaces NaN in a value, because NaN is not equal to itself.
func withoutNaN(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = withoutNaN(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withoutNaN(v[i])
		}
	case float64:
		if math.IsNaN(v) {
			return "nan"
		}
	}
	return v
}

// contains reports whether superset has everything that subset has. It compares members of objects
// by name, and items of arrays in order from the start.
func contains(superset, subset any) bool {
	switch p := subset.(type) {
	case map[string]any:
		w, ok := superset.(map[string]any)
		for name, v := range p {
			ok = ok && contains(w[name], v)
		}
		return ok
	case []any:
		w, ok := superset.([]any)
		ok = ok && len(w) >= len(p)
		for i := range p {
			ok = ok && contains(w[i], p[i])
		}
		return ok
	}
	return reflect.DeepEqual(superset, subset)
}

func TestUndoKeepsLaterChangesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, old := range examples(t) {
		t.Run(name, func(t *testing.T) {
			root, e := t.TempDir(), editor(t)
			f := theFile(t, wish(), root, name)
			put(t, f.Path, old)
			do(t, e, f)
			theirs := touched(t, f.Format, get(t, f.Path))
			put(t, f.Path, theirs)
			undo(t, e, f)
			left := get(t, f.Path)
			before, after := decode(t, f.Format, old), decode(t, f.Format, left)
			if !contains(after, prune(before)) {
				t.Errorf("lost what was there:\n%s\nwas\n%s", left, old)
			}
			if !bytes.Contains(left, []byte("theirs")) {
				t.Errorf("lost what was added later:\n%s", left)
			}
			if bytes.Contains(bytes.ReplaceAll(left, commented, nil), []byte("gaffer")) && f.Format != TOML {
				t.Errorf("ours is still there:\n%s", left)
			}
			if w, _ := writerOf(f.Format); f.Format == TOML {
				if found, err := w.inspect(left, f.Entries); err != nil || found.complete {
					t.Errorf("ours is still there, or %v:\n%s", err, left)
				}
			}
		})
	}
}

// Claude Code writes its whole settings file anew when the user changes a setting.
func TestUndoWorksInAFileThatItsProgramHasReformatted(t *testing.T) {
	t.Parallel()
	for name, old := range examples(t) {
		root, e := t.TempDir(), editor(t)
		f := theFile(t, wish(), root, name)
		if f.Format != JSON {
			continue
		}
		put(t, f.Path, old)
		do(t, e, f)
		anew, err := json.MarshalIndent(decode(t, JSON, get(t, f.Path)), "", "    ")
		if err != nil {
			t.Fatal(err)
		}
		put(t, f.Path, anew)
		if edits := do(t, e, f); edits[0].Changes() {
			t.Errorf("%s: added once more", name)
		}
		undo(t, e, f)
		if got, want := prune(decode(t, JSON, get(t, f.Path))), prune(decode(t, JSON, old)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: left %v, want %v", name, got, want)
		}
	}
}

var commented = []byte("#[mcp_servers.gaffer]")

// touched returns the content that a file has after another program has added something to it.
func touched(t *testing.T, f Format, made []byte) []byte {
	t.Helper()
	switch f {
	case TOML, Lines:
		text := "theirs = 1\n"
		if bytes.HasPrefix(made, []byte(byteOrderMark)) {
			return append([]byte(byteOrderMark+text), made[len(byteOrderMark):]...)
		}
		return append([]byte(text), made...)
	}
	plain, _ := standardize(made)
	open := bytes.IndexByte(plain, '{')
	return bytes.Join([][]byte{made[:open+1], []byte(` "theirs": 1,`), made[open+1:]}, nil)
}

// prune removes empty objects and arrays, because removing our entries also removes those that had
// no other entries.
func prune(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, v := range m {
		v = prune(v)
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				continue
			}
		case []any:
			if len(v) == 0 {
				continue
			}
		}
		out[name] = v
	}
	return out
}
