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
	w := &world{T: t, dir: t.TempDir(), home: t.TempDir()}
	t.Cleanup(w.killAgents)
	d := w.start("demo", "--no-browser", "--for", "10m")
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

// views returns the hash of every page, by the name of its screenshot.
func (p *page) views() map[string]string {
	p.Helper()
	var run fleet.Run
	until(p.world, "tasks of the plan have ended and others run", func() ([]fleet.Run, bool) {
		runs := ask[[]fleet.Run](p, "/v1/runs?ended=1", "runs")
		i := slices.IndexFunc(runs, func(r fleet.Run) bool { return r.Name == "checkout" && r.Counts.Complete >= 3 && r.Counts.Running >= 1 })
		if i >= 0 {
			run = ask[fleet.Run](p, "/v1/runs/"+runs[i].ID, "run")
		}
		return runs, i >= 0
	})
	talkative := run.Tasks[0].ID
	for _, t := range run.Tasks {
		if t.Status == fleet.Running {
			talkative = t.ID
		}
	}
	var fixes fleet.Run
	until(p.world, "a task in a worktree has ended", func() ([]fleet.Run, bool) {
		runs := ask[[]fleet.Run](p, "/v1/runs?ended=1", "runs")
		i := slices.IndexFunc(runs, func(r fleet.Run) bool { return r.Name == "fixes" && r.Counts.Complete >= 1 })
		if i >= 0 {
			fixes = ask[fleet.Run](p, "/v1/runs/"+runs[i].ID, "run")
		}
		return runs, i >= 0
	})
	changed := slices.IndexFunc(fixes.Tasks, func(t fleet.Task) bool { return t.Status == fleet.Complete })
	project := eval[string](p, `fetch('/api/projects').then((r) => r.json()).then((all) => all[0].path)`)
	in := "#/projects/" + escaped(p, project)
	return map[string]string{
		"fleet": "#/", "workers": "#/workers", "runs": "#/runs", "run": "#/runs/" + run.ID, "graph": "#/runs/" + run.ID + "?view=graph", "timeline": "#/runs/" + run.ID + "?view=timeline",
		"replay": "#/runs/" + run.ID + "/replay", "task": "#/runs/" + run.ID + "/tasks/" + talkative, "records": "#/records", "statistics": "#/records?view=statistics",
		"cost": "#/cost", "search": "#/search?q=check", "attempts": "#/runs/" + run.ID + "/tasks/" + talkative + "?tab=attempts",
		"review":   "#/runs/" + fixes.ID + "/tasks/" + fixes.Tasks[changed].ID + "/review",
		"projects": "#/projects", "build": in + "/build", "team": in + "/team", "sessions": in + "/sessions",
	}
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
	for name, hash := range p.views() {
		p.Visit(hash)
		p.Wait(name+" shows something", `document.querySelector('main').innerText.trim().length > 20 && !document.querySelector('.wrong[role=alert]')`)
		for _, screen := range []struct {
			name          string
			width, height int64
		}{{"", 1280, 800}, {"-narrow", 390, 844}, {"-wide", 1920, 1080}} {
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
