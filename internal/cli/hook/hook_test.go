package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

const demo = "# Demo\n## 2.2 Core Flow {#core-flow}\nSee src/flow/.\n## 2.12 Status Line {#status-line}\nLines.\n"

// newProject creates a git repository with a spec and a mapping of files to sections, and returns
// its path.
func newProject(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, root, ".fctry/spec.md", demo)
	put(t, root, ".fctry/config.json", `{"sections": {"src/statusline/**": "#status-line"}}`)
	return root
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run calls the hook in dir and returns what it prints to stderr. It fails the test if the agent
// would notice an error.
func run(t *testing.T, dir string, in io.Reader, args ...string) string {
	t.Helper()
	var out, talk bytes.Buffer
	e := &env.Env{In: in, Out: &out, Err: &talk, Getenv: func(string) string { return "" }, Dir: dir, Now: time.Now}
	cmd := New(e)
	cmd.SetArgs(append([]string{"post-tool-use"}, args...))
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil || out.Len() > 0 {
		t.Errorf("%v, stdout %q", err, &out)
	}
	return talk.String()
}

func write(file string) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"tool_name": "Write", "tool_input": {"file_path": %q, "content": "x"}}`, file))
}

// untracked returns the recorded changes, each as "file section number".
func untracked(t *testing.T, root string) []string {
	t.Helper()
	s, err := workflow.Open(filepath.Join(root, ".fctry"), workflow.Options{}).State()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range s.UntrackedChanges {
		all = append(all, strings.Join([]string{c.File, c.Section, c.SectionNumber}, " "))
	}
	return all
}

func TestAWrittenFileIsNotedUnderItsSection(t *testing.T) {
	root := newProject(t)
	put(t, root, "src/flow/b.js", "")
	if talk := run(t, root, write("src/statusline/a.js")); talk != "" {
		t.Errorf("said %q", talk)
	}
	run(t, filepath.Join(root, "src"), write("flow/b.js"))
	run(t, root, write("docs/readme.md"))
	run(t, root, write(filepath.Join(t.TempDir(), "src/flow/elsewhere.js")))
	run(t, root, write(".fctry/spec.md"))
	run(t, root, write("../src/flow/x.js"))
	want := []string{"src/statusline/a.js status-line 2.12", "src/flow/b.js core-flow 2.2"}
	if got := untracked(t, root); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheEventSaysWhereItHappened(t *testing.T) {
	root := newProject(t)
	for file, want := range map[string]string{"flow/d.js": "src/flow/d.js core-flow 2.2", filepath.Join(root, "src/flow/e.js"): "src/flow/e.js core-flow 2.2"} {
		put(t, root, "src/flow/d.js", "")
		event, err := json.Marshal(map[string]any{"tool_name": "Edit", "tool_input": map[string]string{"file_path": file}, "cwd": filepath.Join(root, "src")})
		if err != nil {
			t.Fatal(err)
		}
		run(t, t.TempDir(), bytes.NewReader(event))
		if got := untracked(t, root); !slices.Contains(got, want) {
			t.Errorf("%s: %q", file, got)
		}
	}
}

func TestNothingIsNotedWhileACommandIsUnderWay(t *testing.T) {
	root := newProject(t)
	put(t, root, ".fctry/state.json", `{"currentCommand": "execute"}`)
	run(t, root, write("src/flow/a.js"))
	if got := untracked(t, root); got != nil {
		t.Errorf("got %q", got)
	}
	put(t, root, ".fctry/state.json", `{"currentCommand": null, "other": 1.50}`)
	run(t, root, write("src/flow/a.js"))
	run(t, root, write("src/flow/a.js"))
	if got := untracked(t, root); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(root, ".fctry/state.json")); err != nil || !strings.Contains(string(data), `"other": 1.50`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestOutsideAProjectWithAWorkflowNothingIsDone(t *testing.T) {
	dir := t.TempDir()
	if talk := run(t, dir, write("src/flow/a.js")); talk != "" {
		t.Errorf("said %q", talk)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestAFileInALinkedWorktreeIsNotedInTheProject(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	tree := filepath.Join(t.TempDir(), "tree")
	git("worktree", "add", "-q", tree)
	put(t, root, ".fctry/spec.md", demo)
	put(t, tree, "src/flow/a.js", "")
	run(t, tree, write("src/flow/a.js"))
	if got, want := untracked(t, root), []string{"src/flow/a.js core-flow 2.2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(tree, ".fctry")); err == nil {
		t.Error("the worktree has state of its own")
	}
}

func TestAFailingHookDoesNotDisturbTheAgent(t *testing.T) {
	root := newProject(t)
	for name, in := range map[string]io.Reader{
		"nothing":   strings.NewReader(""),
		"half":      strings.NewReader(`{"tool_name": "Write", "tool_in`),
		"no JSON":   strings.NewReader("\xff\xfe\x00"),
		"deep":      strings.NewReader(strings.Repeat("[", 1<<20)),
		"huge":      io.MultiReader(strings.NewReader(`{"tool_name": "Write", "x": "`), strings.NewReader(strings.Repeat("x", 17<<20))),
		"odd path":  write("src/flow/\x00\n"),
		"broken in": brokenPipe{},
	} {
		run(t, root, in)
		if got := untracked(t, root); len(got) > 1 {
			t.Errorf("%s: noted %q", name, got)
		}
	}
	run(t, root, write("src/flow/a.js"), "--unknown", "more", "--flag=1")
	if got := untracked(t, root); !slices.Contains(got, "src/flow/a.js core-flow 2.2") {
		t.Errorf("got %q", got)
	}
	put(t, root, ".fctry/config.json", "{")
	if talk := run(t, root, write("src/flow/a.js")); !strings.Contains(talk, "gaffer: hook post-tool-use: ") {
		t.Errorf("said %q", talk)
	}
	put(t, root, "gaffer.yaml", "\t: [")
	run(t, root, write("src/flow/a.js"))
	run(t, filepath.Join(root, "absent"), write("src/flow/a.js"))
}

