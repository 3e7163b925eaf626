package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// worked returns a project with records: of two models, some failed, some with two
// attempts.
func worked(t *testing.T) (w *world, run string) {
	t.Helper()
	w = newWorld(t)
	w.worker("one", "--slots", "4")
	var plan strings.Builder
	plan.WriteString("name: shop\ndefaults: {agent: fake, retries: 1}\ntasks:\n")
	for i := range 12 {
		fmt.Fprintf(&plan, "  - id: part-%02d\n    model: %s\n    prompt: |\n      Build part %d.\n      fake: usage 1200 300 0.02\n      fake: say Part %d is built.\n", i, []string{"large", "small"}[i%2], i, i)
		switch {
		case i < 3:
			plan.WriteString("    verify: '! true'\n")
		case i == 5:
			plan.WriteString("    verify: 'test \"$GAFFER_ATTEMPT_NUMBER\" = 2 || ! echo not yet'\n")
		}
	}
	plan.WriteString("  - {id: lint, shell: 'sleep 1'}\n")
	run = w.submit(plan.String())
	w.ends(run)
	return w, run
}

func TestTheRecordsAreCountedFilteredAndLookedInto(t *testing.T) {
	t.Parallel()
	w, run := worked(t)
	p := w.open("#/records")
	p.sees("Recommendations", "By agent", "By model", "How long runs took", "Why runs failed or timed out", "Attempts that tasks took", "Runs by week", "Success by week", "verify_failed")
	p.sees("of 13 tasks")
	p.looks("records")
	p.act(`document.querySelector('.charts').scrollIntoView()`)
	p.shot("records-charts")
	p.act(`[...document.querySelectorAll('.chart')].at(-1).scrollIntoView()`)
	p.shot("records-charts-more")
	p.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	p.act(`scrollTo(0, 0)`)
	p.shot("records-print")
	p.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
	p.act(`document.querySelector('.ledger').scrollIntoView()`)
	p.shot("records-table")
	if n := eval[int](p, `document.querySelectorAll('.ledger tbody tr').length`); n < 16 {
		t.Errorf("there are %d records, want 16 or more", n)
	}
	if n, tables := eval[int](p, `document.querySelectorAll('.chart').length`), eval[int](p, `document.querySelectorAll('.chart details table tbody tr th').length`); n < 7 || tables < n {
		t.Errorf("%d charts have %d rows behind them", n, tables)
	}

	// A filter is part of the address.
	p.act(`((s) => { s.value = 'small'; s.dispatchEvent(new Event('change', { bubbles: true })); })([...document.querySelectorAll('.filters select')].find((s) => [...s.options].some((o) => o.value === 'small')))`)
	p.sees("of 6 tasks")
	p.wait("the address says so", `location.hash.includes('model=small')`)
	p.wait("other choices are still there", `[...document.querySelectorAll('.filters option')].some((o) => o.value === 'large')`)
	p.visit("#/records?agent=nobody")
	p.sees("No record is like that.", "nobody")
	p.click("Show all records")
	p.sees("of 13 tasks")

	// From a record to its task.
	p.act(`[...document.querySelectorAll('.ledger a')].find((a) => a.innerText.startsWith('bd-part-01')).click()`)
	p.sees("failure_reason", "prompt_hash", "Task part-01", "Verification")
	p.wait("it is in the address", `location.hash.includes('bead=bd-part-01')`)
	p.looks("records-one")
	p.click("Task part-01")
	p.wait("its task is shown", fmt.Sprintf(`location.hash.startsWith('#/runs/%s/tasks/part-01')`, run))
	p.sees("Attempts 2")
}

func TestRecordsAreShownAsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`{"name": "x", "defaults": {"agent": "fake"}, "tasks": [{"id": "a", "model": ` + quoted(evil) + `, "prompt": ` + quoted(evil+" prompt\nfake: fail "+evil+" reason") + `}]}`)
	w.ends(run)
	p := w.open("#/records")
	p.sees(evil)
	p.act(`document.querySelector('.ledger a').click()`)
	p.sees(evil + " reason")
	p.wait("the record can be unfolded", `!!document.querySelector('.record details')`)
	p.act(`document.querySelector('.record details').open = true`)
	p.sees(evil + " prompt")
	p.harmless()
	p.size(400, 800)
	p.fits("a record")
	p.visit("#/records?bead=%3Cscript%3E&model=" + "%3Cscript%3E")
	p.sees("There is no such record")
	p.harmless()
}

func TestWithoutRecordsThePageSaysWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/records")
	p.sees("Nothing was recorded yet.", "Each attempt of a run becomes a record.")
	p.visit("#/records?since=some+day")
	p.sees("since")
}
