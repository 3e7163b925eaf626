package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// largePlan is a plan of 2,000 tasks in 20 stages. Each stage has 60 tasks that build, 39 that test, and
// one that has no number.
func largePlan() string {
	var b strings.Builder
	b.WriteString("name: large\ndefaults: {agent: fake}\ntasks:\n")
	const stages, build, test = 20, 60, 39
	for s := range stages {
		after := func(kind string, i int) string {
			if s == 0 {
				return ""
			}
			return fmt.Sprintf(", after: [%s-%02d-%02d]", kind, s-1, i)
		}
		for i := range build {
			fmt.Fprintf(&b, "  - {id: build-%02d-%02d, prompt: Nothing.%s}\n", s, i, after("build", i))
		}
		for i := range test {
			fmt.Fprintf(&b, "  - {id: test-%02d-%02d, prompt: Nothing.%s}\n", s, i, after("build", i))
		}
		fmt.Fprintf(&b, "  - {id: release%d, prompt: Nothing.%s}\n", s, after("test", 0))
	}
	return b.String()
}

// measureTasks is a script that records the longest task of the page from now on.
const measureTasks = `window.longest = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) longest = Math.max(longest, e.duration); }).observe({ type: 'longtask' }); window.began = performance.now()`

func TestAGraphOfTwoThousandTasksIsFolded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.submit(largePlan())
	p := w.open("#/")
	p.Sees("large")
	p.Act(measureTasks)
	p.Visit("#/runs/" + id + "?view=graph")
	p.Wait("the graph is folded", `document.querySelectorAll('.node.fold').length === 60 && (window.took ??= performance.now() - began)`)
	took, longest := eval[float64](p, "took"), eval[float64](p, "longest")
	t.Logf("2,000 tasks were drawn after %.0f ms; the page's longest task took %.0f ms", took, longest)
	if took > 60_000 || longest > 20_000 { // a busy machine takes long
		t.Errorf("this took %.0f ms, and a task %.0f ms", took, longest)
	}
	p.Sees("2,000 tasks in 80 boxes")
	p.Wait("a box says how many tasks it has, and their states", `[...document.querySelectorAll('.node.fold')].some((n) => n.querySelector('title').textContent.startsWith('test…, 39 tasks: 39 queued, stage 3'))`)
	p.Accessible("a folded graph")
	p.looks("run-graph-folded")
	p.wide("run-graph-folded")

	// Open a box with a click. The others stay folded.
	p.Act(`[...document.querySelectorAll('.node.fold')].find((n) => n.querySelector('title').textContent.startsWith('test…, 39 tasks: 39 queued, stage 1,')).dispatchEvent(new MouseEvent('click', { bubbles: true }))`)
	p.Wait("its tasks are there", `document.querySelector('[data-task="test-00-38"]') && document.querySelectorAll('.node.fold').length === 59`)
	p.Wait("its first task is focused", `document.activeElement.dataset.task === 'test-00-00'`)
	p.Wait("the address says so", `location.hash.includes('open=')`)
	p.Shot("run-graph-open")
	p.Press("f")
	p.Wait("a key folds it again", `document.querySelectorAll('.node.fold').length === 60 && document.activeElement.dataset.fold !== undefined`)

	// With the keyboard alone.
	p.Press(kb.ArrowRight)
	p.Wait("the next stage is focused", `document.activeElement.querySelector('title').textContent.includes('stage 2')`)
	p.Press(kb.Home)
	p.Wait("the first box is focused", `document.activeElement.querySelector('title').textContent.startsWith('build-00-00 … build-00-39, 40 tasks')`)
	p.Press(enter)
	p.Wait("Enter opens it", `document.querySelector('[data-task="build-00-39"]') && document.querySelectorAll('.node.fold').length === 59`)
	p.Click("Fold all")
	p.Wait("all is folded", `document.querySelectorAll('.node.fold').length === 60`)

	// A filter takes the tasks that it finds out of their boxes.
	p.Act(`((i) => { i.value = 'test-07-12'; i.dispatchEvent(new Event('input', { bubbles: true })); })(document.querySelector('[data-filter]'))`)
	p.Wait("the task is there", `document.querySelector('[data-task="test-07-12"]:not(.dim)')`)
	p.Wait("it is in sight", `((r, s) => r.left >= s.left && r.right <= s.right && r.top >= s.top && r.bottom <= s.bottom)(document.querySelector('[data-task="test-07-12"]').getBoundingClientRect(), document.querySelector('.graph').getBoundingClientRect())`)
	p.Wait("boxes without it are pale", `document.querySelectorAll('.node.fold:not(.dim)').length === 0`)
	p.Shot("run-graph-found")
}

func TestAFoldedGraphIsLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var b strings.Builder
	b.WriteString("name: many\ndefaults: {agent: fake}\nparallel: 20\ntasks:\n  - {id: bad, prompt: \"fake: fail no\"}\n")
	for i := range 160 {
		fmt.Fprintf(&b, "  - {id: step-%03d, shell: 'true', after: %s}\n", i, map[bool]string{true: "bad", false: "[]"}[i < 40])
	}
	p := w.open("#/")
	id := w.submit(b.String())
	p.Visit("#/runs/" + id + "?view=graph")
	p.Wait("it is folded", `document.querySelectorAll('.node.fold').length >= 3`)
	w.worker("one", "--slots", "8")
	p.Wait("boxes show what has ended", `[...document.querySelectorAll('.node.fold')].some((n) => n.querySelector('title').textContent.includes('40 cancelled')) && [...document.querySelectorAll('.node.fold.k-complete')].length >= 3`)
	p.Shot("run-graph-folded-ended")
}

// A layout that takes long, or fails, is announced, and the graph from before stays.
func TestAGraphSaysThatItsLayoutTakesLongOrFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.submit(waves(200))
	p := w.open("#/runs/" + id + "?view=graph")
	p.Wait("the graph is folded", `document.querySelector('.node.fold')`)
	boxes := eval[int](p, `document.querySelectorAll('.node').length`)
	p.Act(`window.Worker = class { postMessage() {} terminate() {} }`)
	p.Click("Show every task")
	p.Sees("Laying out the graph…")
	p.Act(`window.Worker = class { postMessage() { setTimeout(() => this.onerror()); } terminate() {} }`)
	p.Click("Fold all")
	p.Sees("This graph could not be laid out in time. The previous one is shown.")
	p.looks("graph-not-laid-out")
	if n := eval[int](p, `document.querySelectorAll('.node').length`); n != boxes {
		t.Errorf("%d boxes are shown, before there were %d", n, boxes)
	}
}
