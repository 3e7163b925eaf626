package statusline

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
)

var noon = time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)

const (
	config = `{"versions": {"external": {"current": "1.2.0"}, "spec": {"current": "2.1"}}}`
	draft  = "---\ntitle: Demo\nstatus: draft\n---\n# Demo\n"
)

// demo returns the documents of the protocol's example project.
func demo(t *testing.T) Documents {
	t.Helper()
	state, err := os.ReadFile("../../../workflow/testdata/seed/state.json")
	if err != nil {
		t.Fatal(err)
	}
	return Documents{
		Project: "demo", State: state, Config: []byte(config), Spec: []byte(draft), Head: []byte("ref: refs/heads/main\n"),
		Agent: []byte(`{"workspace": {"current_dir": "/src/demo"}, "context_window": {"used_percentage": 42}}`),
	}
}

// rows returns the rows without colour, one per line.
func rows(d Documents) string {
	return strings.Join(Render(Read(d), Format{Now: noon}), "\n")
}

// second returns the second row of a project with a spec and this state.
func second(state string) string {
	all := Render(Read(Documents{Project: "p", State: []byte(state), Spec: []byte{}}), Format{Now: noon})
	if len(all) != 2 {
		return strings.Join(all, "\n")
	}
	return all[1]
}

func TestTheProtocolsExampleGivesItsTwoRows(t *testing.T) {
	want := `demo 1.2.0 │ ⎇ main │ ▤ 2.1 │ draft │ ◐ 50%
evolve │ ▸ 2/4 │ #core-flow (2.2) │ ✓ 5/8 │ ◆ 28/40 │ △ 1 │ → Run /fctry:execute to build the new behavior`
	if diff := cmp.Diff(want, rows(demo(t))); diff != "" {
		t.Error(diff)
	}
}

