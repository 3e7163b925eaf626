package browser

import (
	"fmt"
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// asOnAPhone fails the test if the page does not fit the screen of a phone, has a barrier, or has
// buttons that a finger can hardly hit.
func (p *page) asOnAPhone(what string) {
	p.Helper()
	p.fits(what)
	p.Accessible(what)
	small := eval[[]string](p, `[...document.querySelectorAll('main button, .top button, .bottom a, .bottom button')].filter((e) => e.offsetParent && e.offsetHeight < 24).map((e) => e.innerText || e.getAttribute('aria-label'))`)
	if len(small) > 0 {
		p.Errorf("%s has buttons that are too small for a finger: %q", what, small)
	}
}

func TestAUserAnswersReviewsMergesAndStopsOnAPhone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("symbolic-ref", "HEAD", "refs/heads/main")
	w.commit(map[string]string{"api.go": "package old\n", ".gitignore": "plan.yaml\n"})
	id, _ := w.local(`
name: fixes
defaults: {agent: fake, worktree: true}
tasks:
  - {id: api, name: Rename the package, prompt: "fake: tool sed -i s/old/api/ api.go"}
`)
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	task := w.channelTask("dev", "Paint the door")
	w.question("dev", task.ID, "Which colour?", "red", "blue")
	stuck := w.submit(shopPlan)

	p := w.open("#/")
	p.Size(390, 844)
	p.Sees("Which colour?")
	p.asOnAPhone("a question")
	p.Click("blue")
	p.Sees("Answered “blue”")

	p.Click("Runs")
	row := fmt.Sprintf(`document.querySelector('a.r-row[href="#/runs/%s"]')`, id)
	p.Wait("the run is listed", row)
	p.Act(row + ".click()")
	p.Sees("1 change: 1 ready to merge")
	p.asOnAPhone("a run")
	p.Click("Review api")
	p.Sees("1 file", "to be reviewed")
	p.asOnAPhone("a review")
	p.Shot("phone-review")
	p.Click("Approve")
	p.Wait("it is approved and can be merged", `document.querySelector('.reviewbar .status').innerText.includes('approved') && [...document.querySelectorAll('.reviewbar button')].some((b) => b.innerText === 'Merge…' && !b.disabled)`)
	p.Click("Merge…")
	p.Click("Merge")
	p.Click("Merge and change the files of main")
	p.Wait("it is merged", `document.querySelector('.reviewbar .status').innerText.includes('merged')`)
	if got := w.git("show", "main:api.go"); got != "package api" {
		t.Errorf("main has %q", got)
	}

	p.Visit("#/runs/" + stuck)
	p.Sees("payments")
	p.Click("Cancel run…")
	p.Click("Cancel the run")
	p.Sees("Cancelled: shop")
	if run := w.ends(stuck); run.Status != fleet.Cancelled {
		t.Errorf("the run is %s", run.Status)
	}
}
