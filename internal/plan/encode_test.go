package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/plan/secret"
)

// encoded holds plans that together use all features, by name. For each plan, a golden file
// contains its JSON.
var encoded = map[string]Plan{
	"plan": {
		Name: "release", Format: Gaffer, Source: SourceOrchestrate, SourceFile: "plan.yaml", Parallel: 3, OnFailure: StopNow,
		Budget: Budget{USD: 2.5, Tokens: 100000}, Warnings: Problems{{File: "plan.yaml", Line: 3, Column: 5, Text: "odd", Suggestion: "even"}},
	},
	"prompt":   planOf(Task{ID: "a", Name: "The first", Prompt: "Do it.\n", PromptFile: "prompts/a.md", Agent: "claude", Model: "opus"}),
	"command":  planOf(Task{ID: "a", Agent: CommandAgent, Argv: []string{"sh", "-c", "a && b"}}),
	"order":    {Tasks: []Task{{ID: "a", Wave: 1, Priority: -3}, {ID: "b", Wave: 2, After: []string{"a"}}}},
	"limits":   planOf(Task{ID: "a", Limits: Limits{Timeout: time.Hour, StallTimeout: time.Minute, Retries: 2, Budget: Budget{USD: 0.5, Tokens: 7}}}),
	"checks":   planOf(Task{ID: "a", Verify: []string{"go vet ./...", "go test ./..."}}),
	"worktree": planOf(Task{ID: "a", Isolation: Isolation{Worktree: true, Branch: "feature/a", SharedWorktree: "shared", Base: "main"}}),
	"landing":  planOf(Task{ID: "a", Isolation: Isolation{Worktree: true, Land: LandMerge, Into: "develop"}}),
	"environment": planOf(Task{ID: "a", Labels: []string{"gpu"}, Files: []string{"docs/*.md"}, Env: map[string]secret.Value{
		"A_TEXT": secret.Text("8080"), "B_ENV": {From: secret.Env, Name: "KEY"}, "C_FILE": {From: secret.File, Path: "~/key"},
		"D_COMMAND": {From: secret.Command, Argv: []string{"pass", "show", "key"}},
	}}),
	"questions": planOf(Task{ID: "a", QuestionRules: QuestionRules{Questions: Ask, AnswerTimeout: time.Minute, AnswerDefault: "no"}}),
	"permissions": planOf(Task{ID: "a", Permissions: Permissions{
		Allow: []string{"Bash(go test:*)"}, Deny: []string{"WebFetch"}, Ask: []string{"Bash(git push:*)"},
	}}),
	"sandbox": planOf(Task{ID: "a", Sandbox: Sandbox{
		Mode: SandboxContainer, Network: NetworkList, Hosts: []string{"api.example"}, Write: []string{"/srv/cache"}, Read: []string{"/srv/data"}, Image: "golang",
	}}),
	"fallback": planOf(Task{ID: "a", Agent: "claude", Fallback: []string{"codex", "claude:haiku"}}),
	"fork":     planOf(Task{ID: "a", Fork: &Fork{Run: "20261118-070000-4cebc8bf", Task: "a", Attempt: 2, Turn: 3, Thread: "t1", Point: "p1", Prompt: "Go on.", Input: 100, Output: 20, Cached: 10}}),
	"item":     planOf(Task{ID: "a", Item: SourceItem{Source: "gh:ada/shop", ID: "12", URL: "https://git.example/ada/shop/12", Title: "Login fails", Take: TakeAgain, Report: ItemReport{Comment: true, Label: "done", PR: true}}}),
	"bead": planOf(Task{ID: "a", Dispatch: &Dispatch{
		Bead: "bd-1", Ledger: "/srv/state", Repo: "/srv/repo", Template: "bug-fix", Vars: map[string]string{"FILE": "a.go"}, Session: "agent-bd-1", Earlier: 2,
	}}),
	"contest": {Tasks: []Task{
		{ID: "a.claude", Candidate: "a"},
		{ID: "a", Pick: &Pick{By: PickJudge, Candidates: []string{"a.claude"}, JudgeTask: "a.judge", IsJudge: true, Goal: "Do it.", Rubric: "small"}},
	}},
	"step":   planOf(Task{ID: "a", Step: json.RawMessage(`{"id":"pm-1"}`), KeepMessage: true}),
	"source": planOf(Task{ID: "a", FileEntry: FileEntry{Done: true, CheckboxFile: "/srv/project/plan.md", Line: 12}}),
	"workflow": {Workflow: &Workflow{
		ID: "login", Base: "main", Branch: "gh-12", OnComplete: OnComplete{CreatePR: true, MergeTo: "main", DeleteWorktree: true},
	}},
	"build": {Build: json.RawMessage(`{"run":{}}`)},
	"team":  {Team: json.RawMessage(`{"session":"v4"}`)},
}

func planOf(t Task) Plan { return Plan{Tasks: []Task{t}} }

func TestTheJSONFormOfAPlanStaysTheSame(t *testing.T) {
	for name, p := range encoded {
		text, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("json", name+".json"), prettyJSON(t, text))
		read, err := Decode(text)
		if diff := cmp.Diff(p, read); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	text, err := EncodeTask(encoded["prompt"].Tasks[0])
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "json/task.json", prettyJSON(t, text))
	read, err := DecodeTask(text)
	if diff := cmp.Diff(encoded["prompt"].Tasks[0], read); err != nil || diff != "" {
		t.Errorf("task: %v\n%s", err, diff)
	}
}

// If a field had no json tag, its JSON name would change when the Go field is renamed. If no golden
// file contained the field, no test would notice the changed name.
func TestEachFieldOfAPlanHasAJSONNameThatAGoldenFileContains(t *testing.T) {
	var all bytes.Buffer
	for _, p := range encoded {
		text, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, part := range []any{Plan{}, Budget{}, Task{}, Permissions{}, Sandbox{}, SourceItem{}, ItemReport{}, Dispatch{}, Pick{}, Workflow{}, OnComplete{}, Problem{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(part)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "-" { // fields without a JSON name are used only while a plan is read
				continue
			}
			if name == "" || !bytes.Contains(all.Bytes(), []byte(`"`+name+`":`)) {
				t.Errorf("%T.%s has the JSON name %q, which no golden file contains", part, f.Name, name)
			}
		}
	}
}

// A gaffer that did not write versions has written this golden file.
func TestAPlanWithoutAVersionIsRead(t *testing.T) {
	text, err := os.ReadFile("testdata/json/without-version.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(again, &got)); err != nil {
		t.Fatal(err)
	}
	if got["Version"] != 1.0 {
		t.Errorf("the version is %v", got["Version"])
	}
	delete(got, "Version")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPlanOfANewerVersionIsRefused(t *testing.T) {
	newer := []byte(`{"Version":3,"Name":{"en":"x"},"ID":7}`)
	_, whole := Decode(newer)
	_, header := DecodeHeader(newer)
	_, task := DecodeTask(newer)
	for what, err := range map[string]error{"Decode": whole, "DecodeHeader": header, "DecodeTask": task} {
		if v, ok := errors.AsType[*VersionError](err); !ok || v.Found != 3 || v.Hint() == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheHeaderOfAPlanIsReadWithoutItsTasks(t *testing.T) {
	text := []byte(`{"Version":1,"Name":"x","Tasks":[{"ID":7}],"Team":{"session":"v4"}}`)
	p, err := DecodeHeader(text)
	if err != nil || p.Name != "x" || string(p.Team) != `{"session":"v4"}` || p.Tasks != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

func prettyJSON(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	return b.String()
}
