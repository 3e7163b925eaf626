package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"gaffer/internal/testkit/testenv"
)

// spent returns a project in which agents have cost something, one did not report its cost, and one
// run is near its budget.
func spent(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.worker("one", "--slots", "4")
	for i, plan := range []string{
		"name: checkout\nbudget: {usd: 1}\ndefaults: {agent: fake}\ntasks:\n" +
			"  - {id: api, model: large, prompt: \"fake: usage 120000 3000 0.55 100000\"}\n  - {id: docs, model: small, prompt: \"fake: usage 40000 1000 0.30 10000\"}\n",
		"name: search\nbudget: {usd: 5, tokens: 100000}\ndefaults: {agent: fake}\ntasks:\n  - {id: index, model: large, prompt: \"fake: usage 20000 500 0.12 0\"}\n  - {id: lint, shell: 'true'}\n",
		"name: " + quoted(evil) + "\ntasks:\n  - {id: x, agent: fake, prompt: \"fake: usage 5000 100 0 2000\"}\n",
	} {
		run := w.submit(plan)
		until(w, fmt.Sprint("plan ", i, " ends"), func() (string, bool) { r := w.run(run); return string(r.Status), r.Status.Final() })
	}
	return w
}

func TestCostIsShownByDayAgentModelProjectAndRun(t *testing.T) {
	t.Parallel()
	w := spent(t)
	p := w.open("#/cost")
	p.Sees("$0.97+", "unknown for 1 attempt", "61% from the cache", "4,600")
	p.Wait("the title says so", `document.title.includes('Cost')`)
	// The plans may have run before and after midnight.
	p.Wait("one day is drawn by hour", `document.querySelector('.by-day rect.o-plain') && (document.querySelector('.costs tbody').children.length > 1 || document.querySelectorAll('.by-day svg.weeks g').length === 24 && document.body.innerText.includes('Cost by hour'))`)
	p.Sees("did not report their cost")
	p.Sees("Budgets", "$0.85 of $1.00", "nearly spent", "85%", "$0.12 of $5.00", "20.5k of 100k tokens")
	p.Accessible("cost by day")
	p.looks("cost")
	for by, want := range map[string][]string{
		"agent": {"fake", "$0.97+"}, "account": {"fake", "$0.97+"}, "model": {"large", "small", "default model"},
		"project": {strings.TrimPrefix(w.dir[strings.LastIndex(w.dir, "/"):], "/")}, "run": {"checkout", "search", evil},
	} {
		p.Act(fmt.Sprintf(`[...document.querySelectorAll('nav[aria-label="Group by"] a')].find((a) => a.innerText.toLowerCase() === %q).click()`, by))
		p.Wait("grouped by "+by, fmt.Sprintf(`location.hash.includes('by=%s') && document.querySelector('.costs caption')?.textContent === 'Cost by %s'`, by, by))
		p.Sees(want...)
	}
	p.Visit("#/cost?by=run")
	p.Sees("checkout", evil)
	p.Accessible("cost by run")
	p.harmless()
	p.looks("cost-run")
	p.wide("cost-run")

	// Sort, and keep that in the address.
	names := `[...document.querySelectorAll('.costs tbody th a')].map((a) => a.textContent).join()`
	sort := `[...document.querySelectorAll('.costs button.sort')].find((b) => b.innerText.startsWith('Cost')).click()`
	p.Act(sort)
	p.Wait("the highest cost is first", names+`.startsWith('checkout,search,')`)
	p.Wait("the address says so", `location.hash.includes('sort=cost.down')`)
	p.Act(sort)
	p.Wait("unknown costs are first", names+`.endsWith(',search,checkout')`)

	// From the keyboard: the rows are a list, and the link in a row opens the run.
	p.Act(`document.querySelector('.costs tbody tr').focus()`)
	p.Press(kb.ArrowDown)
	p.Wait("the second row is focused", `document.activeElement === document.querySelectorAll('.costs tbody tr')[1]`)
}

// wide takes a screenshot on a large screen.
func (p *page) wide(name string) {
	p.Helper()
	p.Size(1920, 1080)
	p.Shot(name + "-1920")
	p.Size(1280, 800)
}

func TestCostIsDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	w := spent(t)
	p := w.open("#/cost?by=run&span=7d")
	p.Sees("checkout")
	link := eval[string](p, `document.getElementById('cost-csv').href`)
	if !strings.Contains(link, "/v1/cost.csv?by=run&tz=") || !strings.Contains(link, "since=") || !p.Holds(`document.getElementById('cost-csv').download === 'gaffer-cost-by-run.csv'`) {
		t.Errorf("the link is %s", link)
	}
	text := eval[string](p, fmt.Sprintf(`fetch(%s).then((r) => r.text())`, quoted(link)))
	for _, want := range []string{"run,name,project,status,attempts", ",checkout,", ",complete,2,0,0.85,0,164000,160000,4000,110000\r\n", ",complete,1,0,unknown,1,5100,5000,100,2000\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the file lacks %q:\n%s", want, text)
		}
	}
}

