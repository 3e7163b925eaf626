package heard

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gaffer/statefile/jsontree"
)

func TestTheFormsOfOtherAgentsAreUnderstood(t *testing.T) {
	for event, want := range map[string][]string{
		`{"tool_name": "Write", "tool_input": {"file_path": "a"}}`:                      {"a"},
		`{"tool_name": "MultiEdit", "tool_input": {"file_path": "a", "edits": [1]}}`:    {"a"},
		`{"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "a.ipynb"}}`:     {"a.ipynb"},
		`{"tool_name": "write_file", "tool_input": {"file_path": "a", "content": "b"}}`: {"a"},
		`{"tool_name": "replace", "tool_input": {"file_path": "a"}}`:                    {"a"},
		`{"tool_name": "edit", "tool_input": {"filePath": "a"}}`:                        {"a"},
		`{"tool_name": "apply_patch", "tool_input": {"command": "*** Begin Patch\n*** Update File: a b.go\n*** Move to: c.go\n-x\n+*** Add File: no\n*** Delete File: d\n*** End Patch"}}`: {"a b.go", "c.go", "d"},
		`{"tool_name": "apply_patch", "tool_input": {"command": ["apply_patch", "*** Add File: a\n+x"]}}`:                                                                                  {"a"},
		`{"tool_name": "apply_patch", "tool_input": "*** Add File: a"}`:                                                                                                                    {"a"},
		`{"tool_name": "Read", "tool_input": {"file_path": "a"}}`:                                                                                                                          nil,
		`{"tool_name": "Bash", "tool_input": {"command": "echo > a"}}`:                                                                                                                     nil,
		`{"tool_name": "Write", "tool_input": {"file_path": 7}}`:                                                                                                                           nil,
		`{"tool_name": "Write", "tool_input": "a"}`:                                                                                                                                        nil,
		`{"tool_name": ["Write"], "tool_input": {"file_path": "a"}}`:                                                                                                                       nil,
		`{"tool_name": "Write"}`: nil, `{}`: nil, `[]`: nil, `null`: nil, `7`: nil,
	} {
		doc, err := jsontree.Parse([]byte(event))
		if err != nil {
			t.Fatal(err)
		}
		if got := Written(doc.Value()); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

func FuzzAnyEventIsTaken(f *testing.F) {
	for _, seed := range []string{`{"tool_name":"Write","tool_input":{"file_path":"a"}}`, `{"tool_name":"apply_patch","tool_input":["*** Add File: a"]}`, `[`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		event, err := ReadEvent(strings.NewReader(text))
		if err != nil {
			return
		}
		if n := len(Written(event)); n > maxFiles {
			t.Errorf("%d files", n)
		}
	})
}

func TestAnEventEndsWithItsLastBracket(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "}\\\"}"} {"b": 1}`:                  `}\"}`,
		"\n\t {\"a\": \"x\", \"b\": [{}, \"]\"]}\n": "x",
		`{"a": "x"}`: "x",
	} {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			open := io.MultiReader(in, iotest.ErrReader(errors.New("read on")))
			v, err := ReadEvent(open)
			if err != nil || v.Get("a").Text() != want {
				t.Errorf("%s: %q, %v", text, v.Get("a").Text(), err)
			}
		}
	}
	for _, text := range []string{"garbage", " x", `"text"`, "}", `{"a": [1}`, `[}`} {
		v, err := ReadEvent(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("read on"))))
		if err == nil || strings.Contains(err.Error(), "read on") {
			t.Errorf("%s: %s, %v", text, v.Raw(), err)
		}
	}
	for _, text := range []string{`{"a": "}`, `}`, `{]`, `x`, `{"a": ` + strings.Repeat(" ", 2*maxEvent) + `1}`} {
		if v, err := ReadEvent(strings.NewReader(text)); err == nil {
			t.Errorf("%.20s: %.20s", text, v.Raw())
		}
	}
	for _, text := range []string{"", " \n"} {
		if v, err := ReadEvent(strings.NewReader(text)); err != nil || v.Kind() != jsontree.Null && !v.Absent() {
			t.Errorf("%q: %v, %v", text, v.Kind(), err)
		}
	}
}

