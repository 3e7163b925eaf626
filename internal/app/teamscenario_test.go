package app_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/testkit/testenv"
	"gaffer/team"
)

// scenario is a team session that must end with success.
type scenario struct {
	wish     teamsession.Request
	golden   string // name of the scenario whose golden file is used; empty for this scenario's own file
	parallel bool   // some groups work at the same time
	noisy    bool   // the user gets notices, which is a failure in other scenarios
	raced    bool   // also runs under the race detector, which makes agents slow to start
	files    map[string]string
	check    func(c crew, a *app.App, run fleet.Run)
}

const listed = "The shop needs\n- a\n- b\n- c of a\n"

func scenarios() map[string]scenario {
	made := map[string]string{"made.txt": "made"}
	return map[string]scenario{
		"simple": {files: made},
		"three": {
			wish: teamsession.Request{Requirements: listed}, parallel: true, raced: true,
			files: map[string]string{"A.txt": "A", "B.txt": "B", "C.txt": "A\nand C"},
		},
		"qa-fails": {
			files: map[string]string{"made.txt": "main-developer-1\nmain-developer-2\nmain-developer-3"},
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-developer-2", "the first test fails")
				c.tells(a, run, "main-developer-3", "the second test fails")
			},
		},
		"changes-requested": {
			files: map[string]string{"made.txt": "main-developer-1\nmain-developer-2"},
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-developer-2", "anybody can guess a password", "Count the guesses")
			},
		},
		"blocked": {
			files: map[string]string{"made.txt": "80"},
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-tech-lead-1", "which port?")
				c.tells(a, run, "main-developer-2", "take port 80")
				c.tells(a, run, "main-tech-lead-2", "there is no test account")
				c.tells(a, run, "main-qa-2", "make one")
			},
		},
		"flaky": {
			files: map[string]string{"made.txt": "main-developer-2"},
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-developer-2", "wait for the server before the test")
			},
		},
		"review-only": {files: map[string]string{"made.txt": "a document"}},
		"conflict": {
			parallel: true,
			files:    map[string]string{"same.txt": "A and B"},
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "B-developer-2", "conflicts in same.txt")
			},
		},
		"tests-fail": {
			wish:  teamsession.Request{Tests: []string{"echo looking at it", "! grep broken made.txt"}},
			files: map[string]string{"made.txt": "whole"},
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-developer-2", "a test fails after the merge: ! grep broken made.txt")
			},
		},
		"stuck": {
			parallel: true,
			files:    map[string]string{"first.txt": "first", "second.txt": "second"},
			check:    checkSplit,
		},
		"premature": {
			check: func(c crew, a *app.App, run fleet.Run) { c.tells(a, run, "pm-3", "B is pending") },
			files: map[string]string{"A-developer-1.txt": "made", "B-developer-1.txt": "made"},
		},
		"unreadable-once": {
			files: made,
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-qa-2", "its status is APPROVED; it must be PASS or FAIL or BLOCKED or PARTIAL or FLAKY")
			},
		},
		"unreadable-twice": {
			files: made,
			check: func(c crew, a *app.App, run fleet.Run) {
				c.tells(a, run, "main-tech-lead-1", "no answer that can be used")
			},
		},
		"crashed": {files: made},
		"astray": { // an agent works in the wrong folder: the user and the next developer must learn where the work is
			noisy: true,
			files: made,
			check: func(c crew, a *app.App, run fleet.Run) { c.tells(a, run, "main-developer-2", "elsewhere") },
		},
		"vandal":     {noisy: true, files: map[string]string{"made.txt": "made", "tested.txt": "tested"}},
		"phases":     {wish: teamsession.Request{Developers: 2}, parallel: true, check: checkDevelopers},
		"corrupting": {golden: "simple", noisy: true, raced: true, files: made},
		"lying":      {golden: "simple", files: made},
	}
}

func checkSplit(c crew, _ *app.App, _ fleet.Run) {
	c.t.Helper()
	for _, g := range c.session().Groups {
		if want := map[string]int{"A": 7, "A2": 1}[g.ID]; g.Iterations.Developer != want {
			c.t.Errorf("group %s had %d developers, want %d", g.ID, g.Iterations.Developer, want)
		}
	}
}

// checkDevelopers checks how many developers worked at the same time, from files that they wrote.
func checkDevelopers(c crew, _ *app.App, _ fleet.Run) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "developers"))
	if err != nil {
		c.t.Fatal(err)
	}
	now, most := 0, 0
	for _, sign := range strings.Fields(string(text)) {
		now += map[string]int{"+": 1, "-": -1}[sign]
		most = max(most, now)
	}
	if now != 0 || most > 2 {
		c.t.Errorf("%d developers worked at the same time, %d still do", most, now)
	}
}

func TestATeamsDocumentsSayWhatItDid(t *testing.T) {
	testenv.Integration(t)
	for name, s := range scenarios() {
		if underRace && !s.raced {
			continue // with the race detector, run only some scenarios; script/test runs all without it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrew(t, play(t, name))
			a := c.open()
			before := c.persons()
			run := c.finish(a, c.begin(a, s.wish).Run)
			c.completed(run)
			c.startedOnce(run)
			c.valid()
			c.golden(cmp.Or(s.golden, name), s.parallel, *update && s.golden == "")
			for file, want := range s.files {
				if got := c.merged(file); got != want {
					t.Errorf("%s on the team's branch is %q, want %q", file, got, want)
				}
			}
			if after := c.persons(); after != before {
				t.Errorf("the person's files are\n%s\nwere\n%s", after, before)
			}
			if told := c.notices.String(); (told != "") != s.noisy {
				t.Errorf("a person was told %q", told)
			}
			if s.check != nil {
				s.check(c, a, run)
			}
		})
	}
}

// play returns the content of a file with scripts.
func play(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "team", name+".play"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// completed fails unless a session ended with success and none of its processes is running.
func (c crew) completed(run fleet.Run) {
	c.t.Helper()
	o := c.session().Orchestrator
	if run.Status != fleet.Complete || o.Status != team.SessionCompleted || o.CurrentPhase != team.Completed || o.Iteration != o.TotalSpawns {
		c.t.Errorf("the run is %s, the session %s in %s: %+v", run.Status, o.Status, o.CurrentPhase, o.DecisionsLog)
	}
	c.quiet(run)
}

// quiet fails if a process of the run is still running.
func (c crew) quiet(run fleet.Run) {
	c.t.Helper()
	if left := marked(run.ID); len(left) > 0 {
		c.t.Errorf("processes are left: %v", left)
	}
}

// persons returns a text with the user's state of the repository: the branch, the commit, staged
// and unstaged changes, and all branches except the team's.
func (c crew) persons() string {
	c.t.Helper()
	var branches []string
	for b := range strings.Lines(c.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")) {
		if !strings.Contains(b, "refs/heads/gaffer/") {
			branches = append(branches, strings.TrimSpace(b))
		}
	}
	slices.Sort(branches)
	return strings.Join(append(branches,
		c.git("symbolic-ref", "HEAD"), c.git("status", "--porcelain", "--", "start.txt", "mine.txt"), c.git("diff", "HEAD")), "\n")
}

// tells fails unless the prompt of a task's agent contains all texts.
func (c crew) tells(a *app.App, run fleet.Run, task string, texts ...string) {
	c.t.Helper()
	prompt := c.told(a, run, task)
	for _, text := range texts {
		if !strings.Contains(prompt, text) {
			c.t.Errorf("%s was not told %q:\n%s", task, text, prompt)
		}
	}
}
