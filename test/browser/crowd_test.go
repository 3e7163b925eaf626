package browser

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gaffer/internal/testkit/testenv"
)

const (
	crowdMachines = 30
	crowdSlots    = 10
	crowdRuns     = 10
	crowdTasks    = 200 // tasks of each run: together 2,000
)

// crowd submits ten runs of 200 tasks, and lets 300 simulated agents work on them.
func (w *world) crowd() []*machine {
	w.Helper()
	for run := range crowdRuns {
		var plan strings.Builder
		fmt.Fprintf(&plan, "name: run %d\ndefaults: {agent: fake, model: model-%d}\nparallel: %d\ntasks:\n", run, run%3, crowdMachines*crowdSlots/crowdRuns)
		for i := range crowdTasks {
			fmt.Fprintf(&plan, "  - {id: task-%d-%03d, name: Part %d of run %d, prompt: hello}\n", run, i, i, run)
		}
		w.submit(plan.String())
	}
	machines := make([]*machine, crowdMachines)
	var all sync.WaitGroup
	for i := range machines {
		all.Go(func() { machines[i] = w.machine(fmt.Sprintf("machine-%02d", i), crowdSlots) })
	}
	all.Wait()
	return machines
}

// work lets all machines report changes until ctx ends: each second a heartbeat with new words of
// all its agents, and every few seconds the end of one attempt and the start of another.
func work(ctx context.Context, machines []*machine) {
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() {
			for beat := i; ctx.Err() == nil; beat++ {
				if beat%turnEvery() == 0 && m.turns < maxTurns {
					m.turn()
				}
				m.beat()
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	all.Wait()
}

// workFor calls work for a time.
func workFor(machines []*machine, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	work(ctx, machines)
}

// turnEvery is how many heartbeats a machine sends between two turns.
func turnEvery() int { return testenv.Count(3, 3, 15) }

// maxTurns is how many turns a machine takes at most, so that the tasks do not run out.
const maxTurns = (crowdRuns*crowdTasks - crowdMachines*crowdSlots) / crowdMachines

// crowdTime is how long the simulated agents work.
func crowdTime() time.Duration { return time.Duration(testenv.Count(12, 12, 120)) * time.Second }

// longTasks is a script that records the tasks of the page that take longer than 50 ms, also the
// past ones.
const longTasks = `window.long = []; new PerformanceObserver((list) => { for (const e of list.getEntries()) long.push(Math.round(e.duration)); }).observe({ type: 'longtask', buffered: true })`

// noLongTask logs the longest task of the page since the last call, and fails the test if it has
// blocked the page for seconds. The aim is 200 ms on a machine that does nothing else.
func (p *page) noLongTask(what string) {
	p.Helper()
	longest := eval[int](p, `new Promise((done) => setTimeout(() => done(Math.max(0, ...window.long.splice(0))), 100))`)
	p.Logf("the longest task of the page took %d ms: %s", longest, what)
	if longest > 20_000 {
		p.Errorf("a task of the page took %d ms: %s", longest, what)
	}
}

// whenShown is a script that is the time from the start of the navigation to the picture with the
// first rows of agents, in milliseconds.
const whenShown = `new Promise((done) => {
  const look = () => (document.querySelector('.agents [data-agent]') ? requestAnimationFrame(() => setTimeout(() => done(performance.now()))) : requestAnimationFrame(look));
  look();
})`

func TestUnderManyChangesThreeHundredAgentsAreShownAtOnceAndMemoryStaysFlat(t *testing.T) {
	testenv.Integration(t)
	w := newWorld(t, "--rate", "0")
	machines := w.crowd()
	p := w.open("#/")
	p.Wait("all agents are counted", `document.querySelector('.agents-head h2')?.innerText === 'Agents 300'`)
	p.Do(chromedp.Reload())
	shown := eval[float64](p, whenShown)
	p.Act(longTasks)
	t.Logf("300 agents were shown %.0f ms after the start of the navigation", shown)
	if shown > 30_000 {
		t.Errorf("it took %.0f ms", shown)
	}
	p.Wait("all agents are counted again", `document.querySelector('.agents-head h2')?.innerText === 'Agents 300'`)
	p.noLongTask("loading")
	p.Shot("agents-300")
	if n := eval[int](p, `document.querySelectorAll('.agents [data-agent]').length`); n > 80 {
		t.Errorf("%d rows are in the page", n)
	}
	eval[bool](p, listen)

	// Scroll through all of them while they change.
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() { work(ctx, machines) })
	for part := range 20 {
		p.Act(fmt.Sprintf(`scrollTo(0, document.documentElement.scrollHeight * %d / 20)`, part+1))
		p.Wait("rows are in sight", `[...document.querySelectorAll('.agents [data-agent]')].some((r) => { const b = r.getBoundingClientRect(); return b.top < innerHeight && b.bottom > innerHeight / 2; })`)
	}
	p.Act(`scrollTo(0, 0)`)
	p.filterBy("run 7")
	p.Wait("only those of one run", `document.querySelectorAll('.group-head').length === 1 && document.querySelector('.group-head h3').innerText === 'run 7'`)
	p.filterBy("")
	p.chooseOption("Group", "Not grouped")
	p.chooseOption("Sort", "Highest cost first")
	p.Click("As cards")
	p.Wait("cards are shown", `document.querySelector('.agents.as-cards [data-agent]')`)
	p.Shot("agents-300-cards")
	p.Click("As rows")
	p.Visit("#/")
	p.noLongTask("scrolling, filtering and sorting")
	stop()
	busy.Wait()

	pages := &watched{page: p}
	for i := range samplings + 1 {
		p.Act(`window.long.length = 0`) // the sample before has collected garbage in a task of its own
		workFor(machines, crowdTime()/samplings)
		p.noLongTask("changes")
		s := p.sample()
		t.Logf("%d: %d changes, %.1f MB, %d nodes, changes %.0f ms old", i, len(s.Ages), s.MB, s.Rows, s.median)
		pages.samples = append(pages.samples, s)
	}
	first, last := pages.samples[1], pages.samples[len(pages.samples)-1]
	if last.MB > first.MB+3 {
		t.Errorf("the page grew from %.1f to %.1f MB", first.MB, last.MB)
	}
	if last.Rows > first.Rows*3/2+200 {
		t.Errorf("the page grew from %d to %d nodes", first.Rows, last.Rows)
	}
	p.Wait("the page knows what the server knows", `Promise.all([import('/assets/core/live.js'), fetch('/v1/live').then((r) => r.json())]).then(([m, { attempts }]) => attempts.length === m.live.rows.size && attempts.every((a) => m.live.rows.has(a.id)))`)
}
