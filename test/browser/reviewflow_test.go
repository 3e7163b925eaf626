package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/fleet"
	"gaffer/internal/testkit/dashboard"
)

// threads returns the ids of the conversations of a task's attempts.
func (p *page) threads(run, task string) (all []string) {
	p.Helper()
	for _, a := range ask[[]fleet.Attempt](p, "/v1/runs/"+run+"/tasks/"+task+"/attempts", "attempts") {
		all = append(all, a.Thread)
	}
	return all
}

func TestAChangeIsCommentedSentBackApprovedAndMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("symbolic-ref", "HEAD", "refs/heads/main")
	w.commit(map[string]string{"api.go": "package old\n\nfunc first() {}\n\nfunc last() {}\n", ".gitignore": "plan.yaml\n"})
	id, _ := w.local(`
name: shop
defaults: {agent: fake, worktree: true}
tasks:
  - id: api
    name: Build the API
    prompt: |
      Build the API.
      fake: tool sed -i 's/package old/package api/' api.go && printf 'package api\n\n// Store keeps everything.\ntype Store struct{}\n' > store.go
      fake: usage 21200 3300 0.14
      fake: say I have built the API.
    verify: grep api api.go
`)
	p := w.open("#/runs/" + id)
	p.Sees("1 change: 1 ready to merge")
	p.Click("Review api")
	p.Sees("2 files", "to be reviewed")
	p.Wait("both files", dashboard.Cell("api.go", "new", 1)+"&&"+dashboard.Cell("store.go", "new", 4))
	p.Click("Task and checks")
	p.Sees("I have built the API.", "grep api api.go", "passed", "$0.14", "Build the API.")
	p.Click("Files 2")

	// Write the first comment with the keyboard, and the second, on three lines, with the mouse.
	p.Press("n", "j")
	p.Act(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'c', bubbles: true }))`) // a real key press would also type the letter
	p.Comment("Call the package shop.\nfake: tool sed -i s/api/shop_api/ api.go")
	p.Act(`const at = (n, type, buttons) => n.dispatchEvent(new PointerEvent(type, { bubbles: true, buttons }));
const [from, to] = [` + dashboard.Cell("store.go", "new", 1) + `, ` + dashboard.Cell("store.go", "new", 3) + `];
at(from, 'pointerdown', 1); at(to, 'pointerover', 1); at(to, 'pointerup', 0)`)
	p.Comment("Is the store needed?\nfake: say c1: fixed\\nc2: not fixed: the API reads from it")
	p.Wait("both are drafts", `document.querySelectorAll('.comment.draft').length === 2`)
	p.looks("review-drafts")
	p.Press("[", "[", "v")
	p.Sees("1 of 2 viewed")

	// Load the page again: the drafts of comments must be on the server.
	p.Do(chromedp.Reload())
	p.Sees("Is the store needed?", "Send back 2", "1 of 2 viewed")
	p.Press("s")
	p.Sees("The agent has changed more since this was loaded.")
	p.Click("Show the newest")
	p.Sees("outdated", "changed since viewed", "agent: fixed", "agent: not fixed", "the API reads from it", "lines 1 to 3", "answered, round 1")
	p.Wait("the new line", `[...document.querySelectorAll('.dl.ins')].some((l) => l.innerText.includes('package shop_api'))`)
	if all := p.threads(id, "api"); len(all) != 2 || all[0] == "" || all[0] != all[1] {
		t.Errorf("the conversations are %q, want the same one twice", all)
	}
	p.Size(400, 800)
	p.Wait("the name of a file that has changed is not cut", `(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth <= clientWidth)(document.querySelector('[data-path="api.go"] .path'))`)
	p.Size(1280, 800)
	p.looks("review-answered")
	p.Size(1920, 1080)
	p.Shot("review-answered-1920")
	p.Size(1280, 800)
	p.Act(`const s = document.querySelector('select[aria-label="What is compared"]'); s.value = 'since'; s.dispatchEvent(new Event('change'))`)
	p.Sees("1 file")
	p.Wait("only the changed line", `document.querySelectorAll('.dl.ins').length === 1 && document.querySelector('.dl.del')?.innerText.includes('package api')`)
	p.Act(`const s = document.querySelector('select[aria-label="What is compared"]'); s.value = ''; s.dispatchEvent(new Event('change'))`)
	p.Sees("2 files")

	p.Press("u")
	p.Wait("two columns", `document.querySelector('.diffs.split .pair')`)
	p.Wait("no line is cut off", `[...document.querySelectorAll('.filebody')].every((b) => b.scrollHeight <= b.clientHeight)`)
	p.Shot("review-split")
	p.Press("a")
	p.Sees("Approved.")

	// Commit to main so that the change conflicts with it.
	w.commit(map[string]string{"api.go": "package other\n"})
	p.Press("m")
	p.Click("Merge")
	p.Click("Merge and change the files of main")
	p.Sees("It conflicts with main. Nothing was changed.", "api.go", "Send it to the agent", "Copy the commands")
	p.looks("review-conflict")
	p.Visit("#/runs/" + id)
	p.Sees("1 change: 1 conflicts with main")
	w.git("reset", "-q", "--hard", "HEAD~1")
	p.Visit(task(id, "api") + "/review")
	p.Sees("2 files")

	before := w.git("rev-parse", "main")
	// Let the checks of the merge take longer than a request.
	p.Act(`const real = fetch;
