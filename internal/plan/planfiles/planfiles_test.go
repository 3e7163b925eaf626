package planfiles

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/plan"
)

// project returns a folder with plans, and a folder beside it with files that must stay unread.
func project(t *testing.T) (dir string, files *Files) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "project")
	for name, text := range map[string]string{
		"project/plan.yaml":              "tasks: [{id: a, prompt: x}]\n",
		"project/plans/deep/other.yml":   "name: other\ntasks:\n  - {id: a, prompt_file: ../a.md}\n",
		"project/plans/a.md":             "Say hello.\n",
		"project/plans/000-order.md":     "## Dependency Graph\n\n```\n001 -> 002\n```\n",
		"project/plan.json":              "{\n\"tasks\": []}",
		"project/compose.yaml":           "services: {}\n",
		"project/.env.yaml":              "password: sesame\n",
		"project/.git/plan.yaml":         "tasks: []\n",
		"project/node_modules/plan.yaml": "tasks: []\n",
		"project/large.yaml":             "tasks: []\n#" + strings.Repeat("x", MaxSize),
		"project/binary.yaml":            "tasks: \x00",
		"outside/plan.yaml":              "tasks: [{id: secret, prompt: sesame}]\n",
		"outside/prompt.md":              "sesame\n",
	} {
		path := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"link.yaml": "../outside/plan.yaml", "absolute.yaml": filepath.Join(base, "outside", "plan.yaml"), "folder": "../outside", "inside.yaml": "plan.yaml", "loop.yaml": "loop.yaml",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, files
}

func TestThePlanFilesOfAProjectAreListed(t *testing.T) {
	_, files := project(t)
	got, more, err := files.List()
	want := []string{"plan.json", "plan.yaml", "plans/000-order.md", "plans/deep/other.yml"}
	if err != nil || more || !slices.Equal(got, want) {
		t.Errorf("%v %v %v", got, more, err)
	}
}

func TestSecurityOnlyPlanFilesBelowTheFolderAreRead(t *testing.T) {
	dir, files := project(t)
	if text, err := files.Read("plan.yaml"); err != nil || !strings.Contains(text, "prompt: x") {
		t.Errorf("%q %v", text, err)
	}
	if _, err := files.Read("inside.yaml"); err != nil {
		t.Errorf("a link to a plan of the project: %v", err)
	}
	for _, path := range []string{
		"", ".", "..", "../outside/plan.yaml", "plans/../../outside/plan.yaml", filepath.Join(dir, "plan.yaml"), "/etc/passwd", "link.yaml", "absolute.yaml", "folder/plan.yaml", "loop.yaml",
		"pipe.yaml", "plans", "none.yaml", "compose.yaml", ".env.yaml", "plans/a.md", "large.yaml", "binary.yaml", "plan.yaml\x00", "plan.yaml/x",
	} {
		text, err := files.Read(path)
		if no := (*NoFileError)(nil); !errors.As(err, &no) || text != "" {
			t.Errorf("%q: %q %v", path, text, err)
		}
	}
}

func TestSecurityAPlanReadsNoPromptOutsideTheFolder(t *testing.T) {
	dir, files := project(t)
	for _, file := range []string{"../outside/prompt.md", "folder/prompt.md", filepath.Join(dir, "..", "outside", "prompt.md"), "/etc/hostname"} {
		text := "tasks: [{id: a, prompt_file: \"" + file + "\"}]\n"
		p, err := plan.Load(files.Host("new.yaml", text), "new.yaml", plan.Options{Dir: dir, Root: dir})
		problems := plan.Problems{}
		if !errors.As(err, &problems) || len(p.Tasks) > 0 || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v %v", file, p.Tasks, err)
		}
	}
}

func TestATextIsReadAsIfItWereAFileOfTheProject(t *testing.T) {
	dir, files := project(t)
	for name, text := range map[string]string{
		"plans/new.yaml": "tasks: [{id: a, prompt_file: a.md}]\n",
		"plan.yaml":      "tasks: [{id: a, prompt_file: plans/a.md}]\n",
	} {
		p, err := plan.Load(files.Host(name, text), name, plan.Options{Dir: dir, Root: dir})
		if err != nil || len(p.Tasks) != 1 || p.Tasks[0].Prompt != "Say hello.\n" {
			t.Errorf("%s: %v %v", name, p.Tasks, err)
		}
	}
}

func TestWithoutAFolderThereAreNoFiles(t *testing.T) {
	files := &Files{}
	p, err := plan.Load(files.Host("plan.yaml", "tasks: [{id: a, prompt: x}]"), "plan.yaml", plan.Options{Dir: files.Dir(), Root: files.Dir()})
	if err != nil || len(p.Tasks) != 1 {
		t.Errorf("%v %v", p, err)
	}
	_, err = plan.Load(files.Host("plan.yaml", "tasks: [{id: a, prompt_file: etc/hostname}]"), "plan.yaml", plan.Options{Dir: files.Dir(), Root: files.Dir()})
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v", err)
	}
	if _, err := files.Read("plan.yaml"); err == nil {
		t.Error("a file was read")
	}
}
