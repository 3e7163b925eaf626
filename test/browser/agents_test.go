package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// agentRow returns a script that is the row or card of the agent with a name.
func agentRow(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('.agents [data-agent]')].find((r) => r.querySelector('.name').innerText === %s)`, quoted(name))
}

// seesAgent waits until the row of an agent shows all of the texts.
func (p *page) seesAgent(name string, texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.Wait(name+" shows "+text, fmt.Sprintf(`%s?.innerText.includes(%s)`, agentRow(name), quoted(text)))
	}
}

// seesAgents waits until the list shows exactly these agents, in this order.
func (p *page) seesAgents(want string) {
	p.Helper()
	p.Wait("the agents are "+want, fmt.Sprintf(`[...document.querySelectorAll('.agents [data-agent]')].map((r) => [r.offsetTop, r.offsetLeft, r.querySelector('.name').innerText]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((r) => r[2]).join(' ') === %s`, quoted(want)))
}

// chooseOption selects an option of a list by the text of the option.
func (p *page) chooseOption(label, option string) {
	p.Helper()
	find := fmt.Sprintf(`document.querySelector('select[aria-label=%s]')`, quoted(label))
	p.Wait("there is a list "+label, find)
	p.Act(fmt.Sprintf(`const s = %s; s.value = [...s.options].find((o) => o.text === %s).value; s.dispatchEvent(new Event('change', { bubbles: true }))`, find, quoted(option)))
}

// filterBy types a text into the filter of the page.
func (p *page) filterBy(text string) {
	p.Helper()
	p.Act(fmt.Sprintf(`const i = document.querySelector('[data-filter]'); i.value = %s; i.dispatchEvent(new Event('input', { bubbles: true }))`, quoted(text)))
}

// at waits until the address of the page is this.
func (p *page) at(hash string) {
	p.Helper()
	p.Wait("the address is "+hash, fmt.Sprintf("location.hash === %s", quoted(hash)))
}

const twoRuns = `name: shop
tasks:
  - {id: api, name: Build the API, agent: fake, model: small, prompt: "fake: usage 1000 200 0.25\nfake: say Reading the routes\nfake: hang"}
  - {id: page, agent: fake, prompt: "fake: usage 1000 200 1.5\nfake: ask Which colour? | red | green\nfake: say Painting\nfake: hang"}
`

const otherRun = `name: docs
tasks:
  - {id: guide, agent: fake, prompt: "fake: say Writing the guide\nfake: hang"}
`

func TestTheAgentsOfRunsAndOneStartedByHandAreShownWithWhatTheyDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/")
	p.Sees("Nothing has run yet.", "gaffer run plan.yaml", "gaffer init", "gaffer worker --server")
	p.Accessible("a fleet without agents")
	p.Shot("agents-none")
	w.worker("den", "--slots", "4")
	shop := w.submit(twoRuns)
	p.seesAgent("Build the API", "Reading the routes", "fake · small", "running")
	p.seesAgent("page", "Which colour?", "waiting")
	docs := w.submit(otherRun)
	p.seesAgent("guide", "Writing the guide", "running")
	w.hook(`"hook_event_name":"UserPromptSubmit","prompt":"test it"`)
	w.hook(`"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."}`)
	p.seesAgent("claude-s1", "Bash: go test ./...", "running", "by hand", filepath.Base(w.dir))
	w.hook(`"hook_event_name":"Stop","last_assistant_message":"All tests pass."`)
	p.seesAgent("claude-s1", "All tests pass.", "idle")
	p.Wait("they are counted", `document.querySelector('.agents-head h2').innerText === 'Agents 4'`)
	if href := eval[string](p, agentRow("guide")+`.querySelector('a').getAttribute('href')`); href != task(docs, "guide") {
		t.Errorf("the guide's agent leads to %s", href)
	}

	// The order and the groups: those that wait come first, agents by hand last.
	p.seesAgents("page Build the API guide claude-s1")
	p.Wait("the groups are runs", `[...document.querySelectorAll('.group-head h3')].map((h) => h.innerText).join() === 'shop,docs,Started by hand'`)
	p.everywhere("agents")
	p.Accessible("agents as rows")
	p.chooseOption("Group", "Not grouped")
	p.at("#/?group=none")
	p.seesAgents("page guide Build the API claude-s1")
	p.chooseOption("Sort", "Longest first")
	p.Wait("the oldest is first", `document.querySelector('.agents [data-agent] .name').innerText === 'page' || document.querySelector('.agents [data-agent] .name').innerText === 'Build the API'`)
	p.at("#/?group=none&sort=longest")
	p.chooseOption("Group", "By machine")
	p.Wait("there is one machine", `document.querySelectorAll('.group-head').length === 1 && document.querySelector('.group-head').innerText.includes('slots used')`)

	// Counters and text filter, and both stay in the address.
	const waiting = `[...document.querySelectorAll('.counter')].find((c) => c.innerText.includes('waiting')).click()`
	p.Act(waiting)
	p.seesAgents("page")
	p.at("#/?group=machine&sort=longest&status=waiting")
	p.Act(waiting)
	p.filterBy("writing GUIDE")
	p.seesAgents("guide")
	p.at("#/?group=machine&sort=longest&filter=writing+GUIDE")
	p.filterBy("no such agent")
	p.Sees("No agent matches.")
	p.Visit("#/?status=idle&group=nonsense&sort=__proto__")
	p.seesAgents("claude-s1")

	// An answer in the row.
	p.Visit("#/")
	p.Click("Answer page")
	p.Wait("the question is open below the row", `document.querySelector('[data-answer] .question')?.innerText.includes('Which colour?')`)
	p.Shot("agents-answer")
	p.Act(`[...document.querySelectorAll('[data-answer] button')].find((b) => b.innerText === 'green').click()`)
	p.seesAgent("page", "Painting", "running")
	p.Wait("the question is gone", `!document.querySelector('.question')`)
	p.Wait("the counter too", `![...document.querySelectorAll('.counter')].some((c) => c.innerText.includes('waiting'))`)

	// An agent that has ended disappears.
	w.must(w.client().Runs.Cancel(t.Context(), docs, "", "enough"))
	p.Wait("the guide's agent is gone", `!`+agentRow("guide"))
	w.hook(`"hook_event_name":"SessionEnd","reason":"other"`)
	p.Wait("the one by hand is gone", `!`+agentRow("claude-s1"))
	w.must(w.client().Runs.Cancel(t.Context(), shop, "", "enough"))
	p.Sees("No agent works now.")
}

func TestAViewOfTheAgentsIsSavedAndDeletedAndBroughtBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beat(coordinator.Heartbeat{AgentID: "one", Name: "one", ClaudeStatus: coordinator.Running})
	w.beat(coordinator.Heartbeat{AgentID: "two", Name: "two", ClaudeStatus: coordinator.Idle})
	p := w.open("#/?status=idle&group=none&view=cards")
	p.seesAgents("two")
	p.Click("Saved views")
	p.Wait("the menu is open", `document.querySelector('[role=menu]:popover-open')`)
	p.Accessible("the menu of views")
	p.Click("Save this view…")
	p.Wait("it asks for a name", `document.querySelector('dialog[open] input') === document.activeElement`)
	p.Do(chromedp.KeyEvent("Idle ones"))
	p.Press(enter)
	p.Sees("Saved: Idle ones")
	p.Visit("#/")
	p.seesAgents("one two")
	p.Do(chromedp.Reload())
	p.seesAgents("one two")
	p.Click("Saved views")
	p.Click("Idle ones")
	p.at("#/?status=idle&group=none&view=cards")
	p.seesAgents("two")
	p.Click("Saved views")
	p.Click("Delete “Idle ones”")
	p.Wait("it is gone", `JSON.parse(localStorage.getItem('gaffer.fleet.views')).length === 0`)
	p.Click("Undo")
	p.Wait("it is back", `JSON.parse(localStorage.getItem('gaffer.fleet.views'))[0].name === 'Idle ones'`)
	p.Act(`localStorage.setItem('gaffer.fleet.views', '{"not": "a list"}')`)
	p.Do(chromedp.Reload())
	p.seesAgents("two")
}

func TestAgentsAreReachedAndAnsweredWithTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("den", "--slots", "4")
	run := w.submit(twoRuns)
	p := w.open("#/?group=none")
	p.seesAgent("page", "Which colour?")
	p.seesAgent("Build the API", "Reading the routes")
	p.Press(kb.ArrowDown)
	on := func(name string) string { return fmt.Sprintf(`document.activeElement === %s`, agentRow(name)) }
	p.Wait("the first agent has the focus", on("page"))
	p.Press(kb.ArrowDown)
	p.Wait("then the second", on("Build the API"))
	p.Press(kb.Home)
	p.Wait("then the first again", on("page"))
	p.Press("a")
	p.Wait("an answer has the focus", `document.activeElement.closest('[data-answer]') && document.activeElement.innerText === 'red'`)
	p.Press(enter)
	p.seesAgent("page", "Painting")
	p.Press("v")
	p.at("#/?group=none&view=cards")
	p.seesAgent("page", "Painting")
	p.everywhere("agents-cards")
	p.Accessible("agents as cards")
	p.tabTo("an agent", `document.activeElement.dataset.agent`)
	p.Press(kb.End, kb.Home, kb.ArrowRight)
	p.Wait("the second card", `document.activeElement.dataset.agent && document.activeElement !== document.querySelector('[data-agent]')`)
	p.Act(agentRow("page") + `.focus()`)
	p.Press(enter)
	p.at(task(run, "page"))
	p.Act(`history.back()`)
	p.Wait("the agent has the focus again", on("page"))
	p.Act(`document.activeElement.blur()`)
	p.Press("/")
	p.Wait("the filter has the focus", `document.activeElement.matches('[data-filter]')`)
	p.Act(`document.activeElement.select()`)
	p.Do(chromedp.KeyEvent("api"))
	p.seesAgents("Build the API")
}

func TestAgentsAreSortedByCostAndMoveOnlyWithTheirState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("name: costs\ndefaults: {agent: fake}\ntasks: [{id: a, prompt: x}, {id: b, prompt: x}, {id: c, prompt: x}]\n")
	m := w.machine("den", 3)
	m.cents = func(i int) int { return []int{20, 300, 4}[i] }
	m.beat()
	p := w.open("#/")
	p.seesAgent("b", "$3.00", "den", "20 %")
	p.chooseOption("Sort", "Highest cost first")
	p.seesAgents("b a c")
	m.cents = func(i int) int { return []int{20, 300, 4000}[i] }
	m.beat()
	p.seesAgent("c", "$40.00")
	p.seesAgents("b a c") // a cost that grows moves no row
	p.chooseOption("Sort", "Needs me first")
	p.chooseOption("Sort", "Highest cost first")
	p.seesAgents("c b a")
}

func TestManyQuestionsDoNotHideTheAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		name := fmt.Sprint("agent-", i)
		w.beat(coordinator.Heartbeat{AgentID: name, Name: name, ClaudeStatus: coordinator.Idle})
		w.question(name, w.channelTask(name, fmt.Sprint("Task ", i)).ID, fmt.Sprint("Question ", i, "?"), "yes", "no")
	}
	p := w.open("#/")
	p.Sees("5 agents wait for you")
	p.Wait("three are shown", `document.querySelectorAll('.question').length === 3`)
	p.Click("Show all 5 questions")
	p.Wait("all are shown", `document.querySelectorAll('.question').length === 5`)
	p.Click("Show only 3 questions")
	p.Wait("three are shown again", `document.querySelectorAll('.question').length === 3`)
	p.seesAgent("agent-4", "Question 4?", "waiting") // the row of a protocol's agent has its question, too
	p.Click("Answer agent-4")
	p.Act(`[...document.querySelectorAll('[data-answer] button')].find((b) => b.innerText === 'yes').click()`)
	p.Sees("Answered “yes”")
}

func TestAnAgentThatCannotBeReachedSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	den := w.worker("den", "--slots", "2")
	w.submit(otherRun)
	p := w.open("#/")
	p.seesAgent("guide", "running", "Writing the guide")
	den.kill()
	p.seesAgent("guide", "no contact")
}

func TestWhatNeedsTheUserIsAboveTheAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git("commit", "-q", "--allow-empty", "-m", "begin")
	changed, _ := w.local("name: fixes\ntasks:\n  - {id: door, worktree: true, shell: \"echo red >door\"}\n")
	orphan, pid := w.local(fmt.Sprintf(`name: orphan
