package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const night = `name: night
defaults: {agent: codex, timeout: 30m, verify: make}
parallel: 3
budget: {usd: 9}
source:
  limit: 5
  template: issue.md
  report: {label: done, pr: true}
`

func TestAnOutlineHasTheDefaultsOfAPlanWithoutTasks(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "night.yaml", night)
	out, err := LoadOutline(nil, "night.yaml", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "issue.md"); out.Template != want || out.Limit != 5 || out.Report != (ItemReport{Comment: true, Label: "done", PR: true}) {
		t.Errorf("%q %d %+v", out.Template, out.Limit, out.Report)
	}
	task := out.Defaults
	task.ID, task.Prompt, task.Name = "gh-1", "x", "One"
	p, err := out.Plan("other", []Task{task})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Tasks[0]
	if p.Name != "night" || p.Parallel != 3 || p.Budget.USD != 9 || got.Agent != "codex" || got.Timeout != 30*time.Minute || len(got.Verify) != 1 || got.Questions != Ask {
		t.Errorf("%+v", p)
	}
	out, err = LoadOutline(nil, "", Options{Dir: dir})
	if p, wrong := out.Plan("issues", nil); err != nil || wrong != nil || p.Name != "issues" || p.OnFailure != Continue || out.Defaults.Questions != Ask {
		t.Errorf("without a file: %v %v %+v", err, wrong, p)
	}
}

func TestAPlanHasTasksOrASource(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "night.yaml", night)
	writeFile(t, dir, "both.yaml", night+"tasks: [{id: a, prompt: x}]\n")
	if _, err := Load(nil, "night.yaml", Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "the tasks of this plan come from a source: name it with --from") {
		t.Errorf("without --from: %v", err)
	}
	if p, err := Load(nil, "both.yaml", Options{Dir: dir}); err != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, "source has no effect") {
		t.Errorf("both: %v %v", err, p.Warnings)
	}
	if _, err := LoadOutline(nil, "both.yaml", Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "must not have tasks") {
		t.Errorf("both with --from: %v", err)
	}
	writeFile(t, dir, "a.md", "A prompt.")
	if _, err := LoadOutline(nil, "a.md", Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "is no plan in gaffer's own format") {
		t.Errorf("a prompt: %v", err)
	}
}

func TestATableHasOneTaskOnEachLine(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "night.yaml", "defaults: {agent: codex, retries: 1}\n")
	writeFile(t, dir, "tasks.csv", "\ufeffID,title,prompt,retries,after,verify\r\n"+
		"one,The first,\"Do it,\nthen stop.\",,,\r\n"+
		"two,,Do that,3,\"[\"\"one\"\"]\",go test: all\r\n")
	writeFile(t, dir, "tasks.jsonl", `{"id": "one", "title": "The first", "prompt": "Do it,\nthen stop.", "model": null}

{"id": "two", "prompt": "Do that", "retries": 3, "after": ["one"], "verify": "go test: all"}
`)
	out, err := LoadOutline(nil, "night.yaml", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	task := func(id, name, prompt string) Task {
		t := out.Defaults
		t.ID, t.Name, t.Prompt = id, name, prompt
		return t
	}
	one, two := task("one", "The first", "Do it,\nthen stop."), task("two", "", "Do that")
	two.Retries, two.After, two.Verify = 3, []string{"one"}, []string{"go test: all"}
	for _, file := range []string{"tasks.csv", "tasks.jsonl"} {
		got, err := out.Table(file)
		for i := range got {
			got[i].FileEntry = FileEntry{}
		}
		if diff := cmp.Diff([]Task{one, two}, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", file, err, diff)
		}
	}
}

func TestATableThatIsNotValidSaysWhereAndWhy(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ file, text, want string }{
		{"a.csv", "id,titel,prompt\na,b,c\n", `a.csv:1:4: a task has no key "titel"; did you mean "title"?`},
		{"a.csv", "id,prompt,id\na,b,c\n", `the column "id" is there twice`},
		{"a.csv", "id,prompt\na,\"b\n", "not CSV"},
		{"a.csv", "id,prompt\na,b,c\n", "wrong number of fields"},
		{"a.csv", "id,prompt\na,b\na,c\n", `a.csv:3:1: the id "a" is already used by the task in line 2`},
		{"a.csv", "id,title\na,b\n", "a task needs prompt"},
		{"a.csv", "id,prompt,retries\na,b,many\n", "a.csv:2:5: retries: found \"many\", want a whole number"},
		{"a.csv", "id,prompt\n../a,b\n", `the id "../a"`},
		{"a.csv", "id,prompt\na,\xff\n", "not text"},
		{"a.jsonl", `{"id": "a"`, "a.jsonl:1:11: not JSON"},
		{"a.jsonl", `["a"]`, "a line is one task such as"},
		{"a.jsonl", `{"id": "a", "prompt": "x", "bead": "y"}`, `a task has no key "bead"`},
	} {
		writeFile(t, dir, c.file, c.text)
		out, err := LoadOutline(nil, "", Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := out.Table(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, file := range []string{"empty.csv", "empty.jsonl"} {
		writeFile(t, dir, file, "")
		out, _ := LoadOutline(nil, "", Options{Dir: dir})
		if got, err := out.Table(file); err != nil || len(got) != 0 {
			t.Errorf("%s: %v %v", file, got, err)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add("id,prompt\na,b\n", true)
	f.Add("id,prompt,after\na,b,\"[\"\"c\"\"]\"\n", true)
	f.Add(`{"id": "a", "prompt": "b"}`, false)
	f.Fuzz(func(t *testing.T, text string, asCSV bool) {
		l, err := newLoader(nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		name := "x.jsonl"
		if asCSV {
			name = "x.csv"
		}
		for _, n := range l.tableRows(name, []byte(text)) {
			readTask(&l.reporter, n, tableKeys(), planDocument{})
		}
	})
}
