package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"

	"github.com/chromedp/chromedp/kb"
)

// shop is a plan that uses many features: dependencies, a question, a failing attempt, and a name
// that looks like markup.
const shop = `
name: shop
parallel: 4
budget: {usd: 1}
defaults: {agent: fake, timeout: 2m}
tasks:
  - id: schema
    name: Draw up the schema
    prompt: |
      fake: work 1s
      fake: usage 1200 300 0.004
      fake: say The schema has one table.
  - id: design
    name: Sketch <b onclick="alert(1)">the pages</b>
    prompt: |
      fake: ask Which colour shall the shop have? | blue | green
      fake: say The pages are sketched.
  - id: api
    name: Build the API
    after: [schema]
    retries: 1
    prompt: |
      fake: work 1s
      fake: usage 5000 700 0.2
      fake: on-attempt 1 exit 3
      fake: say The API is built.
  - id: copy
    name: Write the words
    after: [schema]
    prompt: |
      fake: say It is written.
  - id: pages
    name: Build the pages
    after: [design, copy]
    prompt: |
      fake: say Three pages are built.
  - id: tests
    name: Write the tests
    after: [api]
    prompt: |
      fake: work 2s
      fake: say Eleven tests are written.
  - id: review
    name: Review all of it
    after: [tests, pages]
    prompt: |
      fake: work 2s
      fake: say It is good.
`

// shopPath lists the tasks on the critical path of shop.
const shopPath = "schema api tests review"

func (w *world) run(id string) fleet.Run {
	w.Helper()
	run, err := w.client().Runs.Get(context.Background(), id)
	w.must(err)
	return run
}

func (w *world) ends(id string) fleet.Run {
	w.Helper()
	return until(w, "the end of run "+id, func() (fleet.Run, bool) { run := w.run(id); return run, run.Status.Final() })
}

// looks takes screenshots in the light theme, in the dark theme, and with the size of a phone.
func (p *page) looks(name string) {
	p.Helper()
	p.Shot(name)
	p.Dark(true)
	p.Shot(name + "-dark")
	p.Dark(false)
	p.Size(400, 800)
	p.Wait("the page fits 400 pixels", `document.documentElement.scrollWidth <= 400`)
	p.Shot(name + "-400")
	p.Size(1280, 800)
}

// nodes is a script that returns the status in each box of the graph, by task.
const nodes = `Object.fromEntries([...document.querySelectorAll('.node')].map((n) => [n.dataset.task, n.querySelector('.state').textContent]))`

// watchNodes is a script that records all later changes of the boxes in a graph.
const watchNodes = `
window.boxes = new Map([...document.querySelectorAll('.node')].map((n) => [n.dataset.task, n]));
window.words = {}; window.others = [];
const note = () => { for (const [task, n] of boxes) { const w = n.querySelector('.state').textContent.slice(2); const all = words[task] ??= []; if (all.at(-1) !== w) all.push(w); } };
note();
new MutationObserver((all) => {
  note();
  for (const m of all) { const n = (m.target.nodeType === 1 ? m.target : m.target.parentElement).closest('.node'); if (!n || m.attributeName === 'transform') others.push(m.type + ' ' + m.attributeName + ' of ' + m.target.nodeName); }
}).observe(document.querySelector('.graph svg'), { subtree: true, childList: true, attributes: true, characterData: true })`

func TestTheGraphOfARunIsLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.submit(shop)
	p := w.open("#/runs/" + id + "?view=graph")
	p.Wait("the graph is there", `document.querySelectorAll('.node').length === 7`)
	for task, word := range eval[map[string]string](p, nodes) {
		if word != "○ queued" {
			t.Errorf("%s is %q before there is a worker", task, word)
		}
	}
	if n := eval[int](p, `document.querySelectorAll('.edges path').length`); n != 7 {
		t.Errorf("%d lines are drawn", n)
	}
	p.Act(watchNodes)

	w.worker("w1", "--slots", "4")
	p.Sees("One agent waits for you", "Which colour shall the shop have?")
	p.Wait("the box says so", nodes+`.design === '? waiting'`)
	p.Wait("one runs", nodes+`.api === '● running'`)
	p.looks("run-graph")
	p.Click("green")
	w.ends(id)
	p.Wait("all boxes are complete", `Object.values(`+nodes+`).every((s) => s === '✓ complete')`)

	if !p.Holds(`[...document.querySelectorAll('.node')].every((n) => boxes.get(n.dataset.task) === n)`) {
		t.Error("boxes were made anew")
	}
	if others := eval[[]string](p, "others"); len(others) > 0 {
		t.Errorf("changes of statuses touched more than their boxes: %s", others[:min(5, len(others))])
	}
	words := eval[map[string][]string](p, "words")
	if got := strings.Join(words["tests"], " "); got != "queued running complete" {
		t.Errorf("tests was %s", got)
	}
	// Ignore the status running: before the question and after the answer it is so short that a
	// busy page may not show it.
	if got := strings.Join(words["design"], " "); strings.ReplaceAll(got, "running ", "") != "queued waiting complete" {
		t.Errorf("design was %s", got)
	}

	p.Act(`document.querySelector('[data-task=copy]').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))`)
	p.Wait("its path is shown", `[...document.querySelectorAll('.node.lit')].map((n) => n.dataset.task).sort().join() === 'copy,pages,review,schema'`)
	p.Shot("run-graph-path")
	p.graphByKeyboard(id)
}

// graphByKeyboard uses the graph of shop with the keyboard only.
func (p *page) graphByKeyboard(id string) {
	p.Helper()
	transform := `document.querySelector('.graph svg > g').getAttribute('transform')`
	p.Act(`document.querySelector('.node[tabindex="0"]').focus()`)
	before := eval[string](p, transform)
	p.Press("+")
	p.Wait("it is closer", transform+" !== "+quoted(before))
	p.Press("0", kb.ArrowRight)
	p.Wait("the focus is one on", `document.activeElement.dataset.task === 'api' || document.activeElement.dataset.task === 'copy'`)
	p.Wait("a screen reader gets the label", `/^(api|copy), .+, complete, stage 2/.test(document.activeElement.querySelector('title').textContent)`)
	p.Press(enter)
	p.Wait("the task is opened", `/^#\/runs\/`+id+`\/tasks\/(api|copy)$/.test(location.hash)`)
}

