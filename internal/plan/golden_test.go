package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// golden compares text with the content of the file name in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/plan -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

// dump returns a plan as text: its properties, its waves, and the fields of each task that are not
// zero, with their JSON names.
func dump(p Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s %s\n", p.Name, p.Format, p.Source, p.SourceFile)
	fmt.Fprintf(&b, "parallel %d, on failure %s, budget %+v\n", p.Parallel, p.OnFailure, p.Budget)
	if p.Workflow != nil {
		fmt.Fprintf(&b, "workflow %+v\n", *p.Workflow)
	}
	for i, wave := range p.Waves() {
		fmt.Fprintf(&b, "wave %d: %s\n", i+1, strings.Join(wave, " "))
	}
	for _, t := range p.Tasks {
		fmt.Fprintf(&b, "\n%s needs %q\n", t.ID, p.Needs(t.ID))
		v := reflect.ValueOf(t)
		for _, f := range reflect.VisibleFields(v.Type())[1:] {
			value := v.FieldByIndex(f.Index)
			if f.Anonymous || value.IsZero() {
				continue
			}
			text := fmt.Sprint(value)
			if d, ok := value.Interface().(*Dispatch); ok {
				text = fmt.Sprintf("%+v", *d)
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fmt.Fprintf(&b, "  %s: %.100q\n", name, text)
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n", w)
	}
	return b.String()
}

// examples lists the example plans of the repository, each with the name of its golden file.
var examples = []struct {
	golden, arg string
	options     Options
}{
	{"quickstart", "examples/quickstart/plan.yaml", Options{}},
	{"release", "examples/release/plan.yaml", Options{}},
	{"orchestrator-graph", "examples/orchestrator/graph/000-orchestrator.md", Options{}},
	{"orchestrator-graph-pending", "examples/orchestrator/graph/000-orchestrator.md", Options{PendingOnly: true}},
	{"orchestrator-waves", "examples/orchestrator/waves/000-orchestrator.md", Options{}},
	{"orchestrator-waves-pending", "examples/orchestrator/waves/000-orchestrator.md", Options{PendingOnly: true}},
	{"workflow", "examples/workflow/workflow.yaml", Options{}},
	{"beads", "examples/beads/beads.jsonl", Options{}},
	{"beads-export", "examples/beads/export.jsonl", Options{}},
	{"phase", "examples/phase/02-storage", Options{}},
	{"phase-pending", "examples/phase/02-storage", Options{PendingOnly: true}},
	{"phase-one", "examples/phase/02-storage/02-03-PLAN.md", Options{}},
	{"folder", "examples/prompts", Options{}},
	{"list-of-ids", "001,gh-7", Options{PromptsDir: "examples/prompts"}},
	{"list-of-files", "examples/prompts/001-upgrade.md, examples/prompts/002-flaky-tests.md", Options{}},
	{"one-id", "002", Options{PromptsDir: "examples/prompts"}},
	{"prompt-file", "examples/prompts/001-upgrade.md", Options{}},
	{"prompt-text", "Find the slowest test and make it fast.", Options{}},
}

func TestEveryExampleHasItsWaves(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range examples {
		t.Run(c.golden, func(t *testing.T) {
			c.options.Dir = root
			p, err := Load(nil, c.arg, c.options)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "examples/"+c.golden+".txt", strings.ReplaceAll(dump(p), root, "ROOT"))
		})
	}
}
