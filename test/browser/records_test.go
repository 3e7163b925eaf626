package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"gaffer/internal/testkit/dashboard"
)

// worked returns a project with records of attempts: two models, some failures, some tasks with two
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
	p.Sees("of 13 tasks", "verify failed", "Failures first")
	p.Accessible("records")
	p.looks("records")
	p.wide("records")
	if n := eval[int](p, `document.querySelectorAll('.ledger tbody tr:not(.why)').length`); n < 16 {
		t.Errorf("there are %d records, want 16 or more", n)
	}
	p.Wait("no column is narrow", `[...document.querySelectorAll('.ledger tbody tr:first-child > *')].every((c) => c.clientWidth > 70)`)
	outcomes := `[...document.querySelectorAll('.ledger .status')].map((s) => s.innerText.replace(/\W/g, ''))`
	p.Wait("failures are first", `((all) => all.lastIndexOf('failed') < all.indexOf('done'))(`+outcomes+`)`)
	p.Click("Latest first")
	p.Wait("the latest is first", `location.hash.includes('sort=latest') && ((all) => all.lastIndexOf('failed') > all.indexOf('done'))(`+outcomes+`)`)
	p.Click("Statistics")
	p.Sees("Recommendations", "By agent", "By model", "How long runs took", "Why runs failed or timed out", "Attempts that tasks took", "verify_failed")
	if p.Holds(`document.body.innerText.includes('by week')`) {
		t.Error("a single week is drawn as a trend")
	}
	p.Accessible("statistics")
	p.looks("records-statistics")
	p.Act(`[...document.querySelectorAll('.chart')].at(-1).scrollIntoView()`)
	p.Shot("records-charts-more")
	p.Do(dashboard.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	p.Act(`scrollTo(0, 0)`)
	p.Shot("records-print")
	p.Do(dashboard.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
	if n, tables := eval[int](p, `document.querySelectorAll('.chart').length`), eval[int](p, `document.querySelectorAll('.chart details table tbody tr th').length`); n < 5 || tables < n {
		t.Errorf("%d charts have %d rows behind them", n, tables)
	}

	// Select a filter: it must become part of the page's address.
	p.Act(`((s) => { s.value = 'small'; s.dispatchEvent(new Event('change', { bubbles: true })); })([...document.querySelectorAll('.filters select')].find((s) => [...s.options].some((o) => o.value === 'small')))`)
	p.Sees("of 6 tasks")
	p.Wait("the address says so", `location.hash.includes('model=small')`)
	p.Wait("other choices are still there", `[...document.querySelectorAll('.filters option')].some((o) => o.value === 'large')`)
	p.Visit("#/records?agent=nobody")
	p.Sees("No record is like that.", "nobody")
	p.Click("Show all records")
	p.Sees("of 13 tasks")

	// The link of a run shows only its own records.
	p.Visit("#/runs/" + run)
	p.Wait("the run has a link", `document.querySelector('.run-head a[href*="records?run="]')`)
	p.Act(`document.querySelector('.run-head a[href*="records?run="]').click()`)
	p.Wait("only that run", `location.hash.includes('run=')`)
	p.Sees("of 13 tasks")
	p.Click("shop ✕")
	p.Wait("all runs", `!location.hash.includes('run=')`)

	// Follow the link from a record to its task.
	p.Act(`[...document.querySelectorAll('.ledger a')].find((a) => a.innerText.startsWith('bd-part-01')).click()`)
	p.Sees("Task part-01", "verify failed", "Verification", "Exit code")
	p.Click("All fields of the record")
	p.Sees("failure_reason", "prompt_hash")
	if text := eval[string](p, `document.querySelector('.record').innerText`); strings.Contains(text, `{"`) {
		t.Errorf("it has JSON in it:\n%s", text)
	}
	p.Accessible("a record")
	p.Wait("it is in the address", `location.hash.includes('bead=bd-part-01')`)
	p.looks("records-one")
	p.Click("Task part-01")
	p.Wait("its task is shown", fmt.Sprintf(`location.hash.startsWith('#/runs/%s/tasks/part-01')`, run))
	p.Sees("Attempts 2")
}

func TestTheResultOfATeamsRoleIsShownWithoutItsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`{"name": "x", "defaults": {"agent": "fake"}, "tasks": [
		{"id": "a", "prompt": ` + quoted(`fake: say {"status": "CONTINUE", "summary": ["The tools are merged."]}`) + `},
		{"id": "b", "prompt": ` + quoted(`fake: say The branch is merged. {"outcome":"merged"}`) + `}]}`)
	w.ends(run)
	p := w.open("#/records")
	p.Sees("The tools are merged.", "The branch is merged.")
	if list := eval[string](p, `document.querySelector('.ledger').innerText`); strings.Contains(list, "{") {
		t.Errorf("the list shows JSON:\n%s", list)
	}
}

func TestRecordsAreShownAsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`{"name": "x", "defaults": {"agent": "fake"}, "tasks": [{"id": "a", "model": ` + quoted(evil) + `, "prompt": ` + quoted(evil+" prompt\nfake: fail "+evil+" reason") + `}]}`)
	w.ends(run)
	p := w.open("#/records")
	p.Sees(evil)
	p.Act(`document.querySelector('.ledger a').click()`)
	p.Sees(evil + " reason")
	p.Wait("the record can be unfolded", `!!document.querySelector('.record details')`)
	p.Act(`document.querySelector('.record details').open = true`)
	p.Sees(evil + " prompt")
	p.harmless()
	p.Size(400, 800)
	p.fits("a record")
	p.Visit("#/records?bead=%3Cscript%3E&model=" + "%3Cscript%3E")
	p.Sees("There is no such record")
	p.harmless()
}

func TestWithoutRecordsThePageSaysWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/records")
	p.Sees("Nothing was recorded yet.", "Each attempt of a run becomes a record.")
	p.Visit("#/records?since=some+day")
	p.Sees("since")
}
