package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// loadBeads loads a file of beads that consists of the given lines.
func loadBeads(t *testing.T, lines ...string) Plan {
	t.Helper()
	dir := files(t, map[string]string{"work.jsonl": strings.Join(lines, "\n")})
	p, err := Load(nil, "work.jsonl", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestABeadIsATaskOfALedger(t *testing.T) {
	dir := files(t, map[string]string{
		"api/go.mod":      "module api",
		"work/long.md":    "A long story.",
		"work/work.jsonl": `{"bead": "bd-1", "prompt": "x", "repo": "../api", "agent": "codex:gpt-5:high", "branch": "fix/1", "timeout": "30m", "retries": 1, "env": {"PORT": 8080}}` + "\n" + `{"bead": "bd-2", "prompt_file": "long.md", "agent": "claude", "model": "opus"}`,
	})
	p, err := Load(nil, "work/work.jsonl", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	one, two := p.Tasks[0], p.Tasks[1]
	if one.Dispatch.Bead != "bd-1" || one.Dispatch.Repo != filepath.Join(dir, "api") || one.Agent != "codex" || one.Model != "gpt-5:high" {
		t.Errorf("got %+v of %+v", one.Dispatch, one)
	}
	if one.Branch != "fix/1" || !one.Worktree || one.Timeout != 30*time.Minute || one.Retries != 1 || one.Env["PORT"].Text != "8080" {
		t.Errorf("got %+v", one)
	}
	if two.Prompt != "A long story." || two.Agent != "claude" || two.Model != "opus" || two.Dispatch.Repo != "" || two.Line != 2 {
		t.Errorf("got %+v of %+v", two.Dispatch, two)
	}
}

func TestATemplateNeedsNoPrompt(t *testing.T) {
	p := loadBeads(t,
		`{"bead": "bd-1", "template": "bug-fix", "vars": {"FILE": "x.go", "LINE": 7}}`,
		`{"bead": "bd-2", "template": "bug-fix", "prompt": "It crashes."}`)
	one, two := p.Tasks[0], p.Tasks[1]
	if one.Prompt != "" || one.Dispatch.Template != "bug-fix" || one.Dispatch.Vars["FILE"] != "x.go" || one.Dispatch.Vars["LINE"] != "7" {
		t.Errorf("got %+v of %+v", one.Dispatch, one)
	}
	if two.Prompt != "It crashes." || two.Dispatch.Vars != nil {
		t.Errorf("got %+v of %+v", two.Dispatch, two)
	}
}

func TestTheMostUrgentBeadGoesFirst(t *testing.T) {
	p := loadBeads(t,
		`{"bead": "low", "prompt": "x", "priority": 4}`,
		`{"bead": "unsaid", "prompt": "x"}`,
		`{"id": "high", "title": "x", "priority": 1}`,
		`{"bead": "highest", "prompt": "x", "priority": 0}`)
	slices.SortStableFunc(p.Tasks, func(a, b Task) int { return b.Priority - a.Priority })
	if got := ids(p); got != "highest high unsaid low" {
		t.Errorf("got %s", got)
	}
}

func TestJSONIsReadAsItIsMeant(t *testing.T) {
	p := loadBeads(t, "\ufeff  # a remark\r", "", "\t// another\r", `{"bead":"bd-1","prompt":"\ud83d\ude00 a: b\n\t\u003e #c \/","labels":[],"after":null}`+"\r")
	if got := p.Tasks[0].Prompt; got != "😀 a: b\n\t> #c /" {
		t.Errorf("got %q", got)
	}
}

func TestAnExportMayHaveAnyOtherKey(t *testing.T) {
	p := loadBeads(t,
		`{"id":"bd-1","title":" One ","description":null,"design":"","notes":"N","dependencies":null,"labels":["gpu"],"notez":1,"timeout":5000,"metadata":{"a":[{}]},"comments":[{"text":"x"}],"priority":null}`,
		`{"_type":"memory","key":"k","value":"v"}`)
	one := p.Tasks[0]
	if ids(p) != "bd-1" || one.Prompt != "One\n\n## Notes\n\nN\n" || one.Labels != nil || one.Timeout != BeadTimeout || one.Priority != -2 || len(p.Warnings) != 0 {
		t.Errorf("got %+v, %v", p.Tasks, p.Warnings)
	}
}

// exported returns one line in the tracker's export format. links are the ids of beads that this
// bead waits for. A link such as ^e1 means that the bead is a part of e1.
func exported(id, kind, status string, links ...string) string {
	var deps []string
	for _, l := range links {
		to, part := strings.CutPrefix(l, "^")
		word := "blocks"
		if part {
			word = "parent-child"
		}
		deps = append(deps, fmt.Sprintf(`{"issue_id":%q,"depends_on_id":%q,"type":%q}`, id, to, word))
	}
	return fmt.Sprintf(`{"id":%q,"title":"x","issue_type":%q,"status":%q,"dependencies":[%s]}`, id, kind, status, strings.Join(deps, ","))
}

func TestWhatAnExportWaitsFor(t *testing.T) {
	epic := func(id string, links ...string) string { return exported(id, "epic", "open", links...) }
	task := func(id string, links ...string) string { return exported(id, "task", "open", links...) }
	closed := func(id string, links ...string) string { return exported(id, "task", "closed", links...) }
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a closed bead is not waited for":                 {[]string{closed("a"), task("b", "a")}, "[[b]]"},
		"nor is one that was deleted":                     {[]string{exported("a", "task", "tombstone"), task("b", "a")}, "[[b]]"},
		"nor what a closed bead waited for":               {[]string{task("z"), closed("a", "z"), task("b", "a")}, "[[z b]]"},
		"an open one is":                                  {[]string{task("a"), task("b", "a")}, "[[a] [b]]"},
		"one of another name is not there":                {[]string{task("b", "a")}, "[[b]]"},
		"an epic stands for its parts":                    {[]string{epic("e"), task("a", "^e"), task("b", "e")}, "[[a] [b]]"},
		"also for parts of parts":                         {[]string{epic("e"), epic("f", "^e"), task("a", "^f"), task("b", "e")}, "[[a] [b]]"},
		"not for those that are closed":                   {[]string{epic("e"), closed("a", "^e"), task("b", "e")}, "[[b]]"},
		"and not at all once it is closed":                {[]string{exported("e", "epic", "closed"), task("a", "^e"), task("b", "e")}, "[[a b]]"},
		"its parts wait for what it waits for":            {[]string{task("a"), epic("e", "a"), task("b", "^e")}, "[[a] [b]]"},
		"also parts of parts":                             {[]string{task("a"), epic("e", "a"), epic("f", "^e"), task("b", "^f")}, "[[a] [b]]"},
		"an epic after an epic":                           {[]string{epic("e"), epic("f", "e"), task("b", "^f"), task("a", "^e"), task("c", "^f")}, "[[a] [b c]]"},
		"an epic without parts passes on its waits":       {[]string{task("a"), epic("e", "a"), task("b", "e")}, "[[a] [b]]"},
		"an epic that waits for its parts is no circle":   {[]string{epic("e", "a", "b"), task("a", "^e"), task("b", "^e")}, "[[a b]]"},
		"nor is a part that waits for its epic":           {[]string{epic("e"), task("a", "^e", "e"), task("b", "^e", "e")}, "[[a b]]"},
		"epics in each other are no endless loop":         {[]string{epic("e", "^f"), epic("f", "^e"), task("a", "^e"), task("b", "f")}, "[[a] [b]]"},
		"our own form waits for epics, too":               {[]string{epic("e"), task("a", "^e"), `{"bead": "b", "prompt": "x", "after": "e"}`}, "[[a] [b]]"},
		"a bead that was put off takes along its waiters": {[]string{exported("a", "task", "deferred"), task("b", "a"), task("c", "b"), task("d")}, "[[d]]"},
		"an epic that was put off its parts":              {[]string{exported("e", "epic", "deferred"), task("a", "^e"), task("b", "e"), task("d")}, "[[d]]"},
		"a gate is for others to open":                    {[]string{exported("g", "gate", "open"), task("a", "g"), task("d")}, "[[d]]"},
		"a status that is not known is left alone":        {[]string{exported("a", "task", "in_review"), task("d")}, "[[d]]"},
		"the rest of a circle that is put off":            {[]string{exported("a", "task", "deferred", "b"), task("b", "a"), task("d")}, "[[d]]"},
		"all is closed":                                   {[]string{closed("a"), closed("b", "a")}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(loadBeads(t, c.lines...).Waves()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhichLinksAreWaits(t *testing.T) {
	for kind, want := range map[string]string{
		"blocks": "[[a] [b]]", "waits-for": "[[a] [b]]", "conditional-blocks": "[[a]]",
		"related": "[[a b]]", "discovered-from": "[[a b]]", "parent-child": "[[a b]]", "of-our-own": "[[a b]]",
	} {
		p := loadBeads(t, `{"id":"a","title":"x"}`, `{"id":"b","title":"x","dependencies":[{"depends_on_id":"a","type":"`+kind+`"}]}`)
		if got := fmt.Sprint(p.Waves()); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
}

func TestALinkBelongsToTheBeadThatItNames(t *testing.T) {
	p := loadBeads(t, `{"id":"a","title":"x","dependencies":[{"issue_id":"b","depends_on_id":"a","type":"blocks"}]}`, `{"id":"b","title":"x"}`)
	if got := fmt.Sprint(p.Waves()); got != "[[a] [b]]" {
		t.Errorf("got %s", got)
	}
}

func TestAnEmptyExportIsNoPlan(t *testing.T) {
	dir := files(t, map[string]string{"work.jsonl": `{"_type":"memory","key":"k","value":"v"}`})
	_, err := Load(nil, "work.jsonl", Options{Dir: dir})
	if problems, ok := errors.AsType[Problems](err); !ok || problems[0].Text != "found no beads, want one at least" {
		t.Errorf("got %v", err)
	}
}

func TestTenThousandIssuesAreRead(t *testing.T) {
	lines := []string{exported("e", "epic", "open")}
	for i := range 10_000 {
		lines = append(lines, exported(fmt.Sprintf("a%d", i), "task", "open", "^e", fmt.Sprintf("a%d", i-1)))
	}
	lines = append(lines, exported("z", "task", "open", "e"))
	p := loadBeads(t, lines...)
	if waves := p.Waves(); len(p.Tasks) != 10_001 || len(waves) != 10_001 {
		t.Errorf("%d tasks in %d waves", len(p.Tasks), len(waves))
	}
}

func TestEveryKeyOfABeadIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	own := taskKeys()
	for _, f := range beadKeys() {
		same := slices.ContainsFunc(own, func(o keySpec[Task]) bool { return o.name == f.name && o.doc == f.doc })
		row := fmt.Sprintf("| `%s` | %s | `%s` |", f.name, f.doc, f.example)
		if !same && !strings.Contains(string(data), row) {
			t.Errorf("docs/plans.md has no row %s", row)
		}
		if !strings.Contains(string(data), "`"+f.name+"`") {
			t.Errorf("docs/plans.md does not name %s", f.name)
		}
	}
}