tasks:
  - {id: gate, shell: "until test -e gate; do sleep 0.1; done"}
  - {id: wall, worktree: true, shell: "until test -e %[1]s/paint; do sleep 0.1; done; echo blue >wall"}
`, w.dir), "--detach")
	p := w.open("#/")
	p.Sees("Needs you", "1 change: 1 ready to merge")
	p.seesAgent("gate", "running")
	p.seesAgent("wall", "running", "gaffer/"+orphan+"/wall")
	w.must(os.WriteFile(filepath.Join(w.dir, "paint"), nil, 0o600))
	p.Sees("Review wall") // though its run goes on
	testenv.Signal(w, pid, syscall.SIGKILL)
	p.Sees("No gaffer works on this run")
	p.seesAgent("gate", "no contact")
	p.everywhere("fleet-needs-you")
	p.Accessible("what needs the user")
	p.Click("Review door")
	p.at(task(changed, "door") + "/review")
	p.Visit("#/")
	p.Click("Resume")
	p.Sees("Resumed: orphan")
	p.SeesNot("No gaffer works on this run")
	w.must(os.WriteFile(filepath.Join(w.dir, "gate"), nil, 0o600))
	if run := w.ends(orphan); run.Status != fleet.Complete {
		t.Errorf("the run is %s", run.Status)
	}
}

func TestAWorkerShowsTheAgentsOnIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/workers")
	p.Sees("No worker has been heard of.")
	p.Accessible("no workers")
	w.worker("den", "--slots", "4", "--labels", "gpu")
	w.worker("attic", "--slots", "2")
	w.submit(otherRun)
	row := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('.workers tr[data-item]')].find((r) => r.querySelector('th').innerText.includes(%s))?.innerText`, quoted(name))
	}
	p.Wait("one slot is used", `[`+row("den")+`, `+row("attic")+`].some((t) => /1\/[24]/.test(t) && t.includes('1 agent'))`)
	p.Wait("the label is shown", row("den")+`.includes('gpu')`)
	p.Act(`document.querySelector('.workers .fold[aria-expanded=false]').click()`)
	p.Wait("its agent is shown", `document.querySelector('.agent-on')?.innerText.includes('Writing the guide')`)
	p.everywhere("workers")
	p.Accessible("workers")
	p.Click("guide")
	p.Wait("the task is shown", `location.hash.endsWith('/tasks/guide')`)
	p.Visit("#/workers?status=offline")
	p.Sees("No worker matches.")
}
