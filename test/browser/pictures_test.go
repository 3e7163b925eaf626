package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/dashboard"
)

var (
	demoPlace = regexp.MustCompile(`(?i)in another terminal: \. (\S+) `)
	demoThere = regexp.MustCompile(`the dashboard is at (http://\S+);`)
)

// demo starts the example fleet and returns a page of it that is logged in.
func demo(t *testing.T) *page {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), home: t.TempDir(), beats: &heartbeats{}}
	t.Cleanup(w.killAgents)
	d := w.start("demo", "--no-browser", "--for", "24h") // until the test ends it
	w.url = d.await(demoThere)
	open := exec.Command("sh", "-c", `. "$1" && exec "$2" open --print`, "sh", d.await(demoPlace), gaffer)
	open.Dir, open.Env = w.dir, []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
	link, err := open.Output()
	w.must(err)
	p := w.tabAt(strings.TrimSpace(string(link)))
	p.Wait("the page is there", dashboard.There)
	return p
}

// ask sends a request with the cookie of the page and returns one member of the answer.
func ask[V any](p *page, path, member string) V {
	p.Helper()
	text := eval[string](p, fmt.Sprintf("fetch(%s).then((r) => r.text())", quoted(path)))
	var all map[string]json.RawMessage
	p.must(json.Unmarshal([]byte(text), &all))
	var v V
	p.must(json.Unmarshal(all[member], &v))
	return v
}

// view is a page with the name of its screenshots.
type view struct{ name, hash string }

// views answers one of the two questions and returns every page. The fleet comes first, while most
// agents work.
func (p *page) views() []view {
	p.Helper()
	p.Wait("an agent asks", `document.querySelector('.question')`)
	p.Act(`[...document.querySelectorAll('.question button')].find((b) => b.innerText === 'basket default')?.click()`) // without an answer, it goes on later
	p.Wait("the fleet works, one agent asks, and no toast covers the page", `document.querySelectorAll('[data-agent]').length >= 6 && document.querySelector('.question')?.innerText.includes('Which payment provider') && !document.querySelector('.toasts p')`)
	runOf := func(name string) string {
		var run fleet.Run
		until(p.world, "the run "+name, func() ([]fleet.Run, bool) {
			runs := ask[[]fleet.Run](p, "/v1/runs?ended=1", "runs")
			i := slices.IndexFunc(runs, func(r fleet.Run) bool { return r.Name == name })
			if i >= 0 {
				run = runs[i]
			}
			return runs, i >= 0
		})
		return "#/runs/" + run.ID
	}
	run, project := runOf("checkout"), eval[string](p, `fetch('/api/projects').then((r) => r.json()).then((all) => all[0].path)`)
	in, asks := "#/projects/"+escaped(p, project), run+"/tasks/provider"
	return []view{
		{"fleet", "#/"},
		{"workers", "#/workers"},
		{"task", asks},
		{"review", runOf("fixes") + "/tasks/prices/review"},
		{"runs", "#/runs"},
		{"graph", run + "?view=graph"},
		{"timeline", run + "?view=timeline"},
		{"run", run},
		{"replay", run + "/replay"},
		{"build", in + "/build"},
		{"team", in + "/team"},
		{"sessions", in + "/sessions"},
		{"projects", "#/projects"},
		{"attempts", asks + "?tab=attempts"},
		{"new", "#/new"},
		{"cost", "#/cost"},
		{"report", "#/report"},
		{"schedules", "#/schedules"},
		{"records", "#/records"},
		{"statistics", "#/records?view=statistics"},
		{"search", "#/search?q=check"},
	}
}

// contents are scripts that return true when a page has what its picture is about. The change to review
// may grow while its page is open; then the newest is shown.
var contents = map[string]string{
	"task":   `document.querySelector('.dialogue .question') && document.querySelector('.dialogue .b-say')`,
	"review": `!document.querySelector('.outcome.newer button')?.click() && document.querySelectorAll('.file .dl.ins').length > 3 && [...document.querySelectorAll('.file')].every((f) => f.querySelector('.h-keyword')) && document.querySelector('.reviewbar .status')?.innerText.includes('to be reviewed')`,
	"graph":  `document.querySelectorAll('.node.k-complete').length >= 2`,
}

func escaped(p *page, text string) string {
	return eval[string](p, fmt.Sprintf("encodeURIComponent(%s)", quoted(text)))
}

// Every page of the example fleet must work without an error and without a barrier, on a phone, a
// laptop and a large screen, in light and dark colours. The test saves screenshots of all.
func TestEveryPageIsPictured(t *testing.T) {
	t.Parallel()
	p := demo(t)
	p.Sees("live")
	for _, v := range p.views() {
		name := v.name
		if run, ok := strings.CutSuffix(v.hash, "/tasks/prices/review"); ok { // a page that was opened earlier would offer the newer change
			until(p.world, "the change is complete", func() (fleet.Task, bool) {
				t := ask[fleet.Task](p, "/v1/"+strings.TrimPrefix(run, "#/")+"/tasks/prices", "task")
				return t, t.Status == fleet.Complete
			})
		}
		p.Visit(v.hash)
		p.Wait(name+" shows something", `document.querySelector('main').innerText.trim().length > 20 && !document.querySelector('.wrong[role=alert]')`)
		if script, ok := contents[name]; ok {
			p.Wait(name+" has its content", script)
		}
		for _, screen := range []struct {
			name          string
			width, height int64
		}{{"", 1280, 900}, {"-narrow", 390, 844}, {"-wide", 1920, 1080}} {
			p.Size(screen.width, screen.height)
			p.fits(name + screen.name)
			for _, dark := range []bool{false, true} {
				p.Dark(dark)
				p.Shot(name + screen.name + map[bool]string{true: "-dark"}[dark])
			}
			p.Dark(false)
			if screen.name != "-wide" { // a wide screen has the elements of a laptop's
				p.Accessible(name + screen.name)
			}
		}
		p.Size(1280, 800)
	}
}