func TestTheTimeOfCostIsInTheAddress(t *testing.T) {
	t.Parallel()
	w := spent(t)
	p := w.open("#/cost?span=custom&from=2020-01-01&to=2020-01-31")
	p.Sees("No agent worked in this time.")
	p.Accessible("no cost")
	p.Wait("the days are there", `[...document.querySelectorAll('.cost-days input')].map((i) => i.value).join() === '2020-01-01,2020-01-31'`)
	p.Act(`((i) => { i.value = ''; i.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelectorAll('.cost-days input')[1])`)
	p.Sees("$0.97+")
	p.Wait("the address says so", `location.hash.includes('from=2020-01-01') && !location.hash.includes('to=')`)
	p.Click("Today")
	p.Wait("of today", `location.hash.includes('span=today') && !location.hash.includes('from=')`)
	p.Sees("$0.97+")
}

// severalDays makes the server's answer be one about several weeks. The server's own answers are tested
// with its clock; a test of the page cannot let weeks pass.
const severalDays = `(() => {
  const real = window.fetch;
  window.fetch = (url, init) => {
    if (!String(url).startsWith('/v1/cost?')) return real(url, init);
    const days = [...Array(24).keys()].filter((i) => i % 7 < 5).map((i) => ({ key: new Date(Date.UTC(2026, 9, 20 + i)).toISOString().slice(0, 10), attempts: 4 + i, unknown: i === 9 ? 2 : 0, usd: i === 10 ? null : 3 + (i * 37) % 11, tokens: 110000 + i * 1000, input: 100000, cached: 60000 + 1000 * i, output: 9000 }));
    const total = days.reduce((t, d) => ({ key: '', attempts: t.attempts + d.attempts, unknown: t.unknown + d.unknown, usd: t.usd + (d.usd ?? 0), tokens: t.tokens + d.tokens, input: t.input + d.input, cached: t.cached + d.cached, output: t.output + d.output }), { attempts: 0, unknown: 0, usd: 0, tokens: 0, input: 0, cached: 0, output: 0 });
    return Promise.resolve(new Response(JSON.stringify({ cost: { by: 'day', tz: 'UTC', total, rows: [...days].reverse(), days, budgets: [] } }), { headers: { 'Content-Type': 'application/json' } }));
  };
})()`

func TestSeveralDaysOfCostAreAChart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/runs")
	p.Act(severalDays)
	p.Visit("#/cost")
	p.Sees("Cost by day")
	if n := eval[int](p, `document.querySelectorAll('.by-day svg.weeks g').length`); n < 21 {
		t.Errorf("the chart has %d days, want those without an attempt as well", n)
	}
	p.Wait("unknown costs are marked", `document.querySelector('.by-day .some')`)
	p.Sees("some attempts of the day did not report their cost")
	p.looks("cost-days")
	p.wide("cost-days")
	p.Click("Tokens")
	p.Wait("the tokens are shown", `location.hash.includes('unit=tokens') && document.querySelectorAll('.by-day rect.o-cached').length > 10`)
	p.Sees("cached input", "other input", "output")
	p.Accessible("a chart")
	p.looks("cost-tokens")
}

func TestACostThatCannotBeLoadedIsNotShownAsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/runs")
	p.Act(`window.fetch = ((real) => (url, init) => (String(url).startsWith('/v1/cost') && !window.mended ? Promise.reject(new Error('cut')) : real(url, init)))(window.fetch)`)
	p.Visit("#/cost")
	p.Sees("The cost could not be loaded")
	if p.Holds(`document.querySelector('.empty')`) {
		t.Error("it is shown as empty")
	}
	p.Act(`window.mended = true`)
	p.Click("Try again")
	p.Sees("No agent worked in this time.")
}

func TestCostGrowsWhileAgentsWork(t *testing.T) {
	t.Parallel()
	testenv.Integration(t)
	w := newWorld(t)
	w.worker("one")
	p := w.open("#/cost")
	p.Sees("No agent worked in this time.")
	w.submit("defaults: {agent: fake}\ntasks:\n  - {id: a, prompt: \"fake: usage 1000 10 0.42\"}\n")
	p.Sees("$0.42") // without a reload
}
