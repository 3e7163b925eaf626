package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/fleet"
)

// cell is a script that finds the number of a line on one side of a file.
func cell(path, side string, n int) string {
	return fmt.Sprintf(`document.querySelector('[data-path=%q]')?.querySelector('.n[data-side=%q][data-n="%d"]')`, path, side, n)
}

// comment writes a comment into the open form and saves it with the keyboard.
func (p *page) comment(text string) {
	p.Helper()
	p.write(text)
	p.wait("it is saved", `!document.querySelector('.editor')`)
}

// thread returns the conversations of a task's attempts.
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
	p.sees("1 change: 1 ready to merge")
	p.click("Review api")
	p.sees("2 files", "to be reviewed")
	p.wait("both files", cell("api.go", "new", 1)+"&&"+cell("store.go", "new", 4))
	p.click("Task and checks")
	p.sees("I have built the API.", "grep api api.go", "passed", "$0.14", "Build the API.")
	p.click("Files 2")

	// The first comment is written with the keyboard, the second on three lines with the mouse.
	p.press("n", "j")
	p.act(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'c', bubbles: true }))`) // a key of the protocol would also type the letter
	p.comment("Call the package shop.\nfake: tool sed -i s/api/shop_api/ api.go")
	p.act(`const at = (n, type, buttons) => n.dispatchEvent(new PointerEvent(type, { bubbles: true, buttons }));
const [from, to] = [` + cell("store.go", "new", 1) + `, ` + cell("store.go", "new", 3) + `];
at(from, 'pointerdown', 1); at(to, 'pointerover', 1); at(to, 'pointerup', 0)`)
	p.comment("Is the store needed?\nfake: say c1: fixed\\nc2: not fixed: the API reads from it")
	p.wait("both are drafts", `document.querySelectorAll('.comment.draft').length === 2`)
	p.looks("review-drafts")
	p.press("[", "[", "v")
	p.sees("1 of 2 viewed")

	// Drafts are on the server.
	p.do(chromedp.Reload())
	p.sees("Is the store needed?", "Send back 2", "1 of 2 viewed")
	p.press("s")
	p.sees("The agent has changed more since this was loaded.")
	p.click("Show the newest")
	p.sees("outdated", "changed since viewed", "agent: fixed", "agent: not fixed", "the API reads from it", "lines 1 to 3", "answered, round 1")
	p.wait("the new line", `[...document.querySelectorAll('.dl.ins')].some((l) => l.innerText.includes('package shop_api'))`)
	if all := p.threads(id, "api"); len(all) != 2 || all[0] == "" || all[0] != all[1] {
		t.Errorf("the conversations are %q, want the same one twice", all)
	}
	p.size(400, 800)
	p.wait("the name of a file that has changed is not cut", `(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth <= clientWidth)(document.querySelector('[data-path="api.go"] .path'))`)
	p.size(1280, 800)
	p.looks("review-answered")
	p.size(1920, 1080)
	p.shot("review-answered-1920")
	p.size(1280, 800)
	p.act(`const s = document.querySelector('select[aria-label="What is compared"]'); s.value = 'since'; s.dispatchEvent(new Event('change'))`)
	p.sees("1 file")
	p.wait("only the changed line", `document.querySelectorAll('.dl.ins').length === 1 && document.querySelector('.dl.del')?.innerText.includes('package api')`)
	p.act(`const s = document.querySelector('select[aria-label="What is compared"]'); s.value = ''; s.dispatchEvent(new Event('change'))`)
	p.sees("2 files")

	p.press("u")
	p.wait("two columns", `document.querySelector('.diffs.split .pair')`)
	p.wait("no line is cut off", `[...document.querySelectorAll('.filebody')].every((b) => b.scrollHeight <= b.clientHeight)`)
	p.shot("review-split")
	p.press("a")
	p.sees("Approved.")

	// The change conflicts with a new commit of main.
	w.commit(map[string]string{"api.go": "package other\n"})
	p.press("m")
	p.click("Merge")
	p.click("Merge and change the files of main")
	p.sees("It conflicts with main. Nothing was changed.", "api.go", "Send it to the agent", "Copy the commands")
	p.looks("review-conflict")
	p.visit("#/runs/" + id)
	p.sees("1 change: 1 conflicts with main")
	w.git("reset", "-q", "--hard", "HEAD~1")
	p.visit(task(id, "api") + "/review")
	p.sees("2 files")

	before := w.git("rev-parse", "main")
	// The checks take longer than a request.
	p.act(`const real = fetch;
window.fetch = (url, init) => {
  if (!url.endsWith('/merge') || !init.body.includes('"yes":true')) return real(url, init);
  window.fetch = real;
  return Promise.resolve(Response.json({ merges: [{ state: 'running' }] }));
}`)
	p.press("m")
	p.click("Merge")
	p.click("Merge and change the files of main")
	p.sees("Merged into main as " + until(w, "main has moved", func() (string, bool) { at := w.git("rev-parse", "main"); return at, at != before })[:9])
	if got := w.git("show", "main:api.go"); !strings.HasPrefix(got, "package shop_api") {
		t.Errorf("api.go of main is %q", got)
	}
	p.looks("review-merged")
	p.click("Undo merge…")
	p.click("Undo")
	p.click("Undo and change the files of main")
	p.sees("The merge is undone.")
	if got := w.git("rev-parse", "main"); got != before {
		t.Errorf("main is %s, want %s", got, before)
	}
	p.click("Discard…")
	p.click("Discard")
	p.sees("A copy is kept.") // the request has ended; before, the button is disabled
	p.click("Undo discard…")
	p.click("Undo")
	p.sees("The change is restored.", "2 files")
	p.press(kb.Escape)
	p.wait("the task's page", `location.hash.endsWith('/tasks/api')`)
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
	p.wait("it is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	p.act(`document.querySelector('.writer textarea').focus()`)
	p.do(chromedp.KeyEvent("fake: say The second answer."))
	p.press(enter)
	p.sees("✓ delivered")
	p.wait("the log has both answers", `document.querySelector('.log').innerText.includes('The second answer.')`)
	p.wait("it is complete again", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	p.looks("task-messages")
	if all := p.threads(run, "done"); len(all) != 2 || all[0] != all[1] {
		t.Errorf("the conversations are %q, want the same one twice", all)
	}

	p.visit(task(run, "busy"))
	p.seesLine("I begin.")
	p.click("Interrupt…")
	p.sees("Interrupt the agent?")
	p.click("Interrupt")
	p.wait("it is interrupted", `document.querySelector('.taskhead').innerText.includes('interrupted')`)
	p.shot("task-interrupted")
	p.act(`document.querySelector('.writer textarea').focus()`)
	p.do(chromedp.KeyEvent("fake: say It continues."))
	p.press(enter)
	p.seesLine("It continues.")
	p.wait("it is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
}