type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, errors.New("pipe broke") }

func TestAStateThatIsNoObjectIsNotChanged(t *testing.T) {
	root := newProject(t)
	for _, state := range []string{`[1]`, `"x"`, `{"untrackedChanges": "x"}`} {
		put(t, root, ".fctry/state.json", state)
		run(t, root, write("src/flow/a.js"))
		if data, err := os.ReadFile(filepath.Join(root, ".fctry/state.json")); err != nil || string(data) != state {
			t.Errorf("%s became %s, %v", state, data, err)
		}
	}
}

func TestAnOpenInputIsNotAwaited(t *testing.T) {
	testenv.Integration(t)
	root := newProject(t)
	in, out := io.Pipe()
	defer out.Close()
	go func() { _, _ = io.Copy(out, write("src/flow/a.js")) }()
	if talk := run(t, root, in); talk != "" {
		t.Errorf("said %q", talk)
	}
	if got := untracked(t, root); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	silent, end := io.Pipe()
	defer end.Close()
	if talk := run(t, root, silent); !strings.Contains(talk, "not done within "+Budget.String()) {
		t.Errorf("said %q", talk)
	}
}

func TestALockedDocumentIsAwaitedUntilTheTimeout(t *testing.T) {
	testenv.Integration(t)
	root := newProject(t)
	run(t, root, write("src/flow/a.js"))
	lock, err := host.OS().Lock(t.Context(), "test", filepath.Join(root, ".fctry/.state.json.flock"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	talk := run(t, root, write("src/flow/b.js"))
	if took := time.Since(began); took > testenv.Patience || talk == "" {
		t.Errorf("took %s, said %q", took, talk)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := untracked(t, root); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestAPanicIsReportedAndEndsOnlyTheHook(t *testing.T) {
	var talk bytes.Buffer
	e := &env.Env{Err: &talk}
	cmd := New(e)
	cmd.SetContext(t.Context())
	if err := hookCommand(e, func(context.Context) error { panic("oh") })(cmd, nil); err != nil || !strings.Contains(talk.String(), "panic: oh") {
		t.Errorf("%v, %q", err, talk.String())
	}
}
