package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// draw reads a drawn graph. For each id, it returns the ids that it waits for.
func draw(t *testing.T, graph string) map[string]string {
	t.Helper()
	r := &reporter{file: "plan.md"}
	d := readOrchestrator("plan.md", []byte("## Dependency Graph\n\n```\n"+graph+"\n```\n"), r)
	if len(r.problems) > 0 {
		t.Fatal(r.problems)
	}
	waits := map[string]string{}
	for _, task := range d.Tasks {
		waits[task.ID] = strings.Join(task.After, " ")
	}
	return waits
}

func TestADrawnGraphIsReadTopToBottom(t *testing.T) {
	for name, c := range map[string]struct {
		graph string
		want  map[string]string
	}{
		"a chain": {`
001-01 (state)
    |
    v
001-02 (new 404 page)
    |
    v
002-01`, map[string]string{"001-01": "", "001-02": "001-01", "002-01": "001-02"}},

		"without lines between": {"001\n002\n003", map[string]string{"001": "", "002": "001", "003": "002"}},

		"two on one line": {`
        001
       /   \
    002     003
       \   /
        004`, map[string]string{"001": "", "002": "001", "003": "001", "004": "002 003"}},

		"a line at the side": {`
003-01 (a)
    |
    v
003-02 (b) ───────────────┐
    |                     |
    v                     |
003-03 (c)                |
    |                     |
    v                     |
003-04 (d) <──────────────┤
    |                     |
    v                     |
003-05 (e) ───────────────┤
    |                     |
    v                     |
003-06 (f)                |
    |                     |
    v                     |
003-07 (g) <──────────────┘
    |
    v
003-08 (h)`, map[string]string{
			"003-01": "", "003-02": "003-01", "003-03": "003-02", "003-04": "003-03 003-02", "003-05": "003-04",
			"003-06": "003-05", "003-07": "003-06 003-02 003-05", "003-08": "003-07",
		}},

		"branches": {`
001 (ground)
 ├──> 002 (api)
 ├──> 003 (page)
 |
 v
004 (together)`, map[string]string{"001": "", "002": "001", "003": "001", "004": "002 003"}},

		"a tree": {`
001
├── 002
│   ├── 003
│   └── 004
└── 005`, map[string]string{"001": "", "002": "001", "003": "002", "004": "002", "005": "001"}},

		"a list of edges": {`
001 -> 002
001 -> 003
002 --> 004
003 ──▶ 004
005 <- 004`, map[string]string{"001": "", "002": "001", "003": "001", "004": "002 003", "005": "004"}},

		"several before an arrow": {"002 + 003 + 004 ──> 005", map[string]string{"002": "", "003": "", "004": "", "005": "002 003 004"}},

		"several on both sides of arrows": {"001, 002 -> 003, 004 -> 005", map[string]string{"001": "", "002": "", "003": "001 002", "004": "001 002", "005": "003 004"}},

		"several behind an arrow to the left": {"003 <- 001, 002", map[string]string{"001": "", "002": "", "003": "001 002"}},

		"two edges of one id on a line": {"001 -> 002, 001 -> 003", map[string]string{"001": "", "002": "001", "003": "002 001"}},

		"a row below several behind an arrow": {"001 -> 002, 003\n004", map[string]string{"001": "", "002": "001", "003": "001", "004": "002 003"}},

		"an arrow within a row": {`
001
 |
 v
002   003 ──> 004
 |
 v
005`, map[string]string{"001": "", "002": "001", "003": "001", "004": "002 003", "005": "004"}},

		"several on a branch": {`
001
 ├──> 002, 003
 └──> 004 -> 005`, map[string]string{"001": "", "002": "001", "003": "001", "004": "001", "005": "004"}},

		"branches off a line to the right": {`
001 ──┬──> 002
      ├──> 003
      └──> 004`, map[string]string{"001": "", "002": "001", "003": "001", "004": "001"}},

		"branches off a line that turns down": {`
001 ──┐
      ├──> 002
      └──> 003`, map[string]string{"001": "", "002": "001", "003": "001"}},

		"stairs": {`
001 ────┐
        ▼
       002 ───┐
              |
             003`, map[string]string{"001": "", "002": "001", "003": "002"}},

		"lines that join above an arrow": {`
001 ──┐
002 ──┤
003 ──┘
      v
     004`, map[string]string{"001": "", "002": "001", "003": "002", "004": "003"}},

		"a frame": {`
┌── 001 ──┐
│         │
002      003
└── 004 ──┘`, map[string]string{"001": "", "002": "001", "003": "001", "004": "002 003"}},

		"talk that looks like lines": {"001 -- /login\n002 -- | and 404", map[string]string{"001": "", "002": "001"}},

		"a line of arrows below a row": {`
001
 |
 v
002 -> 003
 |
 v
004`, map[string]string{"001": "", "002": "001", "003": "002", "004": "003"}},

		"boxes": {`
┌─────────┐   ┌─────────┐
│ 001-01  │   │ 001-02  │
└────┬────┘   └────┬────┘
     └──────┬──────┘
            ▼
       ┌─────────┐
       │ 001-03  │
       └─────────┘`, map[string]string{"001-01": "", "001-02": "", "001-03": "001-01 001-02"}},

		"numbers that are no ids": {"001 handle 404 and 500\n  |\n002 (port 808)   003 x100", map[string]string{"001": "", "002": "001", "003": "001"}},

		"names behind ids": {"001-setup.md\n002-01-impl.md", map[string]string{"001": "", "002-01": "001"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, draw(t, c.graph)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The rules of graphDrawing would misread these drawings, so each must be reported as a problem.
func TestLinesThatJoinInTheMiddleAreReported(t *testing.T) {
	for graph, want := range map[string][]int{
		"001 ──┐\n002 ──┼──> 004\n003 ──┘":        {4, 5, 6},
		"001 ──┐\n      ├──> 003\n002 ──┘":        {6},
		"001 ─┐\n002 ─┴─> 003":                    {4, 5},
		"001 ─┬─> 003\n002 ─┘":                    {5},
		"001 --+\n      +--> 003\n002 --+":        {6},
		"001 --\\\n       > 003\n002 --/":         {4, 6},
		"001 ---|\n002 ---|---> 003":              {4},
		"      ┌──> 002\n001 ──┤\n      └──> 003": {4},
	} {
		r := &reporter{file: "plan.md"}
		readOrchestrator("plan.md", []byte("## Dependency Graph\n\n```\n"+graph+"\n```\n"), r)
		var lines []int
		for _, p := range r.problems.sorted() {
			lines = append(lines, p.Line)
			if !strings.Contains(p.Text, "->") {
				t.Errorf("%q does not say what to write", p)
			}
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s\n%s%v", graph, diff, r.problems)
		}
	}
}

func TestTickSetsTheBoxOfOnePromptAndNothingElse(t *testing.T) {
	text := "- [ ] `001-01-a.md` [ ] task\r\n[ ] 001-02-b.md\n[x] 001-03.md\n"
	for id, want := range map[string]string{
		"001-01": "- [x] `001-01-a.md` [ ] task\r\n[ ] 001-02-b.md\n[x] 001-03.md\n",
		"001-02": "- [ ] `001-01-a.md` [ ] task\r\n[x] 001-02-b.md\n[x] 001-03.md\n",
		"001-03": text,
		"001":    text,
		"009":    text,
	} {
		got, changed := TickCheckbox([]byte(text), id)
		if string(got) != want || changed != (want != text) {
			t.Errorf("%s: %v\n%s", id, changed, got)
		}
	}
}
