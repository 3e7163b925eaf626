package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/plan/secret"
)

// bare returns a plan without the fields that its text cannot contain: where the plan and its tasks
// were read from.
func bare(p Plan) Plan {
	p.Source, p.SourceFile, p.Format, p.Warnings = "", "", "", nil
	tasks := make([]Task, len(p.Tasks))
	for i, t := range p.Tasks {
		t.FileEntry, t.PromptFile = FileEntry{}, ""
		if len(t.Env) == 0 {
			t.Env = nil
		}
		if len(t.Verify) == 0 {
			t.Verify = nil
		}
		tasks[i] = t
	}
	p.Tasks = tasks
	return p
}

// reread writes a plan and reads it again.
func reread(t *testing.T, p Plan) (again Plan, text string) {
	t.Helper()
	text, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err = Parse(nil, []byte(text), Options{Agents: []string{"own"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return again, text
}

func TestEveryExampleThatIsWrittenAndReadAgainIsTheSamePlan(t *testing.T) {
	examples := filepath.Join("..", "..", "examples")
	count := 0
	err := filepath.WalkDir(examples, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		p, err := Load(nil, path, Options{Root: examples, Agents: []string{"own"}})
		if err != nil || p.Workflow != nil {
			return nil // it is not a plan in gaffer's own format
		}
		count++
		again, text := reread(t, p)
		if diff := cmp.Diff(bare(p), bare(again)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s\n%s", path, diff, text)
		}
		return nil
	})
	if err != nil || count < 2 {
		t.Errorf("%d plans were compared: %v", count, err)
	}
}

const everyKey = `name: "release: 1.4"
defaults:
  agent: codex
  model: o9
  timeout: 1h
  verify: [go vet ./..., "echo: #1"]
  worktree: true
  land: merge
  into: develop
  permissions: {allow: "Bash(go test:*)"}
parallel: 4
on_failure: stop-now
budget: {usd: 2.5, tokens: 5000}
tasks:
  - id: "001"
    name: "yes"
    prompt: |
      Add GET /health.

        - indented
      Cover it with a "test": #1
    wave: 1
    files: [internal/api, "docs/*.md"]
    priority: -3
    budget: {usd: 0.25}
    retries: 2
    stall_timeout: 90s
    env: {PORT: 8080, EMPTY: "", KEY: {from: env, name: OTHER}, FILE: {from: file, path: ~/.k}, CMD: {from: command, argv: [pass, show, "a b"]}}
    labels: [gpu]
    questions: deny
    answer_timeout: 1h30m
    answer_default: "no, leave it"
  - id: b
    prompt: "  leading and trailing  "
    after: ["001"]
    branch: feature/api
    agent: own
    model: x
  - id: several
    prompt: Do it.
    after: [b]
    land: pr
    candidates: [claude, codex, claude:opus, claude]
    pick: judge
    judge: claude:opus
    rubric: The smallest change.
    timeout: 5m
  - id: last
    prompt: Go on.
    after: several
  - {id: sh, shell: "make && ls", verify: [], worktree: false}
  - {id: argv, command: [go, test, "-run=^X$"]}
`

func TestEveryKeyOfAPlanThatIsWrittenAndReadAgainIsTheSame(t *testing.T) {
	p, err := Parse(nil, []byte(everyKey), Options{Agents: []string{"own"}})
	if err != nil {
		t.Fatal(err)
	}
	again, text := reread(t, p)
	if diff := cmp.Diff(bare(p), bare(again)); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, text)
	}
	if _, twice := reread(t, again); twice != text {
		t.Errorf("the second text differs:\n%s\n%s", text, twice)
	}
}

func TestAnyTextOfAPromptIsReadAsItWasWritten(t *testing.T) {
	check := func(text string) bool {
		text = strings.ToValidUTF8(text, "?")
		if strings.TrimSpace(text) == "" {
			return true
		}
		p := Plan{Name: "x", OnFailure: Continue, Tasks: []Task{{ID: "a", Name: text, Prompt: text, Verify: []string{text, "b"}, QuestionRules: QuestionRules{Questions: Ask}}}}
		again, written := reread(t, p)
		diff := cmp.Diff(bare(p), bare(again))
		if diff != "" {
			t.Errorf("%q (-want +got)\n%s\n%s", text, diff, written)
		}
		return diff == ""
	}
	for _, text := range []string{
		"a", "- a", "a: b", "a #b", "#a", "'a'", "\"a", "a\nb", "a\nb\n", "a\n\n\nb\n\n", "\na", " a\nb", "a\n  b\n c", "a\tb", "\ta", "a\n\tb", "a\r\nb", "a \nb", "true", "null", "~", "0x1f", "1e3", "[a]", "{a}",
		"&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "? a", "---", "...", "a\n---\nb", "a\n...\nb", "é ü 漢字 🙂", "\u00a0a", "a\u2028b", "\u0085", "a\x00b", "\ufeffa", "a\\nb", "ends with a colon:", "a, b", "<<", "=",
		strings.Repeat("long words ", 40),
	} {
		check(text)
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
	lines := []string{"a", "", " b", "- c", "d: e", "#f", "\tg", "h ", "|", "---"}
	pieces := func(picks []uint8) bool {
		var chosen []string
		for _, n := range picks[:min(len(picks), 8)] {
			chosen = append(chosen, lines[int(n)%len(lines)])
		}
		return check(strings.Join(chosen, "\n"))
	}
	if err := quick.Check(pieces, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

func TestSecurityAHiddenValueIsACommentInTheText(t *testing.T) {
	p := Plan{Name: "x", OnFailure: Continue, Tasks: []Task{
		{ID: "a", Prompt: "Go.", Env: secret.Hide(map[string]secret.Value{"KEY": secret.Text("sesame"), "REF": {From: secret.Env}})},
		{ID: "b", Prompt: "Go.", Env: secret.Hide(map[string]secret.Value{"KEY": secret.Text("sesame")})},
	}}
	again, text := reread(t, p)
	if strings.Contains(text, "sesame") || strings.Count(text, "# ") < 2 || !strings.Contains(text, "KEY: its value is not shown") {
		t.Errorf("%s", text)
	}
	if len(again.Tasks[0].Env) != 1 || again.Tasks[0].Env["REF"].From != secret.Env || len(again.Tasks[1].Env) != 0 {
		t.Errorf("%v %v", again.Tasks[0].Env, again.Tasks[1].Env)
	}
}

func TestAPlanThatNoFileCanDescribeIsRefused(t *testing.T) {
	for what, p := range map[string]Plan{
		"a workflow": {Workflow: &Workflow{}}, "a team": {Team: []byte(`{}`)}, "a build": {Build: []byte(`{}`)},
		"a bead": {Tasks: []Task{{ID: "a", Prompt: "b", Dispatch: &Dispatch{}}}},
	} {
		if text, err := p.YAML(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v\n%s", what, err, text)
		}
	}
}