// Where neither settings nor a workflow can be, or that is within a command, nothing
// is left to be done. Else it is left to who can find out.
func TestDeedsRemainWhereTheyMayMatter(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder := func(name string) string {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(root, "link")
	plain, flow, set, tree := folder("plain/sub"), folder("flow/sub"), folder("set/sub"), folder("tree/sub")
	folder("flow/.fctry")
	folder("set/gaffer.yaml")
	folder("plain/.git")
	folder("config/gaffer/gaffer.yaml")
	if err := errors.Join(os.WriteFile(filepath.Join(root, "tree/.git"), nil, 0o600), os.Symlink(flow, link)); err != nil {
		t.Fatal(err)
	}
	state := func(name, head, text string) string {
		t.Helper()
		dir := folder(name + "/sub")
		folder(name + "/.git")
		folder(name + "/.fctry")
		err := errors.Join(os.WriteFile(filepath.Join(root, name, ".git", head), nil, 0o600),
			os.WriteFile(filepath.Join(root, name, ".fctry/state.json"), []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	within := state("within", "HEAD", `{"currentCommand": "evolve"}`)
	between := state("between", "HEAD", `{"currentCommand": null}`)
	damaged := state("damaged", "HEAD", `{"currentCommand": "evolve"`)
	headless := state("headless", "config", `{"currentCommand": "evolve"}`)
	home := []string{"HOME=" + root, "PATH=x", "GAFFER_ATTEMPT=", "GAFFER_COLOR="}
	for name, c := range map[string]struct {
		dir          string
		tool         string
		environ      []string
		written, ask bool
	}{
		"a plain place":           {plain, "Write", home, false, false},
		"a workflow":              {flow, "Write", home, true, false},
		"within a command":        {within, "Write", home, false, false},
		"between two commands":    {between, "Write", home, true, false},
		"a damaged state":         {damaged, "Write", home, true, false},
		"no repository":           {headless, "Write", home, true, false},
		"a tool that only reads":  {flow, "Read", home, false, false},
		"settings of the project": {set, "Write", home, true, true},
		"a linked worktree":       {tree, "Write", home, true, true},
		"a link":                  {link, "Write", home, true, true},
		"a folder that is gone":   {plain + "/gone", "Write", home, true, true},
		"a folder above":          {plain + "/../../flow", "Write", home, true, true},
		"no folder":               {"", "Write", home, true, true},
		"a variable":              {plain, "Write", append(home, "GAFFER_PROJECT=x"), true, true},
		"settings of the user":    {plain, "Write", append(home, "XDG_CONFIG_HOME="+filepath.Join(root, "config")), true, true},
		"an attempt of gaffer":    {plain, "Write", append(home, Mark+"=a", "GAFFER_SELF=/bin/gaffer", "GAFFER_RUN=r", "GAFFER_TASK=t", "GAFFER_ATTEMPT_NUMBER=1"), false, false},
		"and settings of it":      {plain, "Write", append(home, Mark+"=a", "GAFFER_SELF=/bin/gaffer", "GAFFER_DB=x"), true, true},
		"the root of everything":  {"/", "Write", home, false, false},
	} {
		doc, err := jsontree.Parse([]byte(`{"tool_name": "` + c.tool + `", "tool_input": {"file_path": "a"}}`))
		if err != nil {
			t.Fatal(err)
		}
		call := Call{Raw: doc.Value(), Event: Event{Dir: c.dir}, Deeds: []Deed{{Kind: NoteWritten}, {Kind: AskPerson}, {Kind: NoteLoop}}}
		var want []Deed
		for i, remains := range []bool{c.written, c.ask, true} {
			if remains {
				want = append(want, call.Deeds[i])
			}
		}
		if got := call.Remaining(c.environ); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	mine := Call{Session: Session{Attempt: "a"}, Deeds: []Deed{{Kind: AskPerson}}}
	if got := mine.Remaining([]string{"GAFFER_PROJECT=x"}); got != nil {
		t.Errorf("a question of gaffer's own agent: %v", got)
	}
}
