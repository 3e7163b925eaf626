package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/host"
)

// files writes the files, given as names and contents, to a temporary folder and returns its path.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ids(p Plan) string {
	var ids []string
	for _, t := range p.Tasks {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, " ")
}

func TestTheFormatIsFoundOut(t *testing.T) {
	dir := files(t, map[string]string{
		"plan.yaml":           "tasks: [{id: a, prompt: x}]",
		"plan.json":           `{"tasks": [{"id": "a", "prompt": "x"}]}`,
		"flow.yml":            "workflows: {w: {base: main, branch: b, prompts: {p: {path: one.md}}}}",
		"graph.md":            "## Dependency Graph\n```\n001\n```\n",
		"waves.md":            "### Wave 0: first\n- `001-a.md`\n### Wave 1: then\n- `002-b.md`\n",
		"one.md":              "Do it in one wave.",
		"notes.txt":           "Do it.",
		"work.jsonl":          `{"bead": "bd-1", "prompt": "x"}`,
		"phase/01-01-PLAN.md": "---\nwave: 1\n---\nx",
		"prompts/001-a.md":    "a",
		"prompts/002-b.md":    "b",
		"twins/005-a.md":      "a",
		"twins/005-b.md":      "b",
		"twins/README.md":     "not a prompt",
		"twins/000-order.md":  "### Wave 1: all\n- `005-a.md`\n",
	})
	for arg, want := range map[string]struct {
		format Format
		ids    string
		source string
	}{
		"plan.yaml":           {Gaffer, "a", SourceOrchestrate},
		"plan.json":           {Gaffer, "a", SourceOrchestrate},
		"flow.yml":            {WorkflowFile, "p", SourceOrchestrate},
		"graph.md":            {Orchestrator, "001", SourceOrchestrate},
		"waves.md":            {Orchestrator, "001 002", SourceOrchestrate},
		"one.md":              {PromptFile, "one", SourceRunPrompt},
		"notes.txt":           {PromptFile, "notes", SourceRunPrompt},
		"work.jsonl":          {Beads, "bd-1", SourceRunPrompt},
		"phase":               {Phase, "01-01", SourceExecutePhase},
		"phase/01-01-PLAN.md": {Phase, "01-01", SourceExecutePhase},
		"prompts":             {Folder, "001 002", SourceOrchestrate},
		"twins":               {Folder, "005-a 005-b", SourceOrchestrate},
		"001":                 {List, "001", SourceRunPrompt},
		"001, 002":            {List, "001 002", SourceOrchestrate},
		"one.md,002":          {List, "one 002", SourceOrchestrate},
		"fix it":              {PromptText, "prompt", SourceRunPrompt},
		"fix a, b and c":      {PromptText, "prompt", SourceRunPrompt},
		"update one.md today": {PromptText, "prompt", SourceRunPrompt},
		"line\nline":          {PromptText, "prompt", SourceRunPrompt},
	} {
		p, err := Load(nil, arg, Options{Dir: dir})
		if err != nil || p.Format != want.format || ids(p) != want.ids || p.Source != want.source {
			t.Errorf("%q: %v; %s %s %s, want %v", arg, err, p.Format, ids(p), p.Source, want)
		}
	}
}

func TestAMissingFileWhoseNameHasSpacesIsNoPrompt(t *testing.T) {
	dir := files(t, map[string]string{"my plans/the big plan v2.yaml": "tasks: [{id: a, prompt: x}]"})
	_, err := Load(nil, "my plans/the big plan v3.yaml", Options{Dir: dir})
	if e, ok := errors.AsType[*NameError](err); !ok || !e.NotFound() || e.Hint() != `did you mean "my plans/the big plan v2.yaml"?` {
		t.Errorf("got %v", err)
	}
	for _, prompt := range []string{"do what is in my plans/notes.md", "/review all of notes.md", "read no/such folder/a b.md"} {
		if p, err := Load(nil, prompt, Options{Dir: dir}); err != nil || p.Format != PromptText {
			t.Errorf("%q: %v; %s", prompt, err, p.Format)
		}
	}
	if p, err := Load(nil, "my plans/the big plan v3.yaml", Options{Dir: dir, Format: PromptText}); err != nil || p.Format != PromptText {
		t.Errorf("what is said to be a prompt: %v; %s", err, p.Format)
	}
}