func TestTheTimelineShowsAttemptsAndTheCriticalPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("w1", "--slots", "4")
	gate := filepath.Join(w.dir, "gate")
	id := w.submit(strings.Replace(shop, "fake: say Eleven", "fake: tool until [ -e "+gate+" ]; do sleep 0.05; done\n      fake: say Eleven", 1))
	p := w.open("#/runs/" + id + "?view=timeline")
	p.Sees("Which colour shall the shop have?")
	p.Wait("waiting for the user is hatched", `document.querySelector('[data-task=design] .g-bar.asked')`)
	p.Wait("there is a line for now", `document.querySelector('.g-lines .now')`)
	p.Shot("run-timeline-live")
	p.Click("blue")
	p.Wait("what the answer was for is over before the tests are", `document.querySelector('[data-task=pages] .g-bar.k-complete')`)
	w.must(os.WriteFile(gate, nil, 0o600))
	w.ends(id)

	bars := func(task string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('[data-task=%s] .g-bar:not(.asked)')].map((b) => b.className).join()`, task)
	}
	p.Wait("both attempts are shown", bars("api")+` === 'g-bar k-failed,g-bar k-complete'`)
	p.Wait("the wait between them is shown", `document.querySelector('[data-task=api] .g-gap')`)
	p.Wait("the line for now is gone", `!document.querySelector('.g-lines .now')`)
	p.Wait("the critical path is "+shopPath, `[...document.querySelectorAll('.gantt.critical')].map((r) => r.dataset.task).join(' ') === `+quoted(shopPath))
	p.Sees(strings.ReplaceAll(shopPath, " ", " → "))
	p.Act(`document.querySelector('[data-task=api] .g-bar.k-failed').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))`)
	p.Wait("details are shown", `/attempt 1 .*failed/s.test(document.querySelector('.g-tip')?.innerText)`)
	p.looks("run-timeline")
	p.Click("Closer")
	p.Click("Closer")
	p.Wait("the run is longer than what is in sight", `parseFloat(document.querySelector('.whole .g-bar').style.width) > 200`)
}

func TestTheCriticalPathIsTheChainThatARunWaitedFor(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	script := func(tasks, spans string) string {
		return fmt.Sprintf(`Promise.all([import('/assets/run/structure.js'), import('/assets/run/criticalpath.js')]).then(([s, c]) => { const r = c.criticalPath(s.structureOf(%s), new Map(Object.entries(%s))); return r.ids.join(' ') + ' ' + r.work + ' ' + r.wait; })`, tasks, spans)
	}
	for _, c := range []struct{ about, tasks, spans, want string }{
		{"by name", `[{id:'a'},{id:'b'},{id:'c',after:['a','b']}]`, `{a:{start:0,end:5},b:{start:0,end:9},c:{start:11,end:12}}`, "b c 10 2"},
		{"by wave", `[{id:'a',wave:1},{id:'b',wave:2},{id:'c',wave:2},{id:'d',wave:7}]`, `{a:{start:0,end:5},b:{start:5,end:6},c:{start:5,end:8},d:{start:8,end:9}}`, "a c d 9 0"},
		{"of those that go on, the one that more follows on", `[{id:'a'},{id:'b'},{id:'c',after:['b']}]`, `{a:{start:0,end:5},b:{start:2,end:5}}`, "b 3 0"},
		{"by a place to run in, for which it waited until another task ended", `[{id:'a'},{id:'b'},{id:'c'},{id:'d'}]`, `{a:{start:0,end:60000},b:{start:0,end:4000},c:{start:4010,end:5000},d:{start:60010,end:60020}}`, "a d 60010 10"},
		{"by a place to run in, long after what it names has ended", `[{id:'a'},{id:'b'},{id:'c',after:['b']}]`, `{a:{start:0,end:60000},b:{start:0,end:4000},c:{start:60010,end:60020}}`, "a c 60010 10"},
		{"by places to run in, also of tasks that took no time", `[{id:'a'},{id:'b'},{id:'c'}]`, `{a:{start:0,end:9000},b:{start:9000,end:9000},c:{start:9000,end:9001}}`, "a b c 9001 0"},
		{"by name, if it began soon after, though another has ended since", `[{id:'a'},{id:'b'},{id:'c',after:['a']}]`, `{a:{start:0,end:5000},b:{start:0,end:5100},c:{start:5200,end:9000}}`, "a c 8800 200"},
		{"by name, if nothing ended just before it began", `[{id:'a'},{id:'b'},{id:'c',after:['a']}]`, `{a:{start:0,end:5000},b:{start:0,end:9000},c:{start:30000,end:31000}}`, "a c 6000 25000"},
		{"of what has not begun, nothing", `[{id:'a'}]`, `{}`, " 0 0"},
		{"a circle ends", `[{id:'a',after:['b']},{id:'b',after:['a']}]`, `{a:{start:0,end:5},b:{start:5,end:6}}`, "a b 6 0"},
		{"names that are no list", `[{id:'a',after:'b'},{id:'b',after:[null,7,'nobody'],wave:'x'}]`, `{a:{start:0,end:5}}`, "a 5 0"},
	} {
		if got := eval[string](p, script(c.tasks, c.spans)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.about, got, c.want)
		}
	}
}

func TestACriticalPathNeverTakesNoTime(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	for script, want := range map[string]string{`{work: 300, wait: 20}`: "less than 1s", `{work: 900, wait: 200}`: "1s", `{work: 60000, wait: 5000}`: "1m 05s"} {
		if got := module[string](p, "run/timeline.js", "m.pathTime("+script+")"); got != want {
			t.Errorf("%s is %q, want %q", script, got, want)
		}
	}
}

func TestFailedTasksAreTheFirstInTheListOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("w1", "--slots", "1")
	id := w.submit(`
