package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// obeys returns an error if the YAML in text does not match the schema s.
func obeys(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	jsonText, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(jsonText))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func reads(text string) Problems {
	r := &reporter{file: "plan.yaml"}
	root := r.tree([]byte(text))
	if len(r.problems) == 0 {
		d := readPlan("plan.yaml", root, r)
		d.check(r, "task")
	}
	return r.problems
}

func TestTheSchemaAcceptsTheExamples(t *testing.T) {
	s := compiled(t)
	for _, file := range []string{"quickstart", "release"} {
		data, err := os.ReadFile(filepath.Join("../../examples", file, "plan.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := obeys(t, s, string(data)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// beyond lists broken plans that match the schema, but that the reader rejects. The schema cannot
// express these rules, because they are about several tasks, about a task and the plan, or about
// other files.
var beyond = []string{
	"references", "cycle", "cycle-by-waves", "prompt-files",
}

// Both the schema and the reader must reject each of these lines in a task.
func TestTheSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	s := compiled(t)
	for _, line := range []string{
		"promt: x", "name: ''", "name: []", "timeout: 30", "timeout: half", "retries: -1", "retries: 101", "retries: many",
		"worktree: maybe", "questions: maybe", "wave: 0", "env: [a]", "env: {a-b: c}", "env: {a: []}",
		"budget: 5", "budget: {usd: -1}", "budget: {eur: 1}", "after: {a: b}", "verify: [[a]]", "prompt_file: x", "command: x",
	} {
		text := "tasks:\n- id: a\n  prompt: x\n  " + line + "\n"
		if reads(text) == nil {
			t.Errorf("the reader accepts %s", line)
		}
		if obeys(t, s, text) == nil {
			t.Errorf("the schema accepts %s", line)
		}
	}
	for _, name := range []string{"misspelt-keys", "wrong-shapes", "durations", "words", "no-prompt", "no-tasks", "tasks-missing", "tasks-mapping"} {
		data, err := os.ReadFile("testdata/broken/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if obeys(t, s, string(data)) == nil {
			t.Errorf("the schema accepts %s", name)
		}
	}
	for _, name := range beyond {
		data, err := os.ReadFile("testdata/broken/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := obeys(t, s, string(data)); err != nil {
			t.Errorf("the schema refuses %s, so it is not beyond it: %v", name, err)
		}
	}
}

// plans returns a plan for each key that contains the example of the key.
func plans() map[string]string {
	all := map[string]string{}
	for _, f := range planKeys() {
		all["plan "+f.name] = f.example + "\n"
		if f.name != "tasks" {
			all["plan "+f.name] += "tasks:\n- {id: a, prompt: x}\n"
		}
	}
	for _, f := range budgetKeys() {
		all["budget "+f.name] = "budget:\n  " + f.example + "\ntasks:\n- {id: a, prompt: x}\n"
	}
	for _, f := range permissionKeys() {
		all["permissions "+f.name] = "defaults:\n  permissions:\n    " + f.example + "\ntasks:\n- {id: a, prompt: x}\n"
	}
	indent := func(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") + "\n" }
	for _, f := range defaultKeys() {
		all["default "+f.name] = "defaults:\n  answer_timeout: 1m\n" + indent(f.example) + "tasks:\n- {id: x, prompt: x}\n"
	}
	delete(all, "default answer_timeout")
	for _, f := range taskKeys() {
		task := "tasks:\n- {id: schema, prompt: x}\n- {id: login, prompt: x}\n-\n"
		rest := map[string]string{"id": "id: a", "prompt": "prompt: x", "answer_timeout": "answer_timeout: 1m"}
		delete(rest, f.name)
		if f.name == "prompt_file" {
			delete(rest, "prompt")
		}
		for _, line := range rest {
			task += indent(line)
		}
		all["task "+f.name] = task + indent(f.example)
	}
	return all
}

func TestEveryFieldsExampleIsAPlanForReaderAndSchema(t *testing.T) {
	s := compiled(t)
	for name, text := range plans() {
		if problems := reads(text); problems != nil {
			t.Errorf("%s: %v\n%s", name, problems, text)
		}
		if err := obeys(t, s, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestEveryFieldIsDocumentedWithItsExample(t *testing.T) {
	data, err := os.ReadFile("../../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	check := func(name, doc, example string) {
		if !strings.Contains(page, "| `"+name+"` | "+doc+" |") {
			t.Errorf("docs/plans.md has no row | `%s` | %s |", name, doc)
		}
		for line := range strings.SplitSeq(example, "\n") {
			if !strings.Contains(page, strings.TrimSpace(line)) {
				t.Errorf("docs/plans.md has no example of %s: %s", name, line)
			}
		}
	}
	for _, f := range planKeys() {
		check(f.name, f.doc, f.example)
	}
	for _, f := range taskKeys() {
		check(f.name, f.doc, f.example)
	}
	for _, f := range budgetKeys() {
		check(f.name, f.doc, f.example)
	}
	for _, f := range permissionKeys() {
		check(f.name, f.doc, f.example)
	}
}
