package plan

import (
	"os"
	"path/filepath"
	"testing"
)

// seed adds the files that match the globs to the corpus of the fuzz test.
func seed(f *testing.F, globs ...string) {
	f.Helper()
	f.Add([]byte(""))
	for _, glob := range globs {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v, %d files", glob, err, len(files))
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}

// sound checks the result of reading arbitrary input. Either problems with a text were reported, or
// all tasks of the plan can run.
func sound(t *testing.T, r *reporter, d draft) {
	t.Helper()
	if len(r.problems) > 0 {
		for _, p := range r.problems {
			if p.File != "plan" || p.Text == "" || p.Line < 0 || p.Column < 0 {
				t.Errorf("a problem that says nothing: %+v", p)
			}
		}
		return
	}
	p := d.Separate()
	count := 0
	for _, wave := range p.Waves() {
		count += len(wave)
	}
	if count != len(d.Tasks) || count == 0 {
		t.Errorf("%d of %d tasks are in waves", count, len(d.Tasks))
	}
	for _, task := range d.Tasks {
		template := task.Dispatch != nil && task.Dispatch.Template != ""
		if task.ID == "" || task.Prompt == "" && task.PromptFile == "" && len(task.Argv) == 0 && !template && d.Source != SourceOrchestrate {
			t.Errorf("a task with nothing to do: %+v", task)
		}
	}
}

func FuzzGaffer(f *testing.F) {
	seed(f, "../../examples/*/plan.yaml", "testdata/broken/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reporter{file: "plan"}
		root := r.tree(data)
		if root == nil && len(r.problems) > 0 {
			return
		}
		d := readPlan("plan", root, r)
		d.check(r, "task")
		sound(t, r, d)
	})
}

func FuzzWorkflow(f *testing.F) {
	seed(f, "../../examples/workflow/*.yaml", "testdata/broken/workflow-*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reporter{file: "plan"}
		root := r.tree(data)
		if root == nil && len(r.problems) > 0 {
			return
		}
		sound(t, r, readWorkflows("plan", root, r, ""))
	})
}

func FuzzOrchestrator(f *testing.F) {
	seed(f, "../../examples/orchestrator/*/000-*.md", "testdata/broken/orchestrator-*.md")
	f.Fuzz(func(t *testing.T, data []byte) {
		isOrchestrator(data)
		TickCheckbox(data, "001-01")
		r := &reporter{file: "plan"}
		d := readOrchestrator("plan", data, r)
		d.check(r, "prompt")
		sound(t, r, d)
	})
}

func FuzzBeads(f *testing.F) {
	seed(f, "../../examples/beads/*.jsonl", "testdata/broken/beads-*.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reporter{file: "plan"}
		d := readBeads("plan", "/dir", data, r, func(string) bool { return true }, Task{})
		for _, task := range d.Tasks {
			if task.Dispatch.Bead != task.ID || task.Priority > 0 || task.Done && task.After != nil {
				t.Errorf("a task that is no bead: %+v", task)
			}
		}
		if d.dropDone(); len(d.Tasks) > 0 || len(r.problems) > 0 {
			sound(t, r, d)
		}
	})
}

func FuzzPhase(f *testing.F) {
	seed(f, "../../examples/phase/*/*-PLAN.md", "testdata/broken/*-PLAN.md")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reporter{file: "plan"}
		task, at := readPhase("01-02-PLAN.md", data, false, r)
		task.After = nil // the plan refers to other phase plans, which do not exist here
		var d draft
		d.add(task, at)
		d.check(r, "plan")
		if task.Prompt != "" {
			sound(t, r, d)
		}
	})
}

func FuzzOverlap(f *testing.F) {
	f.Add("a/*.go", "a/b.go")
	f.Add("**/{a,b}", "[x]/?")
	f.Fuzz(func(t *testing.T, a, b string) {
		if checkPattern(a) != "" || checkPattern(b) != "" {
			return
		}
		var m matcher
		p, q := newPattern(a), newPattern(b)
		if m.overlap(p, q) != m.overlap(q, p) {
			t.Error("overlapping depends on the order")
		}
		if !m.overlap(p, p) && m.work < maxWork {
			t.Errorf("%q does not overlap with itself", a)
		}
	})
}