window.fetch = (url, init) => {
  if (!url.endsWith('/merge') || !init.body.includes('"yes":true')) return real(url, init);
  window.fetch = real;
  return Promise.resolve(Response.json({ merges: [{ state: 'running' }] }));
}`)
	p.Press("m")
	p.Click("Merge")
	p.Click("Merge and change the files of main")
	p.Sees("Merged into main as " + until(w, "main has moved", func() (string, bool) { at := w.git("rev-parse", "main"); return at, at != before })[:9])
	if got := w.git("show", "main:api.go"); !strings.HasPrefix(got, "package shop_api") {
		t.Errorf("api.go of main is %q", got)
	}
	p.looks("review-merged")
	p.Click("Undo merge…")
	p.Click("Undo")
	p.Click("Undo and change the files of main")
	p.Sees("The merge is undone.")
	if got := w.git("rev-parse", "main"); got != before {
		t.Errorf("main is %s, want %s", got, before)
	}
	p.Click("Discard…")
	p.Click("Discard")
	p.Sees("A copy is kept.") // wait for the answer: until then the button is disabled
	p.Click("Undo discard…")
	p.Click("Undo")
	p.Sees("The change is restored.", "2 files")
	p.Press(kb.Escape)
	p.Wait("the task's page", `location.hash.endsWith('/tasks/api')`)
}

func TestAMessageReachesTheAgentAndAnInterruptEndsItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one", "--slots", "2")
	run := w.submit(`
name: talk
defaults: {agent: fake}
tasks:
  - {id: done, prompt: "fake: say The first answer."}
  - {id: busy, prompt: "fake: say I begin.\nfake: hang"}
`)
	p := w.open(task(run, "done"))
	p.Wait("it is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	p.Act(`document.querySelector('.writer textarea').focus()`)
	p.Do(chromedp.KeyEvent("fake: say The second answer."))
	p.Press(enter)
	p.Sees("✓ delivered")
	p.seesBlock("The second answer.")
	p.Wait("it is complete again", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	p.looks("task-messages")
	if all := p.threads(run, "done"); len(all) != 2 || all[0] != all[1] {
		t.Errorf("the conversations are %q, want the same one twice", all)
	}

	p.Visit(task(run, "busy"))
	p.seesBlock("I begin.")
	p.Click("Interrupt…")
	p.Sees("Interrupt the agent?")
	p.Click("Interrupt")
	p.Wait("it is interrupted", `document.querySelector('.taskhead').innerText.includes('interrupted')`)
	p.Shot("task-interrupted")
	p.Act(`document.querySelector('.writer textarea').focus()`)
	p.Do(chromedp.KeyEvent("fake: say It continues."))
	p.Press(enter)
	p.seesBlock("It continues.")
	p.Wait("it is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
}
