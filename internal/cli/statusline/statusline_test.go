package statusline

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/cli/env"
)

// folder holds the files of a project by name.
type folder map[string]string

func (f folder) write(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "demo")
	for name, content := range f {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "ROOT", root)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func example() folder {
	return folder{
		".git/HEAD":          "ref: refs/heads/main\n",
		".fctry/config.json": `{"versions": {"external": {"current": "1.2.0"}, "spec": {"current": "2.1"}}}`,
		".fctry/spec.md":     "---\nstatus: draft\n---\n",
		".fctry/state.json":  `{"currentCommand": "evolve"}`,
	}
}

// line runs the command in dir and returns its stdout. It fails the test if the command fails or
// prints to stderr.
func line(t *testing.T, dir string, in io.Reader, vars map[string]string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	e := &env.Env{
		In: in, Out: &out, Err: &errs, Dir: dir, Now: time.Now,
		Getenv: func(name string) string { return vars[name] },
	}
	code, ok := Main(e, args)
	if code != 0 || !ok || errs.Len() > 0 {
		t.Errorf("code %d, %v, stderr %q", code, ok, errs.String())
	}
	return out.String()
}

var plain = map[string]string{"NO_COLOR": "1"}

func TestTheAgentsFolderDecidesTheProject(t *testing.T) {
	root := example().write(t)
	other := folder{".fctry/state.json": `{"nextStep": "elsewhere"}`}.write(t)
	for agent, want := range map[string]string{
		`{"workspace": {"current_dir": "ROOT/.git/.."}, "cwd": "/"}`:                  "demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft\nevolve\n",
		`{"workspace": {"current_dir": "ROOT/no/such"}, "cwd": "ROOT"}`:               "demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft\nevolve\n",
		`{"cwd": "ROOT/.fctry", "context_window": {"used_percentage": 42}}`:           "demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft │ ◐ 50%\nevolve\n",
		`{"cwd": "ROOT/.fctry/spec.md", "context_window": {"used_percentage": null}}`: "demo\n→ elsewhere\n",
		`{"cwd": "relative"}`: "demo\n→ elsewhere\n",
		`{"cwd": "ROOT"`:      "demo\n→ elsewhere\n",
		``:                    "demo\n→ elsewhere\n",
	} {
		if diff := cmp.Diff(want, line(t, other, strings.NewReader(strings.ReplaceAll(agent, "ROOT", root)), plain)); diff != "" {
			t.Errorf("%s: %s", agent, diff)
		}
	}
}

func TestANamedProjectBeatsTheAgentsFolder(t *testing.T) {
	root := example().write(t)
	other := folder{".fctry/state.json": `{"nextStep": "elsewhere"}`, ".git/HEAD": "ref: refs/heads/side\n"}.write(t)
	agent := `{"cwd": "` + root + `"}`
	want := "demo │ ⎇ side\n→ elsewhere\n"
	if got := line(t, filepath.Dir(other), strings.NewReader(agent), plain, "--project", "demo"); got != want {
		t.Errorf("flag: %q, want %q", got, want)
	}
	vars := map[string]string{"NO_COLOR": "1", "GAFFER_PROJECT": other}
	if got := line(t, "/", strings.NewReader(agent), vars); got != want {
		t.Errorf("variable: %q, want %q", got, want)
	}
}

