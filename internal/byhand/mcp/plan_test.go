package mcp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAPlanIsReadOnlyFromAnExistingFile(t *testing.T) {
	dir := t.TempDir()
	s := newTestServer(dir, Person)
	s.opts.Plans.Dir = dir
	for _, file := range []string{"my new plan.yaml", "release plan.txt", "a/b c.d", "run the tests", "001", "001,002", "a.md,b.md"} {
		if p, err := s.loadPlan(planArgs{File: file}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a plan of %d tasks as %s, %v", file, len(p.Tasks), p.Format, err)
		}
		if _, text, failed := s.call(t, "plan_submit", map[string]any{"file": file, "check_only": true}); !failed {
			t.Errorf("%s: %s", file, text)
		}
	}
	for _, file := range []string{"two\nlines", "my new plan.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("tasks: [{id: a, agent: claude, prompt: x}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := s.loadPlan(planArgs{File: "two\nlines"}); err == nil {
		t.Errorf("its name is a plan as %s", p.Format)
	}
	if p, err := s.loadPlan(planArgs{File: "my new plan.yaml"}); err != nil || len(p.Tasks) != 1 {
		t.Errorf("%d tasks, %v", len(p.Tasks), err)
	}
}
