package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"gaffer/fleet"
	"gaffer/internal/testkit/dashboard"
)

// candidate returns a script that finds the card of a candidate on the page.
func candidate(task string) string {
	return fmt.Sprintf(`document.querySelector('.candidate[aria-label=%q]')`, task)
}

// candidateSees waits until the card of a candidate shows the texts.
func (p *page) candidateSees(task string, texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.Wait(task+" says "+text, candidate(task)+"?.innerText.includes("+quoted(text)+")")
	}
}

func TestOneOfThreeCandidatesIsPickedByClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("symbolic-ref", "HEAD", "refs/heads/main")
	w.commit(map[string]string{"health.txt": "none\n", ".gitignore": "plan.yaml\n"})
	write(w, w.home, map[string]string{
		".config/gaffer/gaffer.yaml": fmt.Sprintf("agents:\n  rival: {like: claude, argv: [%q, fake-agent, --protocol, claude, --scripts, %q]}\n", gaffer, filepath.Join(w.home, "scripts")),
		"scripts": `== api.rival-large
tool seq 40 > health.txt && seq 9 > notes.txt
usage 90000 12000 0.84
say I have written a whole framework for health checks, with notes.\n\nEverything is configurable, and all tests pass.
== api.rival-broken
usage 5000 400 0.03
fail I could not find the endpoint.
== api.rival-small
tool echo ok > health.txt
usage 21000 3300 0.14
on-attempt 2 tool echo fine > health.txt
say The endpoint answers ok. One line was enough.
`,
	})
	id, _ := w.local(`
name: shop
defaults: {worktree: true}
tasks:
  - id: api
    name: Add the health endpoint
    prompt: Add the health endpoint.
    verify: test -s health.txt
    candidates: ["rival:large", "rival:broken", "rival:small"]
  - {id: docs, shell: "until test -e $HOME/gate; do sleep 0.1; done; cat health.txt", after: api}
`, "--detach")
	p := w.open(task(id, "api"))
	p.Sees("3 candidates", "Pick one.")
	p.candidateSees("api.rival-large", "rival large", "complete", "1 of 1 passed", "2 files +49 −1", "$0.84", "all tests pass.")
	p.candidateSees("api.rival-broken", "rival broken", "failed", "none ran", "nothing", "$0.03", "I could not find the endpoint.")
	p.candidateSees("api.rival-small", "rival small", "complete", "1 of 1 passed", "1 file +1 −1", "$0.14", "One line was enough.")
	if p.Holds(candidate("api.rival-broken") + ".querySelector('button')") {
		t.Error("a failed candidate can be picked")
	}
	p.fits("candidates")
	p.everywhere("candidates")

	for _, page := range []string{"#/runs/" + id, "#/"} { // both pages show the question, with a line and a button for each candidate
		p.Visit(page)
		p.Wait("the question", `((q) => q && /is taken\?\napi\.rival-large: 1 of 1 checks passed, .*\napi\.rival-small: [^\n]*$/.test(q.querySelector('.text').innerText.trim())
			&& [...q.querySelectorAll('.answers button')].map((b) => b.innerText).join() === 'api.rival-large,api.rival-small')(document.querySelector('.question'))`)
	}
	p.Visit(task(id, "api"))
	p.Click("Review api.rival-small")
	p.Wait("its change", dashboard.Cell("health.txt", "new", 1))
	p.Visit(task(id, "api.rival-small"))
	p.Sees("Candidate of")
	p.Visit(task(id, "api"))
	p.Click("Pick api.rival-small")
	p.Sees("api.rival-small is picked: the user has picked it")
	p.candidateSees("api.rival-small", "picked")
	p.Wait("no more can be picked", `![...document.querySelectorAll('.candidate button')].length`)
	p.everywhere("candidates-picked")

	// Let the agent of the picked candidate work again, while the next task continues from the
	// first pick.
	p.Visit(task(id, "docs"))
	p.Wait("it runs", `document.querySelector('.taskhead .status').innerText.includes('running')`)
	p.Visit(task(id, "api.rival-small"))
	p.Act(`document.querySelector('.writer textarea').focus()`)
	p.Do(chromedp.KeyEvent("Say fine."))
	p.Press(enter)
	p.Visit(task(id, "api"))
	p.Click("Take its newer work")
	until(w, "the newer work is taken", func() (string, bool) {
		text := w.git("show", ask[fleet.Task](p, "/v1/runs/"+id+"/tasks/api", "task").Branch+":health.txt")
		return text, text == "fine"
	})
	p.Sees("api.rival-small is picked")

	write(w, w.home, map[string]string{"gate": ""})
	if run := w.ends(id); run.Status != fleet.Complete {
		t.Fatalf("the run is %s", run.Status)
	}
	p.Visit(task(id, "docs"))
	p.seesBlock("ok")
	docs := ask[fleet.Task](p, "/v1/runs/"+id+"/tasks/docs", "task")
	if got := w.git("show", docs.Branch+":health.txt"); strings.TrimSpace(got) != "ok" {
		t.Errorf("the next task starts from %q", got)
	}
}

// everywhere takes screenshots in three widths, each in the light and the dark theme.
func (p *page) everywhere(name string) {
	p.Helper()
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		for _, width := range []int64{400, 1280, 1920} {
			p.Size(width, map[bool]int64{true: 1000, false: 800}[width != 1280])
			p.Wait("the page fits", `document.documentElement.scrollWidth <= innerWidth`)
			p.Act(`scrollTo(0, 0)`)
			p.Shot(fmt.Sprintf("%s-%d%s", name, width, map[bool]string{true: "-dark"}[dark]))
		}
	}
	p.Dark(false)
	p.Size(1280, 800)
}
