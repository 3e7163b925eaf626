package report

import (
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
)

// oneNight returns a report with a task in each list.
func oneNight() fleet.MorningReport {
	run, other := "20261117-180100-4cebc8bf", "20261117-220000-77aa0b12"
	until := time.Date(2026, 11, 18, 7, 0, 0, 0, time.UTC)
	usd, part := 12.4, 9.15
	task := func(id, why string) fleet.MorningTask {
		return fleet.MorningTask{Run: run, Task: id, Name: "The " + id, Why: why, Tries: 1, Spent: fleet.Cost{USD: 1.25}, At: until.Add(-time.Hour)}
	}
	change := func(id string) fleet.MorningTask {
		t := task(id, "")
		t.Changed, t.Added, t.Removed, t.Into = 3, 120, 4, "main"
		return t
	}
	reviewed := change("login")
	reviewed.Item = &fleet.SourceItem{Source: "gh:ada/shop", ID: "42", Title: "The login page crashes with an empty password and nothing is logged anywhere", URL: "https://issues.example.org/ada/shop/42"}
	approved := change("basket")
	approved.Review = fleet.ReviewApproved
	failed := task("db", "make test (exit 2)")
	failed.Class = "verify_failed"
	running := task("docs", "Bash: make docs")
	running.Status = fleet.Running
	return fleet.MorningReport{
		Since: time.Date(2026, 11, 17, 18, 0, 0, 0, time.UTC), Until: until,
		Waiting: []fleet.MorningTask{task("api", "May I use the network to fetch the schema of the payment service?")},
		Failed:  []fleet.MorningTask{failed}, Review: []fleet.MorningTask{reviewed, approved}, Merged: []fleet.MorningTask{change("ui")},
		Done: []fleet.MorningTask{task("look", "nothing to do")}, Running: []fleet.MorningTask{running},
		Skipped: []fleet.MorningTask{task("after-db", "a task that it needs did not complete")},
		Cost:    fleet.CostRow{Attempts: 9, USD: &usd, Unknown: 1},
		Runs: []fleet.MorningRun{
			{ID: other, Name: "issues", Status: fleet.Complete, StartedBy: "schedule nightly", Counts: fleet.Counts{Total: 2, Complete: 2}, Cost: fleet.CostRow{Attempts: 2, Unknown: 2}},
			{ID: run, Name: "shop", Status: fleet.Running, Counts: fleet.Counts{Total: 7, Complete: 4, Failed: 1, Running: 2}, Cost: fleet.CostRow{Attempts: 7, USD: &part}},
		},
		Questions: []fleet.MorningQuestion{
			{By: "rule Bash(go test:*)", Tool: "Bash", Count: 12, Example: "Bash: go test ./...", Answer: "allow", Run: run, Task: "ui"},
			{By: "rule Bash(rm:*)", Tool: "Bash", Denied: true, Count: 1, Example: "Bash: rm -rf /", Run: run, Task: "db"},
			{Open: true, Count: 1, Example: "May I use the network?", Run: run, Task: "api"},
		},
		NotStarted: []fleet.MorningFire{
			{Schedule: "weekly", Planned: until.Add(-5 * time.Hour), Status: fleet.FireFailed, Why: "week.yaml does not exist"},
			{Schedule: "issues", Planned: until.Add(-4 * time.Hour), Count: 3, Status: fleet.FireSkipped, Why: "gh:ada/shop: no open item"},
		},
		Accounts: []fleet.MorningAccount{{Name: "claude", Attempts: 8, USD: &usd, Limited: 2, Until: until.Add(30 * time.Minute)}, {Name: "codex", Attempts: 1}},
	}
}

func TestAMorningReportMatchesItsGoldenFiles(t *testing.T) {
	golden(t, "morning-80.golden", Morning(oneNight(), Screen{Width: 80}))
	golden(t, "morning-50.golden", Morning(oneNight(), Screen{Width: 50, ASCII: true}))
	golden(t, "morning-color.golden", strings.ReplaceAll(Morning(oneNight(), Screen{Width: 80, Color: true}), "\x1b", "␛"))
	golden(t, "morning-none.golden", Morning(fleet.MorningReport{Since: oneNight().Since, Until: oneNight().Until}, Screen{}))
}

func TestNoLineOfAMorningReportIsWiderThanTheScreenExceptLinks(t *testing.T) {
	for width := minWidth; width <= 160; width++ {
		for line := range strings.Lines(Morning(oneNight(), Screen{Width: width})) {
			if n := cells.Width(strings.TrimSuffix(line, "\n")); n > width && !strings.Contains(line, "https://") {
				t.Errorf("%d columns on a screen of %d: %s", n, width, line)
			}
		}
	}
}

func TestTextsOfTasksCannotControlTheTerminalInAMorningReport(t *testing.T) {
	r := oneNight()
	evil := "\x1b]0;evil\x07\n\u202e"
	for _, list := range [][]fleet.MorningTask{r.Waiting, r.Failed, r.Review, r.Running} {
		list[0].Task, list[0].Name, list[0].Why, list[0].Class, list[0].Into = evil, evil, evil, evil, evil
		list[0].Item = &fleet.SourceItem{Source: evil, ID: evil, URL: evil, Title: evil}
	}
	r.Runs[0].Name, r.Runs[0].StartedBy, r.Runs[0].Stopping = evil, evil, evil
	r.Questions[0].By, r.Questions[0].Example, r.Questions[0].Answer, r.Questions[0].Task = evil, evil, evil, evil
	r.Accounts[0].Name = evil
	if text := Morning(r, Screen{}); strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("the text has control characters: %q", text)
	}
}