func TestTheSeparatorIsFaintAndTheContextColouredByItsLevel(t *testing.T) {
	got := Render(Read(demo(t)), Format{Color: true, Now: noon})
	sep := " \x1b[2m│\x1b[0m "
	want := []string{
		strings.Join([]string{"demo 1.2.0", "⎇ main", "▤ 2.1", "draft", "\x1b[32m◐ 50%\x1b[0m"}, sep),
		strings.Join([]string{
			"evolve", "▸ 2/4", "#core-flow (2.2)", "✓ 5/8", "◆ 28/40", "△ 1", "→ Run /fctry:execute to build the new behavior",
		}, sep),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheContextIsRelativeToTheSizeAtWhichItIsCompacted(t *testing.T) {
	for used, want := range map[string]string{
		"0": "\x1b[32m◐ 0%", "42": "\x1b[32m◐ 50%", "58.3": "\x1b[32m◐ 69%", "58.8": "\x1b[33m◐ 70%", "75.1": "\x1b[33m◐ 89%",
		"75.6": "\x1b[31m◐ 90%", "84": "\x1b[31m◐ 100%", "100": "\x1b[31m◐ 100%", "1e300": "\x1b[31m◐ 100%",
		"-3": "\x1b[32m◐ 0%", `"42"`: "\x1b[32m◐ 50%",
	} {
		d := Documents{Project: "p", Agent: []byte(`{"context_window": {"used_percentage": ` + used + `}}`)}
		if got := Render(Read(d), Format{Color: true})[0]; !strings.HasSuffix(got, " "+want+"\x1b[0m") {
			t.Errorf("%s: %q, want …%q", used, got, want)
		}
	}
	for _, none := range []string{"null", "{}", `"much"`, `"NaN"`, "true", "1e999"} {
		d := Documents{Project: "p", Agent: []byte(`{"context_window": {"used_percentage": ` + none + `}}`)}
		if got := Render(Read(d), Format{})[0]; got != "p" {
			t.Errorf("%s: %q", none, got)
		}
	}
}

func TestTheFirstRowHasWhatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		d    Documents
		want string
	}{
		"nothing":                   {Documents{Project: "p"}, "p"},
		"no registry":               {Documents{Project: "p", State: []byte(`{"specVersion": "1.9"}`)}, "p │ ▤ 1.9"},
		"the registry is the truth": {Documents{Project: "p", Config: []byte(config), State: []byte(`{"specVersion": "1.9"}`)}, "p 1.2.0 │ ▤ 2.1"},
		"versions as numbers":       {Documents{Project: "p", Config: []byte(`{"versions": {"external": {"current": 1.2}, "spec": {"current": 3}}}`)}, "p 1.2 │ ▤ 3"},
		"a broken registry":         {Documents{Project: "p", Config: []byte(`{"versions": {"external": "1.2"`)}, "p"},
		"a registry of other types": {Documents{Project: "p", Config: []byte(`{"versions": {"external": "1.2", "spec": {"current": {}}}}`)}, "p"},
		"a spec that is active":     {Documents{Project: "p", Spec: []byte("---\nstatus: active\n---\n")}, "p"},
		"a spec that is stable":     {Documents{Project: "p", Spec: []byte("\ufeff---\r\nstatus: 'stable' # since May\r\n---\r\n")}, "p │ stable"},
		"a status in the text":      {Documents{Project: "p", Spec: []byte("---\ntitle: x\n---\nstatus: draft\n")}, "p"},
		"no front matter":           {Documents{Project: "p", Spec: []byte("status: draft\n")}, "p"},
		"an empty spec":             {Documents{Project: "p", Spec: []byte{}}, "p"},
		"front matter without end":  {Documents{Project: "p", Spec: []byte("---\nstatus: draft")}, "p │ draft"},
	} {
		if got := Render(Read(c.d), Format{})[0]; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheStatusIsReadFromFencedFrontMatterBelowTheTitle(t *testing.T) {
	for name, spec := range map[string]string{
		"with lines of ---":           "# Demo\n\n```yaml\n---\ntitle: Demo\nstatus: draft\n---\n```\n\n## 1. Vision\n",
		"without lines of ---":        "# Demo\n\n```yaml\ntitle: Demo\nstatus: draft\n```\n\nstatus: stable\n",
		"fenced with tildes":          "# Demo\r\n\r\n~~~yml\r\n---\r\nstatus: draft\r\n---\r\n~~~\r\n",
		"below a few lines of text":   "# Demo\n\nWhat it is.\n\n> A quote.\n\n```yaml\n---\nstatus: draft # for now\n---\n```\n",
		"after an example in a fence": "# Demo\n\n```sh\nstatus: wrong\n```\n\n```yaml\n---\nstatus: draft\n---\n```\n",
		"cut off before its end":      "# Demo\n```yaml\n---\nstatus: draft\ntitle: De",
	} {
		if got := Render(Read(Documents{Project: "p", Spec: []byte(spec)}), Format{})[0]; got != "p │ draft" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, spec := range map[string]string{
		"an example that is no YAML":  "# Demo\n\n```sh\nstatus: draft\n```\n",
		"a line of text":              "# Demo\n\nstatus: draft\n",
		"a nested status":             "# Demo\n```yaml\n---\nspec:\n  status: draft\n---\n```\n",
		"text after the fenced block": "# Demo\n```yaml\ntitle: x\n```\nstatus: draft\n",
		"an example deep in the text": "# Demo\n" + strings.Repeat("text\n", 100) + "```yaml\n---\nstatus: draft\n---\n```\n",
	} {
		if got := Render(Read(Documents{Project: "p", Spec: []byte(spec)}), Format{})[0]; got != "p" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestOnlySectionsAreCountedAsReady(t *testing.T) {
	const totals = `"totalSections": 40, "scenariosTotal": 24, "scenariosSatisfied": 11, "score": 75, "scanDate": 20260217, "specVersion": "2.1"`
	for state, want := range map[string]string{
		`{"aligned": 28, "spec-ahead": 5, "draft": 7, ` + totals + `}`:                          "◆ 28/40",
		`{"aligned": 1, "needs-spec-update": 1, "ready-to-execute": 1, "satisfied": 1}`:         "◆ 3/4",
		`{"undocumented": 2, "ready-to-build": 3, "deferred": 1, "aligned": 4, ` + totals + `}`: "◆ 4/10",
		`{` + totals + `}`: "",
	} {
		got, _, _ := strings.Cut(second(`{"currentCommand": "", "nextStep": "x", "readinessSummary": `+state+`}`), " │ → x")
		if got == "→ x" {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

func TestABranchIsWhatHeadNamesOrTheBeginningOfTheCommit(t *testing.T) {
	for head, want := range map[string]string{
		"ref: refs/heads/main\n":                       "main",
		"ref: refs/heads/feature/a-b\r\n":              "feature/a-b",
		"ref:refs/heads/main":                          "main",
		"ref: refs/heads/.invalid\n":                   "",
		"ref: refs/remotes/origin/main\n":              "",
		"0123456789abcdef0123456789abcdef01234567\n":   "0123456",
		strings.Repeat("ab12", 16):                     "ab12ab1",
		"":                                             "",
		"0123456\n":                                    "",
		"not a commit, but a text of forty characters": "",
	} {
		if got := Branch([]byte(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}

func TestTheNextStepIsDerivedInThisOrder(t *testing.T) {
	const (
		untracked = `"untrackedChanges": [{"file": "a"}]`
		satisfied = `"scenarioScore": {"satisfied": 8, "total": 8}`
		some      = `"scenarioScore": {"satisfied": 0, "total": 8}`
		ahead     = `"readinessSummary": {"spec-ahead": 5, "draft": 7}`
		draft     = `"readinessSummary": {"aligned": 1, "draft": 7}`
	)
	for _, c := range []struct {
		spec   []byte
		fields []string
		want   string
	}{
		{nil, []string{untracked, satisfied, ahead}, "/fctry:init to create a spec"},
		{[]byte{}, []string{untracked, satisfied, ahead}, "/fctry:evolve to update spec with recent changes"},
		{[]byte{}, []string{satisfied, ahead}, "All scenarios satisfied! /fctry:review to confirm"},
		{[]byte{}, []string{some, ahead}, "/fctry:execute to build spec-ahead sections"},
		{[]byte{}, []string{some, draft}, "/fctry:execute to satisfy remaining scenarios"},
		{[]byte{}, []string{draft}, "/fctry:evolve to flesh out draft sections"},
		{[]byte{}, nil, "/fctry:evolve to refine, or /fctry:execute to build"},
		{[]byte{}, []string{`"scenarioScore": {"satisfied": 0, "total": 0}`}, "/fctry:evolve to refine, or /fctry:execute to build"},
	} {
		state := "{" + strings.Join(c.fields, ", ") + "}"
		line := Read(Documents{Project: "p", State: []byte(state), Spec: c.spec})
		if line.Next != c.want || !line.Derived {
			t.Errorf("%s: %q, derived %v; want %q", state, line.Next, line.Derived, c.want)
		}
	}
}

func TestTheNextStepIsNotDerivedIfACommandRunsOrTheStateNamesIt(t *testing.T) {
	if got, want := second(`{"currentCommand": "review"}`), "review"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := second(`{"nextStep": "rest"}`), "→ rest"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestASecondRowThatIsEmptyIsAbsent(t *testing.T) {
	if got := Render(Line{Project: "p"}, Format{}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestChunksAreShownAsCompletedActiveWithAttemptOfAllAndFailed(t *testing.T) {
	const run = `{"currentCommand": "execute", "chunkProgress": {"current": 9, "total": 9}, "buildRun": {"status": "running", "plan": {"totalChunks": 5}, "chunks": [%s]}}`
	for chunks, want := range map[string]string{
		`{"status": "completed"}, {"status": "completed"}, {"status": "retrying", "attempt": 2}, {"status": "failed"}, {"status": "planned"}`: "▸ 2+1(r2)/5 1✗",
		`{"status": "active", "attempt": 1}`:                                       "▸ 0+1/5",
		`{"status": "active"}, {"status": "retrying", "attempt": 3}`:               "▸ 0+2(r3)/5",
		`{"status": "planned"}`:                                                    "▸ 0/5",
		`{"status": "completed", "attempt": 4}`:                                    "▸ 1/5",
		`{"status": "completed"}, {"status": "failed"}, {"status": "failed"}`:      "▸ 1/5 2✗",
		`{}, {}, {}, {}, {}, {"status": "running"}`:                                "▸ 0/6",
		`{"status": "active", "attempt": "2"}, {"status": "active", "attempt": 2}`: "▸ 0+2(r2)/5",
	} {
		if got := second(strings.Replace(run, "%s", chunks, 1)); got != "execute │ "+want {
			t.Errorf("%s: %q, want %q", chunks, got, want)
		}
	}
}

func TestACompletedBuildIsNotShown(t *testing.T) {
	for _, run := range []string{
		`null`, `{"status": "completed", "chunks": [{"status": "planned"}]}`, `{"status": "running", "chunks": [{"status": "completed"}]}`,
	} {
		if got := second(`{"currentCommand": "execute", "buildRun": ` + run + `}`); got != "execute" {
			t.Errorf("%s: %q", run, got)
		}
	}
}

func TestGaffersRunsAreAThirdRow(t *testing.T) {
	line := Line{Project: "p", Fleet: &fleet.Summary{
		Running: 3, Waiting: 2, Asked: noon.Add(-4 * time.Minute), Failed: 1, Today: fleet.Cost{USD: 1.239},
		Lanes: []fleet.Lane{{Name: "claude", Until: noon.Add(2 * time.Hour), Reason: "usage limit"}},
	}}
	want := "● 3 running │ ? 2 waiting 4m │ ✗ 1 failed │ $1.24 today │ ‖ claude paused until 14:00, usage limit"
	if got := Render(line, Format{Now: noon}); len(got) != 2 || got[1] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Render(Line{Project: "p", Fleet: &fleet.Summary{}}, Format{Now: noon}); len(got) != 1 {
		t.Errorf("nothing runs: %q", got)
	}
	line.Fleet = &fleet.Summary{Waiting: 1, Asked: noon.Add(time.Hour)}
	if got := Render(line, Format{Now: noon})[1]; got != "? 1 waiting 0s" {
		t.Errorf("asked by a clock that is ahead: %q", got)
	}
}

func TestARowThatIsTooWideEndsWithAnEllipsis(t *testing.T) {
	line := Read(demo(t))
	line.Fleet = &fleet.Summary{Running: 30, Failed: 12, Today: fleet.Cost{USD: 1}, Lanes: []fleet.Lane{{Name: "声声声声声声"}}}
	whole := Render(line, Format{Now: noon})
	for columns := 1; columns < 140; columns++ {
		for i, row := range Render(line, Format{Now: noon, Columns: columns}) {
			switch width := cells.Width(row); {
			case width > columns:
				t.Errorf("%d columns: %d in %q", columns, width, row)
			case row != whole[i] && !strings.HasSuffix(row, "…"):
				t.Errorf("%d columns: the end of %q says nothing", columns, row)
			case row != whole[i] && cells.Width(whole[i]) <= columns:
				t.Errorf("%d columns: %q is cut to %q", columns, whole[i], row)
			}
		}
	}
}

// check checks what must be true for the rows of any documents.
func check(t *testing.T, line Line) {
	t.Helper()
	for _, columns := range []int{0, 1, 7, 40} {
		got := Render(line, Format{Now: noon, Columns: columns})
		if len(got) < 1 || len(got) > 3 {
			t.Fatalf("%d rows: %q", len(got), got)
		}
		for _, row := range got {
			bad := func(r rune) bool { return !unicode.IsPrint(r) }
			if row == "" || !utf8.ValidString(row) || strings.ContainsFunc(row, bad) {
				t.Errorf("not a printable line: %q", row)
			}
			if columns > 0 && cells.Width(row) > columns {
				t.Errorf("wider than %d: %q", columns, row)
			}
		}
	}
}
