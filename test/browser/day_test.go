package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/fleet"
	"gaffer/internal/testkit/dashboard"
)

// keyboard uses a page with key presses alone. After each text it checks that the user can see where
// the focus is, and that the page was not loaded again.
type keyboard struct{ *page }

func newKeyboard(p *page) keyboard {
	p.Helper()
	p.Act(`window.loadedOnce = true`) // a reload would forget it
	return keyboard{p}
}

// press presses the keys of these texts one after the other, as a user does who types them.
func (k keyboard) press(texts ...string) {
	k.Helper()
	k.with(0, texts...)
}

// with presses keys while modifier keys are held down.
func (k keyboard) with(modifiers chromedp.Modifier, texts ...string) {
	k.Helper()
	for _, text := range texts {
		for _, r := range text {
			k.Do(keyPress(r, int64(modifiers))...)
		}
		k.seesFocus("after " + fmt.Sprintf("%q", text))
	}
}

// keyPress returns the events of a key: one that presses it, with the character that it types, and
// one that releases it. Page.Press sends the character as an event of its own, which a page cannot
// prevent.
func keyPress(r rune, modifiers int64) []chromedp.Action[chromedp.Void] {
	var down, up input.DispatchKeyEventParams
	for _, e := range kb.Encode(r) {
		e.Modifiers |= modifiers
		switch e.Type {
		case kb.KeyChar:
			if modifiers&^int64(chromedp.ModifierShift) == 0 {
				down.Text, down.UnmodifiedText = e.Text, e.UnmodifiedText
			}
		case kb.KeyUp:
			up = *e
		default:
			down = *e
		}
	}
	return []chromedp.Action[chromedp.Void]{dashboard.Call(input.DispatchKeyEvent, down), dashboard.Call(input.DispatchKeyEvent, up)}
}

// focusIsVisible is a script that returns true if nothing has the focus, or an element that is within
// the window, is not covered, and shows the focus with an outline, a shadow or a text cursor.
const focusIsVisible = `(() => {
  const e = document.activeElement;
  if (!e || e === document.body || e.id === 'main') return true;
  if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
  const { left, right, top, bottom } = e.getBoundingClientRect();
  const [x, y] = [(Math.max(0, left) + Math.min(innerWidth, right)) / 2, (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2];
  if (right <= 0 || left >= innerWidth || bottom <= 0 || top >= innerHeight || !e.contains(document.elementFromPoint(x, y))) return false;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(e);
  return e.matches('input[type=text], input[type=search], textarea') || (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
})()`

// seesFocus waits until the focus is visible.
func (k keyboard) seesFocus(when string) {
	k.Helper()
	if !k.Holds(focusIsVisible) { // the page may still scroll to it
		k.Wait(when+" the focus is visible, on "+eval[string](k.page, `document.activeElement.outerHTML.slice(0, 200)`), focusIsVisible)
	}
	if !k.Holds(`window.loadedOnce`) {
		k.Fatalf("%s the page was loaded again", when)
	}
}

// tabTo presses Tab until an element has the focus.
func (k keyboard) tabTo(what, element string) {
	k.Helper()
	k.Wait("there is "+what, element)
	for range 80 {
		if k.Holds("document.activeElement === " + element) {
			return
		}
		k.press(tab)
	}
	k.Fatalf("%s has no focus after 80 tabs; it is on %s", what, eval[string](k.page, `document.activeElement.outerHTML.slice(0, 200)`))
}

// find opens the palette, types a query, and opens the entry that starts with a text.
func (k keyboard) find(query, entry string) {
	k.Helper()
	k.with(chromedp.ModifierCtrl, "k")
	k.Wait("the palette is open", `document.activeElement?.closest('.palette')`)
	k.press(query)
	k.Wait("the palette offers "+entry, chosen+"?.startsWith("+quoted(entry)+")")
	k.press(enter)
	k.Wait("the palette is closed", `!document.querySelector('.palette')`)
}

// button is a script that finds a button by its text.
func button(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('button')].find((b) => b.offsetParent !== null && b.innerText.trim() === %s)`, quoted(text))
}

const greeting = `package greet