func TestALinkedWorktreeHasItsOwnBranchAndTheStateOfTheRepository(t *testing.T) {
	files := example()
	files[".git/config"] = "[core]\n\tbare = false\n"
	files[".git/worktrees/side/HEAD"] = "ref: refs/heads/side\n"
	files[".git/worktrees/side/commondir"] = "../..\n"
	files["side/.git"] = "gitdir: ROOT/.git/worktrees/side\n"
	files["side/deep/file"] = ""
	root := files.write(t)
	for _, dir := range []string{"side", "side/deep"} {
		want := "demo 1.2.0 │ ⎇ side │ ▤ 2.1 │ draft\nevolve\n"
		if got := line(t, filepath.Join(root, dir), nil, plain); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestABrokenProjectPrintsNoError(t *testing.T) {
	for name, c := range map[string]struct {
		files folder
		want  string
	}{
		"nothing at all":           {folder{"x": ""}, "demo\n"},
		"a worktree of nothing":    {folder{".git": "gitdir: /no/such/place\n", ".fctry/state.json": `{"nextStep": "x"}`}, "demo\n→ x\n"},
		"a .git of another sort":   {folder{".git": "?", ".fctry/state.json": `{"nextStep": "x"}`}, "demo\n→ x\n"},
		"broken settings":          {folder{"gaffer.yaml": "paths: [", ".fctry/state.json": `{"nextStep": "x"}`}, "demo\n→ x\n"},
		"a state that moved":       {folder{"gaffer.yaml": "paths: {workflow: w}", "w/state.json": `{"nextStep": "x"}`}, "demo\n→ x\n"},
		"folders for documents":    {folder{".fctry/state.json/x": "", ".fctry/spec.md/x": "", ".fctry/config.json/x": "", ".git/HEAD/x": ""}, "demo\n→ /fctry:init to create a spec\n"},
		"a file for the documents": {folder{".fctry": "x"}, "demo\n"},
	} {
		if got := line(t, c.files.write(t), nil, plain); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := line(t, filepath.Join(t.TempDir(), "gone"), nil, plain); !strings.HasPrefix(got, "gone\n") {
		t.Errorf("a folder that is gone: %q", got)
	}
}

func TestAProtocolIsMentionedOnlyWhereItIsUsed(t *testing.T) {
	for name, c := range map[string]struct {
		files folder
		want  string
	}{
		"a project without it":            {folder{"go.mod": "module x"}, "demo\n"},
		"a project of another protocol":   {folder{".founder-mode/status/x": "", "coordination/x": ""}, "demo\n"},
		"its folder, with nothing in it":  {folder{".fctry/x": ""}, "demo\n→ /fctry:init to create a spec\n"},
		"its folder at another place":     {folder{"gaffer.yaml": "paths: {workflow: w}", "w/x": ""}, "demo\n→ /fctry:init to create a spec\n"},
		"its folder where it is not used": {folder{"gaffer.yaml": "paths: {workflow: w}", ".fctry/x": ""}, "demo\n"},
		"its spec":                        {folder{".fctry/spec.md": "# Demo"}, "demo\n→ /fctry:evolve to refine, or /fctry:execute to build\n"},
	} {
		if got := line(t, c.files.write(t), nil, plain); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestDocumentsThatWouldBlockAReaderAreSkipped(t *testing.T) {
	root := folder{"x": ""}.write(t)
	for _, dir := range []string{".fctry", ".git"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".fctry/state.json", ".fctry/config.json", ".fctry/spec.md", ".git/HEAD"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := line(t, root, nil, plain), "demo\n→ /fctry:init to create a spec\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRowsAreColouredUnlessColourIsDisabled(t *testing.T) {
	root := example().write(t)
	for name, c := range map[string]struct {
		vars  map[string]string
		args  []string
		color bool
	}{
		"by itself":              {nil, nil, true},
		"NO_COLOR":               {plain, nil, false},
		"an empty NO_COLOR":      {map[string]string{"NO_COLOR": ""}, nil, true},
		"never":                  {nil, []string{"--color", "never"}, false},
		"always beats NO_COLOR":  {plain, []string{"--color=always"}, true},
		"FORCE_COLOR of nothing": {map[string]string{"FORCE_COLOR": "0"}, nil, false},
		"the setting":            {map[string]string{"GAFFER_COLOR": "never"}, nil, false},
		"a setting that is none": {map[string]string{"GAFFER_COLOR": "red"}, nil, true},
	} {
		if got := strings.Contains(line(t, root, nil, c.vars, c.args...), "\x1b["); got != c.color {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRowsAreCutToColumns(t *testing.T) {
	root := example().write(t)
	for columns, want := range map[string]string{
		"12": "demo 1.2.0 …\nevolve\n", "0": "demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft\nevolve\n", "-4": "demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft\nevolve\n",
		"wide": "demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft\nevolve\n",
	} {
		if got := line(t, root, nil, map[string]string{"NO_COLOR": "1", "COLUMNS": columns}); got != want {
			t.Errorf("%s: %q, want %q", columns, got, want)
		}
	}
}

func TestUnusualArgumentsAreLeftToTheCommandTree(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"--flet"}, {"x"}, {"--json=perhaps"}, {"--project"}} {
		var out bytes.Buffer
		e := &env.Env{Out: &out, Err: &out, Getenv: func(string) string { return "" }}
		if _, ok := Main(e, args); ok || out.Len() > 0 {
			t.Errorf("%q: taken, and said %q", args, out.String())
		}
	}
}

// never is an input that never ends.
type never struct{}

func (never) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestAnInputWithoutAnEndIsReadUntilTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string
		took   time.Duration
	}{
		"nothing comes":  {nil, "", time.Hour},
		"half an object": {[]string{`{"cwd": "/a"`}, `{"cwd": "/a"`, time.Hour},
		// The first object is complete, so the read ends without the timeout.
		"an object in pieces": {[]string{`{"cwd": "/a", "x": {"y": 1}`, " }\n"}, `{"cwd": "/a", "x": {"y": 1} }` + "\n", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			go func() {
				for _, piece := range c.pieces {
					_, _ = io.WriteString(w, piece)
				}
			}()
			began := time.Now()
			if got := string(readWithin(r, time.Hour)); got != c.want || time.Since(began) != c.took {
				t.Errorf("%s: %q after %v", name, got, time.Since(began))
			}
			_ = w.Close()
		})
	}
	if got := readWithin(never{}, time.Hour); len(got) != maxAgent {
		t.Errorf("read %d bytes of an input without end", len(got))
	}
}

func TestNoDocumentIsEverChanged(t *testing.T) {
	files, err := filepath.Glob("../../../workflow/testdata/irregular/*.json")
	if err != nil || len(files) != 64 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		state, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		project := example()
		root := project.write(t)
		for _, name := range []string{"state.json", "config.json", "spec.md", "inbox.json"} {
			if err := os.WriteFile(filepath.Join(root, ".fctry", name), state, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, root)
		for _, args := range [][]string{nil, {"--fleet"}, {"--json", "--all"}} {
			home := map[string]string{"XDG_STATE_HOME": root}
			if got := line(t, root, bytes.NewReader(state), home, args...); !strings.Contains(got, "demo") {
				t.Errorf("%s: %q", filepath.Base(file), got)
			}
		}
		if diff := cmp.Diff(before, contents(t, root)); diff != "" {
			t.Errorf("%s: %s", filepath.Base(file), diff)
		}
	}
}

// contents returns the content of each file below a folder, by path.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAPanicWouldNotReachThePrompt(t *testing.T) {
	var out bytes.Buffer
	e := &env.Env{Out: &out, Err: &out, Getenv: func(string) string { panic("no environment") }}
	show(context.Background(), e, options{})
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