name: mixed
defaults: {agent: fake}
tasks:
  - {id: one, prompt: "fake: say fine"}
  - {id: two, prompt: "fake: fail There is no such database."}
  - {id: three, prompt: "fake: say fine", after: [one]}
  - {id: four, prompt: "fake: fail It is locked.", after: [three]}
`)
	p := w.open("#/runs/" + id)
	w.ends(id)
	rows := `[...document.querySelectorAll('.row')].sort((a, b) => a.dataset.index - b.dataset.index).map((r) => r.querySelector('.c-task a').textContent).join(' ')`
	p.Wait("what failed is first, the others as in the plan", rows+` === 'two four one three'`)
	p.looks("run-list-failed")
	p.Visit("#/runs/" + id + "?view=timeline")
	p.Wait("the timeline goes by time", `[...document.querySelectorAll('[data-task]')].map((r) => r.dataset.task).filter(Boolean).join(' ') === 'one two three four'`)
}

const stuck = `
name: stuck
defaults: {agent: fake}
tasks:
  - id: hangs
    prompt: |
      fake: hang
  - id: fails
    prompt: |
      fake: fail There is no such database.
  - {id: never, prompt: Never., after: [hangs]}
`

func TestARunIsCancelledAndItsFailuresRetriedByClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("w1", "--slots", "2")
	id := w.submit(stuck)
	p := w.open("#/runs/" + id)
	p.Sees("There is no such database.", "waits for hangs", "1 failed")
	p.Wait("one hangs", `document.querySelector('.row[data-index="1"] .status').innerText.includes('running')`)
	p.Click("Retry the failed task…")
	p.Sees("Retry 1 task?", "fails")
	p.Click("Retry")
	until(w, "a second try", func() (fleet.Task, bool) { t := w.run(id).Tasks[1]; return t, t.Tries > 1 && t.Status == fleet.Failed })
	p.Wait("the page knows", `/failed[^]*2.2[^]*no such database/.test(document.querySelector('.row[data-index="0"]').innerText)`)

	p.Click("Cancel run…")
	p.Sees("Cancel the run stuck?", "1 task that runs is ended")
	p.Shot("run-cancel")
	p.Click("No")
	if w.run(id).Status.Final() {
		t.Fatal("no was taken for yes")
	}
	p.Click("Cancel run…")
	p.Click("Cancel the run")
	p.Sees("Cancelled: stuck")
	if run := w.ends(id); run.Status != fleet.Cancelled {
		t.Errorf("the run is %s", run.Status)
	}
	p.Wait("the page says so", `document.querySelector('.run-head .status').innerText.includes('cancelled')`)
	p.looks("run-list")
	p.Act(`document.querySelector('.counter.k-failed').click()`)
	p.Wait("only what failed is shown", `document.querySelectorAll('.row').length === 1 && location.hash.includes('status=failed')`)
}

func TestATaskIsReachedFromTheRunsAndLeftByKeyboardAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.submit(shop)
	p := w.open("#/runs")
	p.Sees("shop")
	p.tabTo("the run", `document.activeElement.matches('a.r-row')`)
	p.Press(enter)
	p.Wait("the run is shown", `document.querySelectorAll('.t-rows .row').length === 7`)
	p.tabTo("the tasks", `document.activeElement.matches('.t-rows .row')`)
	p.Press(kb.ArrowDown, kb.ArrowDown)
	p.Wait("the third has the focus", `document.activeElement.dataset.index === '2'`)
	p.Shot("run-focus")
	task := eval[string](p, `document.activeElement.querySelector('.c-task a').innerText`)
	p.Press(enter)
	p.Wait("the task is shown", `location.hash === `+quoted("#/runs/"+id+"/tasks/"+task))
	p.Act(`history.back()`)
	p.Wait("the row has the focus again", `document.activeElement.dataset.index === '2'`)
}

// tabTo presses Tab until the script returns true in the page.
func (p *page) tabTo(what, script string) {
	p.Helper()
	for range 60 {
		if p.Holds(script) {
			return
		}
		p.Press(tab)
	}
	p.Fatalf("%s has no focus after 60 tabs; it is on %s", what, eval[string](p, `document.activeElement.outerHTML.slice(0, 200)`))
}

// waves returns a plan with the given number of tasks, in ten waves.
func waves(tasks int) string {
	var b strings.Builder
	b.WriteString("name: waves\ndefaults: {agent: fake}\ntasks:\n")
	for i := range tasks {
		fmt.Fprintf(&b, "  - {id: task-%04d, name: Number %d, prompt: Nothing., wave: %d}\n", i, i, 1+i*10/tasks)
	}
	return b.String()
}

func TestARunOfFiveThousandTasksIsShownAtOnceAndScrolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.submit(waves(5000))
	p := w.open("#/")
	p.Act(`window.began = performance.now(); location.hash = ` + quoted("#/runs/"+id) + `; new MutationObserver((_, o) => { if (document.querySelector('.t-rows .row')) { o.disconnect(); requestAnimationFrame(() => requestAnimationFrame(() => { window.shown = performance.now() - began; })); } }).observe(document.getElementById('app'), {subtree: true, childList: true})`)
	p.Wait("the rows are there", `window.shown > 0`)
	shown := eval[float64](p, `Math.round(shown)`)
	t.Logf("5,000 tasks were shown %.0f ms after they were asked for", shown)
	if shown > 30_000 {
		t.Errorf("it took %.0f ms", shown)
	}
	most, longest := 0, 0.0
	p.Act(`window.slow = 0; let before = performance.now(); (function next(t) { slow = Math.max(slow, t - before); before = t; requestAnimationFrame(next); })(before)`)
	for part := range 20 {
		p.Act(fmt.Sprintf(`scrollTo(0, document.documentElement.scrollHeight * %d / 20)`, part+1))
		p.Wait("rows are in sight", `[...document.querySelectorAll('.t-rows .row')].some((r) => { const b = r.getBoundingClientRect(); return b.top < innerHeight && b.bottom > innerHeight / 2; })`)
		most = max(most, eval[int](p, `document.querySelectorAll('.t-rows .row').length`))
	}
	longest = eval[float64](p, "Math.round(slow)")
	t.Logf("at most %d rows were in the page, the longest frame took %.0f ms", most, longest)
	p.Sees("task-4999")
	if most > 80 {
		t.Errorf("%d rows were in the page", most)
	}
	p.Shot("run-crowd")
	p.Act(`scrollTo(0, 0)`)
	p.Wait("the first is there", `document.querySelector('.row[data-index="0"]')`)
	p.Act(`document.querySelector('.row[data-index="0"]').focus()`)
	p.Press(kb.End)
	p.Wait("a key goes to the last", `document.activeElement.dataset.index === '4999'`)
	p.Visit("#/runs/" + id + "?view=graph")
	p.Sees("5,000 tasks in 60 boxes")
	p.Visit("#/runs/" + id + "?view=timeline")
	p.Act(`scrollTo(0, document.documentElement.scrollHeight)`)
	p.Sees("task-4999")
	if n := eval[int](p, `document.querySelectorAll('.gantt').length`); n > 80 {
		t.Errorf("%d rows of the timeline were in the page", n)
	}
	p.Visit("#/runs/" + id + "?filter=number+4321")
	p.Wait("one task is like that", `document.querySelectorAll('.t-rows .row').length === 1`)
}

func TestAGraphOfAThousandTasksIsLaidOutBesideThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var b strings.Builder
	b.WriteString("name: web\ndefaults: {agent: fake}\ntasks:\n")
	const wide = 25
	for i := range 1000 {
		after := ""
		if i >= wide {
			after = fmt.Sprintf(", after: [t%d, t%d]", i-wide, (i/wide-1)*wide+(i*7+3)%wide)
		}
		fmt.Fprintf(&b, "  - {id: t%d, prompt: Nothing.%s}\n", i, strings.Replace(after, fmt.Sprintf("t%d, t%d]", i-wide, i-wide), fmt.Sprintf("t%d]", i-wide), 1))
	}
	id := w.submit(b.String())
	p := w.open("#/")
	p.Act(`window.slow = 0; let before = performance.now(); (function next(t) { slow = Math.max(slow, t - before); before = t; requestAnimationFrame(next); })(before); window.began = performance.now()`)
	p.Visit("#/runs/" + id + "?view=graph")
	p.Wait("the graph is folded", `document.querySelectorAll('.node.fold').length === 40`)
	p.Act(`window.began = performance.now()`)
	p.Click("Show every task")
	p.Wait("the graph is there", `document.querySelectorAll('.node:not(.fold)').length === 1000 && (window.took ??= performance.now() - began)`)
	t.Logf("1,000 tasks were laid out after %.0f ms; the page's longest frame took %.0f ms", eval[float64](p, "took"), eval[float64](p, "slow"))
	p.Shot("run-graph-1000")
	p.Click("Fit")
	p.Shot("run-graph-1000-fit")
}

func TestTheTasksOfWavesStandInTheirColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.submit(waves(120))
	p := w.open("#/runs/" + id + "?view=graph")
	p.Wait("the graph is there", `document.querySelectorAll('.node').length === 120`)
	p.Wait("there are ten waves of twelve", `[...document.querySelectorAll('.bands text')].map((t) => t.textContent).join() === [...Array(10).keys()].map((i) => 'Stage ' + (i + 1) + '12').join()`)
	p.Wait("each task is in the column of its wave", `[...document.querySelectorAll('.node')].every((n, i) => { const band = document.querySelectorAll('.bands rect')[Math.floor(i / 12)].getBoundingClientRect(); const box = n.getBoundingClientRect(); return box.left >= band.left && box.right <= band.right; })`)
	p.looks("run-waves")
}

// fewerTasks is a script that draws a graph of three tasks, and then the same graph with two.
const fewerTasks = `Promise.all([import('/assets/run/graph.js'), import('/assets/run/structure.js'), import('/assets/core/view.js')]).then(([{ Graph }, { structureOf }, { html, render }]) => {
  const main = document.querySelector('main');
  const place = main.parentElement.insertBefore(document.createElement('div'), main);
  window.draw = (...ids) => {
    const tasks = ids.map((id, i) => ({ id, run: 'r', status: 'queued', after: ids.slice(i - 1, i) }));
    const structure = structureOf(tasks);
    render(html` + "`<${Graph} structure=${structure} shown=${structure.order} row=${(id) => tasks.find((t) => t.id === id)} />`" + `, place);
  };
  draw('a', 'b', 'c');
  return true;
})`

func TestAGraphMayHaveFewerTasksThanBefore(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	_ = eval[bool](p, fewerTasks)
	p.Wait("there are three", `document.querySelectorAll('.node').length === 3`)
	p.Act(`const last = document.querySelector('[data-task=c]'); last.focus(); last.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))`)
	p.Wait("its path is shown", `document.querySelectorAll('.node.lit').length === 3 && document.querySelector('[data-task=c]').tabIndex === 0`)
	p.Act(`draw('a', 'b')`)
	p.Wait("there are two", `document.querySelectorAll('.node').length === 2 && !document.querySelector('.node.lit')`)
	p.Wait("the keyboard reaches one", `document.querySelector('[data-task=a]').tabIndex === 0`)
	p.Act(`document.querySelector('.graph').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))`)
	p.Wait("and goes on to the next", `document.activeElement.dataset.task === 'b'`)
}

// past returns all changes of a run, as the server sends them to the page.
func (w *world) past(id string) (all []coordinator.PastChange) {
	w.Helper()
	for after := ""; ; {
		page, err := w.client().Runs.Changes(context.Background(), id, after, 0)
		w.must(err)
		all = append(all, page.Changes...)
		if after = page.Next; after == "" {
			return all
		}
	}
}

// statuses returns the status of each task of a run, as JSON with sorted keys.
func statuses(run fleet.Run) string {
	all := map[string]string{}
	for _, t := range run.Tasks {
		all[t.ID] = string(t.Status)
	}
	text, _ := json.Marshal(all) // encoding strings never fails
	return string(text)
}