// To returns a greeting.
func To(name string) string {
	return "Hi " + name
}
`

// The work of the agent. It waits for the file gate, so that a message reaches it while it works.
const greetPrompt = `Greet in a friendly way.
fake: say I read the package first.
fake: tool cat greet.go
fake: ask Which greeting shall it be? | Hello | Good morning
fake: tool sed -i 's/Hi /Hello, /' greet.go
fake: tool until test -e ~/gate; do sleep 0.1; done
fake: usage 21200 3300 0.14
fake: say It says Hello now.`

func TestAWholeDayOfWorkNeedsOnlyTheKeyboardAndNoReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("symbolic-ref", "HEAD", "refs/heads/main")
	w.commit(map[string]string{"greet.go": greeting})
	p := w.tabAt(w.loginURL())
	p.Wait("the page is there", dashboard.There)
	k := newKeyboard(p)
	k.Sees("Nothing has run yet.", "live")
	k.Shot("day-01-start")

	run := k.startsARun()
	k.answers()
	k.writesToTheAgent(run)
	task := k.reviews(run)
	k.merges(task)
	k.looksAtTheCost()
}

// startsARun fills the form for a new run and starts it. It returns the id of the run.
func (k keyboard) startsARun() string {
	k.Helper()
	k.press("n")
	k.at("#/new")
	k.Wait("the agents are known", field("Agent")+`?.querySelector('option[value=fake]')`)
	k.tabTo("the prompt", field("Prompt"))
	k.press(greetPrompt)
	k.tabTo("the agent", field("Agent"))
	k.press("fake")
	k.tabTo("the button for a check", button("Add a check"))
	k.press(enter)
	k.Wait("the check can be typed", "document.activeElement === "+field("Check 1"))
	k.press("grep Hello greet.go")
	k.tabTo("the choice of a worktree", `document.querySelector('.new-check input')`)
	k.press(" ")
	k.tabTo("the budget", field("Budget"))
	k.press("2")
	k.ready()
	k.Shot("day-02-new-run")
	k.with(chromedp.ModifierCtrl, enter)
	return k.started()
}

// answers answers the question of the agent on the page of the fleet.
func (k keyboard) answers() {
	k.Helper()
	k.Sees("Which greeting shall it be?")
	k.Shot("day-03-run")
	k.press("g", "f")
	k.at("#/")
	k.Wait("the agent is in the fleet", `document.querySelector('[data-agent] .asks')?.innerText === 'Which greeting shall it be?'`)
	k.press("q")
	k.Wait("the first answer has the focus", `document.activeElement.innerText === 'Hello'`)
	k.Shot("day-04-question")
	k.press(enter)
	k.SeesNot("One agent waits for you")
	k.Wait("the agent works", `document.querySelector('[data-agent] .status')?.innerText.includes('running')`)
}

// writesToTheAgent sends the agent a message while it works, and waits for its end.
func (k keyboard) writesToTheAgent(run string) {
	k.Helper()
	k.press(kb.ArrowDown)
	k.Wait("the agent is selected", `document.activeElement.matches('[data-agent]')`)
	k.Shot("day-05-agent")
	k.press(enter)
	k.Wait("the page of the task", fmt.Sprintf(`location.hash.startsWith('#/runs/%s/tasks/')`, run))
	k.seesBlock("I read the package first.")
	k.Sees("Hello")
	k.press("c")
	k.Wait("a message can be typed", `document.activeElement.matches('.writer textarea')`)
	k.press("Add a file for tests.")
	k.with(chromedp.ModifierShift, enter)
	k.press("fake: tool printf 'package greet\\n\\n// Nothing is tested yet.\\n' > greet_test.go")
	k.press(enter)
	k.Sees("waits until the agent takes it")
	k.Shot("day-06-message")
	write(k.world, k.home, map[string]string{"gate": ""})
	k.seesBlock("Add a file for tests.")
	k.Wait("it is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	k.Shot("day-07-complete")
}

// reviews reads the change, comments on a line, sends the change back and approves the next version. It
// returns the id of the task.
func (k keyboard) reviews(run string) string {
	k.Helper()
	k.press(kb.Escape) // leaves the input
	task := strings.TrimPrefix(eval[string](k.page, `location.hash`), "#/runs/"+run+"/tasks/")
	k.find("review change", "Action Review the change")
	k.at("#/runs/" + run + "/tasks/" + task + "/review")
	k.Sees("2 files", "to be reviewed")
	k.Wait("both files", dashboard.Cell("greet.go", "new", 5)+"&&"+dashboard.Cell("greet_test.go", "new", 3))
	k.press("n", "n", "j", "j")
	k.Wait("the line is selected", `document.querySelector('.dl.at')?.innerText.includes('Nothing is tested')`)
	k.Shot("day-08-review")
	k.press("c")
	k.Wait("a comment can be typed", `document.activeElement.matches('.editor textarea') && document.activeElement.value === ''`)
	k.press("Say what it tests.\nfake: tool sed -i 's,// Nothing is tested yet.,// Tests of To.,' greet_test.go\nfake: say c1: fixed")
	k.with(chromedp.ModifierCtrl, enter)
	k.Sees("Send back 1")
	k.Shot("day-09-comment")
	k.press("s")
	k.Sees("The agent has changed more since this was loaded.")
	k.press("r")
	k.Sees("agent: fixed", "answered, round 1")
	k.Wait("the new line", `[...document.querySelectorAll('.dl.ins')].some((l) => l.innerText.includes('// Tests of To.'))`)
	k.Shot("day-10-answered")
	k.press("a")
	k.Sees("Approved.")
	k.Wait("the approval is stored", `document.querySelector('.reviewbar .status').innerText.includes('approved')`)
	return task
}

// merges merges the change and goes back from page to page.
func (k keyboard) merges(task string) {
	k.Helper()
	before := k.git("rev-parse", "main")
	k.press("m")
	k.Sees("Merge this change?")
	k.Shot("day-11-merge")
	k.press(enter)
	k.tabTo("the consent", button("Merge and change the files of main"))
	k.Shot("day-12-consent")
	k.press(enter)
	k.Sees("Merged into main as " + until(k.world, "main has moved", func() (string, bool) { at := k.git("rev-parse", "main"); return at, at != before })[:9])
	if got := k.git("show", "main:greet.go"); !strings.Contains(got, `return "Hello, " + name`) {
		k.Errorf("greet.go of main is %q", got)
	}
	if got := k.git("show", "main:greet_test.go"); !strings.Contains(got, "// Tests of To.") {
		k.Errorf("greet_test.go of main is %q", got)
	}
	k.Wait("the review is merged", `document.querySelector('.reviewbar .status').innerText.includes('merged')`)
	k.Shot("day-13-merged")
	review := eval[string](k.page, `location.hash`)
	ofTask := strings.TrimSuffix(review, "/review")
	ofRun := strings.TrimSuffix(ofTask, "/tasks/"+task)
	for _, page := range []string{ofTask, ofRun, "#/runs", "#/"} {
		for range 3 { // Escape first closes what is open on the page
			if before := eval[string](k.page, `location.hash`); before != page {
				k.press(kb.Escape)
			}
		}
		k.at(page)
	}
}

// looksAtTheCost shows what the run has cost.
func (k keyboard) looksAtTheCost() {
	k.Helper()
	k.press("g", "c")
	k.at("#/cost")
	k.Sees("$0.14", "Attempts", "Input tokens")
	k.find("cost by run", "Action Cost by run")
	k.at("#/cost?by=run")
	k.Wait("the run has its cost", `[...document.querySelectorAll('main tbody tr')].some((r) => r.innerText.includes('$0.14'))`)
	k.Shot("day-14-cost")
	k.find("fleet", "Action Fleet")
	k.at("#/")
	k.Sees("No agent works now.")
	k.Shot("day-15-evening")
	if runs := ask[[]fleet.Run](k.page, "/v1/runs?ended=1", "runs"); len(runs) != 1 || runs[0].Status != fleet.Complete {
		k.Errorf("the runs are %+v", runs)
	}
}