func TestWhatNamesNoPlanIsRefused(t *testing.T) {
	dir := files(t, map[string]string{"plan.yaml": "tasks: [{id: a, prompt: x}]"})
	for arg, want := range map[string]string{
		"plna.yaml":      `did you mean "plan.yaml"?`,
		"hello":          "",
		"two words.yaml": "",
		"":               "",
	} {
		_, err := Load(nil, arg, Options{Dir: dir})
		e, ok := errors.AsType[*NameError](err)
		if !ok || e.Hint() != want || e.NotFound() == e.Usage() {
			t.Errorf("%q: %v, want the hint %q", arg, err, want)
		}
	}
	_, err := Load(nil, "plan.yaml", Options{Dir: dir, Format: "gafer"})
	if e, ok := errors.AsType[*NameError](err); !ok || e.Hint() != `did you mean "gaffer"?` {
		t.Errorf("got %v", err)
	}
	if _, err := Load(nil, "none.yaml", Options{Dir: dir, Format: Gaffer}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAListWithUnknownNamesTellsAll(t *testing.T) {
	dir := files(t, map[string]string{"prompts/001-a.md": "a", "other.md": "o"})
	_, err := Load(nil, "001,003,othr.md", Options{Dir: dir})
	problems, _ := errors.AsType[Problems](err)
	if len(problems) != 2 || problems[1].Suggestion != "other.md" {
		t.Errorf("got %v", err)
	}
}

func TestTheFirstPromptWithAnIdIsTaken(t *testing.T) {
	dir := files(t, map[string]string{
		"plans/order.md":           "### Wave 1: all\n- `001-x.md`\n- `002-y.md`\n",
		"plans/001-beside.md":      "beside",
		"prompts/deep/001-deep.md": "deep",
		"prompts/deep/002-deep.md": "deep",
		"prompts/002-shallow.md":   "shallow",
		"prompts/002-01-other.md":  "of another id",
		"prompts/.git/002-aaaa.md": "hidden",
	})
	p, err := Load(nil, "plans/order.md", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Tasks[0].Prompt + " " + p.Tasks[1].Prompt; got != "beside shallow" {
		t.Errorf("got %s", got)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, "002 belongs to 2 files; prompts/002-shallow.md is used") {
		t.Errorf("warnings: %v", p.Warnings)
	}
}

func TestOverlappingFilesAreReportedAndSeparated(t *testing.T) {
	dir := files(t, map[string]string{"plan.yaml": `tasks:
  - {id: a, prompt: x, files: src}
  - {id: b, prompt: x, files: [src/b.go]}
  - {id: c, prompt: x, files: ["src/*.md", docs]}
  - {id: d, prompt: x, files: docs/d.md}
`})
	p, err := Load(nil, "plan.yaml", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := `plan.yaml:3: a and b may run at the same time and change the same files (src and src/b.go)
plan.yaml:4: a and c may run at the same time and change the same files (src and src/*.md)
plan.yaml:5: c and d may run at the same time and change the same files (docs and docs/d.md)`
	if got := p.Warnings.Error(); got != want {
		t.Errorf("got\n%s", got)
	}
	p, err = Load(nil, "plan.yaml", Options{Dir: dir, SeparateFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Waves()); got != "[[a d] [b c]]" {
		t.Errorf("got %s", got)
	}
}

// slow is the limit for the CPU time of a test. Every test takes much less, even with the race
// detector.
const slow = time.Minute

// cpuTime returns how much CPU time this process has used. Unlike elapsed time, it does not depend
// on other processes.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestHostileFilesAreRefusedAtOnce(t *testing.T) {
	testenv.Integration(t)
	dir := files(t, map[string]string{
		"deep.yaml":     "tasks: " + strings.Repeat("[", 30_000),
		"dashes.yaml":   strings.Repeat("- ", 30_000),
		"indents.yaml":  indented(1500),
		"keys.yaml":     many(30_000, "k%d: v\n"),
		"docs.yaml":     strings.Repeat("---\na: b\n", 30_000),
		"colons.yaml":   strings.Repeat("a: ", 30_000),
		"tags.yaml":     strings.Repeat("- !a\n", 30_000),
		"nul.yaml":      strings.Repeat("\x00", 30_000),
		"wide.yaml":     "tasks: [{id: a, prompt: x, after: [" + many(30_000, "t%d,") + "]}]",
		"many.yaml":     "tasks:\n" + many(20_100, "- {id: t%d, prompt: x}\n"),
		"rail.md":       "## Dependency Graph\n```\n" + drawn(5_000, 1, " ──┤") + drawn(10_000, 1, " <──┤") + "```\n",
		"row.md":        "## Dependency Graph\n```\n" + drawn(20_000, 400, "") + "```\n",
		"deep.jsonl":    `{"bead": "a", "prompt": ` + strings.Repeat("[", 30_000),
		"garbage.jsonl": strings.Repeat("x\n", 2_000_000),
		"nul.jsonl":     strings.Repeat("\x00", 30_000),
		"binary.jsonl":  "{}\n\xff\xfe",
		"long.jsonl":    `{"bead": "a", "prompt": "` + strings.Repeat("x", 5<<20) + `"}`,
		"prompt.jsonl":  `{"bead": "a", "prompt": "` + strings.Repeat("x", 3<<20) + `"}`,
		"keys.jsonl":    "{" + many(100_000, `"k%d": 1,`) + `"k": 1}`,
		"many.jsonl":    many(20_100, `{"bead": "b%d", "prompt": "x"}`+"\n"),
		"epics.jsonl":   epics(3_000),
		"nested.jsonl":  nested(10_000),
		"line.md":       "## Dependency Graph\n```\n" + strings.Repeat("001-1 ", 500_000) + "\n```\n",
	})
	huge := filepath.Join(dir, "huge.yaml")
	if err := os.WriteFile(huge, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 100<<20); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			start := cpuTime(t)
			_, err := Load(nil, e.Name(), Options{Dir: dir})
			invalid, ok := errors.AsType[interface {
				error
				Invalid() bool
			}](err)
			if !ok || !invalid.Invalid() {
				t.Errorf("%.300v", err)
			}
			if took := cpuTime(t) - start; took > slow {
				t.Errorf("took %v", took)
			} else {
				t.Logf("%v %.120v", took, err)
			}
		})
	}
}

// epics returns a file of beads with two epics, each with n parts. The second epic waits for the
// first.
func epics(n int) string {
	return `{"id": "e1", "title": "x", "issue_type": "epic"}` + "\n" +
		`{"id": "e2", "title": "x", "issue_type": "epic", "dependencies": [{"depends_on_id": "e1"}]}` + "\n" +
		many(n, `{"id": "a%d", "title": "x", "dependencies": [{"depends_on_id": "e1", "type": "parent-child"}]}`+"\n") +
		many(n, `{"id": "b%d", "title": "x", "dependencies": [{"depends_on_id": "e2", "type": "parent-child"}]}`+"\n")
}

// nested returns a file of beads with n epics. Each epic is a part of the previous one, and waits
// for the first.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id": "e%d", "title": "x", "issue_type": "epic", "dependencies": [{"depends_on_id": "e%d", "type": "parent-child"}, {"depends_on_id": "e0"}]}`+"\n", i, i-1)
	}
	return b.String()
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// drawn returns a drawn graph with n ids, inRow of them in each row. rowEnd is the text at the end
// of each row.
func drawn(n, inRow int, rowEnd string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%03d-%02d  ", i/100, i%100)
		if i%inRow == inRow-1 {
			b.WriteString(rowEnd + "\n")
		}
	}
	return b.String()
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestTenThousandTasksAreRead(t *testing.T) {
	dir := files(t, map[string]string{"plan.yaml": "tasks:\n" + many(10_000, "- id: t%[1]d\n  prompt: |\n    do it\n  files: [src/%[1]d.go]\n")})
	start := cpuTime(t)
	p, err := Load(nil, "plan.yaml", Options{Dir: dir})
	if err != nil || len(p.Tasks) != 10_000 || len(p.Waves()) != 1 {
		t.Errorf("%v: %d tasks", err, len(p.Tasks))
	}
	if took := cpuTime(t) - start; took > slow {
		t.Errorf("took %v", took)
	}
}

// swapping is a host that replaces the plan's file right after the loader has opened it.
type swapping struct {
	host.Host
	text string
}

func (s swapping) Open(op host.Op, name string) (host.File, error) {
	f, err := s.Host.Open(op, name)
	if err == nil && filepath.Ext(name) == ".yaml" {
		_ = os.Remove(name) // a process that has already opened the file still reads the old content
		err = os.WriteFile(name, []byte(s.text), 0o600)
	}
	return f, err
}

func TestAPlanThatIsSavedWhileItIsReadIsOneOfTheTwo(t *testing.T) {
	const first, second = "name: first\ntasks: [{id: a, prompt: x}]\n", "workflows: {second: {prompts: []}}\n"
	dir := files(t, map[string]string{"plan.yaml": first})
	p, err := Load(swapping{host.OS(), second}, filepath.Join(dir, "plan.yaml"), Options{})
	if err != nil || p.Format != Gaffer || p.Name != "first" {
		t.Errorf("%s plan %q, %v; want the first, as it was when it was opened", p.Format, p.Name, err)
	}
}
