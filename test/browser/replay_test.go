package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// listed is a script that returns the status of each task in the list, as JSON with sorted keys.
const listed = `JSON.stringify(Object.fromEntries([...document.querySelectorAll('.t-rows .row')].map((r) => [r.querySelector('.c-task a').innerText, r.querySelector('.status').lastChild.textContent]).sort()))`

func TestAReplayGoesFromEverythingQueuedToWhatTheRunIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("w1", "--slots", "4")
	id := w.submit(shop)
	p := w.open("#/runs/" + id)
	p.Click("blue")
	run := w.ends(id)
	p.Click("Replay")
	p.Sees("submitted with 7 tasks")
	p.Wait("everything is queued", `[...document.querySelectorAll('.t-rows .status')].length === 7 && [...document.querySelectorAll('.t-rows .status')].every((s) => s.innerText.includes('queued'))`)
	p.looks("replay-first")

	p.Click("To the last")
	p.Wait("it is as the run is", listed+" === "+quoted(statuses(run)))
	p.Sees("the run is complete")
	moments := eval[int](p, `Number(document.querySelector('.player input').max)`)
	if want := len(w.past(id)) - 7; moments != want { // the replay shows the first 8 changes, of the run and its tasks, as one moment
		t.Errorf("there are %d moments, want %d", moments, want)
	}

	p.stepThrough(moments)
	p.Act(`document.activeElement.blur()`)
	p.Press(kb.Home)
	p.Sees("submitted with 7 tasks")
	p.Press(" ")
	p.Wait("it plays", `document.querySelector('[aria-label=Pause]')`)
	p.Wait("it ends by itself", listed+" === "+quoted(statuses(run))+` && document.querySelector('[aria-label=Play]')`)
}

// stepThrough steps back through the replay, and checks the page at each moment.
func (p *page) stepThrough(moments int) {
	p.Helper()
	var shown string
	p.Act(`document.querySelector('.player input').focus()`)
	for m := moments; m > 1; m-- {
		p.Wait(fmt.Sprint("moment ", m), fmt.Sprintf(`document.querySelector('.player input').value === '%d'`, m))
		shown += eval[string](p, `document.querySelector('.happened').innerText.replace(/\s+/g, ' ')`) + "\n"
		if m == moments/2 {
			p.Act(`[...document.querySelectorAll('.tabs a')][1].click()`)
			p.Wait("the graph is there", `document.querySelectorAll('.node').length === 7`)
			p.looks("replay-graph")
			p.Act(`[...document.querySelectorAll('.tabs a')][0].click()`)
			p.Wait("the list is there", `document.querySelector('.t-rows')`)
			p.Act(`document.querySelector('.player input').focus()`)
		}
		p.Press(kb.ArrowLeft)
	}
	for _, want := range []string{"schema started by w1", "api started, attempt 2", "api attempt 1 failed, queued again", "design asks: Which colour shall the shop have?", "design was answered: blue", "tests is complete: Eleven tests are written."} {
		if !strings.Contains(shown, want) {
			p.Errorf("nothing of %q in:\n%s", want, shown)
		}
	}
}

// manyChanges replays many invented changes, because a real run with so many would take minutes.
const manyChanges = `import('/assets/run/fold.js').then(({ Past }) => {
  const past = new Past();
  const changes = [{ id: '1', type: 'runs', time: 't0', change: { id: 'r', status: 'running' } }];
  const task = (n, status, tries) => ({ type: 'tasks', time: 't' + changes.length, change: { run: 'r', id: 't' + n, status, tries } });
  for (let n = 0; n < 5000; n++) changes.push({ ...task(n, 'queued', 0), time: 't0' });
  for (let n = 0; n < 5000; n++) {
    changes.push(task(n, 'running', 1), { type: 'questions', time: 'q', change: { id: 'q' + n, run: 'r', task: 't' + n } });
    changes.push({ type: 'attempts', time: 'a', change: { run: 'r', task: 't' + n, id: 'a' + n, number: 1, state: 'running' } }, task(n, 'complete', 1));
  }
  for (let i = 0; i < changes.length; i += 2000) past.add(changes.slice(i, i + 2000));
  const seen = [];
  const began = performance.now();
  for (let k = 0; k < 200; k++) {
    const m = 1 + (k * 7919) % past.moments;
    const all = [...past.at(m).tasks.values()];
    const done = Math.floor((m - 1) / 4);
    const running = (m - 1) % 4 > 0 ? 1 : 0;
    const asks = (m - 1) % 4 > 1 ? 1 : 0;
    const good = all.length === 5000 && all.filter((t) => t.status === 'complete').length === done && all.filter((t) => t.status === 'running').length === running && all.filter((t) => t.question).length === asks;
    if (!good) seen.push(m);
  }
  return { moments: past.moments, wrong: seen.slice(0, 5), took: (performance.now() - began) / 200 };
})`

func TestTwentyThousandChangesAreScrubbedQuickly(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	found := eval[struct {
		Moments int
		Wrong   []int
		Took    float64
	}](p, manyChanges)
	t.Logf("any of %d moments is there after %.1f ms", found.Moments, found.Took)
	if found.Moments != 20_001 || len(found.Wrong) > 0 {
		t.Errorf("found %+v", found)
	}
	if found.Took > 30_000 { // in milliseconds; a few are expected, but a busy machine takes longer
		t.Errorf("a moment takes %.1f ms", found.Took)
	}
}
