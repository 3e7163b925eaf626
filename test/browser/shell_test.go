package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/coordinator"
	"gaffer/internal/testkit/testenv"
)

// question publishes the question of a protocol agent.
func (w *world) question(agent, task, text string, options ...string) {
	w.Helper()
	payload, err := json.Marshal(map[string]any{"kind": "choice", "question": text, "options": options, "input_mode": "number"})
	w.must(err)
	w.post("/v1/events", coordinator.NewEvent{AgentID: agent, TaskID: task, Type: coordinator.TaskPrompt, Payload: payload})
	w.beat(coordinator.Heartbeat{AgentID: agent, Name: agent, ClaudeStatus: coordinator.Waiting, CurrentTaskID: task})
}

func TestThePageComesBackAfterTheServerWasKilledWithNothingMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beat(coordinator.Heartbeat{AgentID: "early", Name: "early", ClaudeStatus: coordinator.Idle})
	p := w.open("#/workers")
	p.Sees("live")
	p.Act(`window.here = true`)
	p.seesBadges("early", "online idle")
	address := w.url
	w.restart(func() {
		p.Sees("stale since", "reconnecting")
		p.Shot("workers-stale")
		// Start another coordinator on the same database, which changes data while the first is
		// away.
		other := w.start("serve", "--listen", "127.0.0.1:0")
		w.url = other.await(listening)
		w.beat(coordinator.Heartbeat{AgentID: "early", ClaudeStatus: coordinator.Running})
		w.beat(coordinator.Heartbeat{AgentID: "late", Name: "late", ClaudeStatus: coordinator.Waiting})
		other.end()
		w.url = address
	})
	p.Sees("live")
	for name, status := range map[string]string{"early": coordinator.Running, "late": coordinator.Waiting} {
		p.Wait(name+" is "+status, badges(name)+"?.endsWith("+quoted(" "+status)+")")
		w.beat(coordinator.Heartbeat{AgentID: name, ClaudeStatus: status}) // keep the agent online
		p.seesBadges(name, "online "+status)
	}
	if !p.Holds(`window.here`) {
		t.Error("the page was loaded anew")
	}
}

func TestManyTabsShareOneStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.open("#/workers")
	var tabs []*page
	for range 7 { // one more than the six connections that a browser opens to one server
		tabs = append(tabs, first.another("#/workers"))
	}
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	for _, tab := range tabs {
		tab.seesBadges("dev", "online idle")
	}
}

// hostile is a name that would execute code if a page rendered it as markup.
const hostile = `<img src=x onerror="window.pwned=1"><script>window.pwned=2</script>&lt;b&gt;'"` + "`${window.pwned=3}`" + "\u202e\u0000\u001b[31m"

// noText has values that JavaScript cannot convert to strings.
const noText = `{"host":{"toString":1},"version":{"toString":1},"labels":[{"toString":1}],"slots":1,"held":{"toString":1}}`

func TestWhatAgentsCallThemselvesIsShownAsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Map(func(r rune) rune { // remove control characters: the server refuses names that contain them
		if r < ' ' || r == '\u202e' {
			return -1
		}
		return r
	}, hostile)
	meta, err := json.Marshal(map[string]any{"host": hostile, "version": hostile, "labels": []string{hostile}, "slots": hostile, "held": hostile, "source": hostile})
	w.must(err)
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: text, ClaudeStatus: coordinator.Idle, Meta: meta})
	task := w.channelTask("dev", text)
	w.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Waiting, CurrentTaskID: task.ID})
	w.post("/v1/events", coordinator.NewEvent{AgentID: "dev", TaskID: task.ID, Type: coordinator.TaskPrompt, Payload: must(json.Marshal(map[string]any{"kind": "choice", "question": hostile, "options": []any{hostile, map[string]string{"label": hostile}, 7, nil}}))})
	for _, odd := range []string{`"x"`, `[]`, `{"labels":{"a":1},"slots":{"b":[]},"version":[{}]}`, `null`, noText} {
		w.beat(coordinator.Heartbeat{Name: "odd" + odd, ClaudeStatus: coordinator.Idle, Meta: json.RawMessage(odd)})
	}
	for _, name := range []string{"__proto__", "constructor"} { // names that are properties of every JavaScript object
		w.beat(coordinator.Heartbeat{AgentID: name, Name: name, ClaudeStatus: coordinator.Idle})
	}
	w.beat(coordinator.Heartbeat{AgentID: "two", Name: "two", ClaudeStatus: coordinator.Idle})
	other := w.channelTask("two", "Paint the door")
	w.beat(coordinator.Heartbeat{AgentID: "two", ClaudeStatus: coordinator.Waiting, CurrentTaskID: other.ID})
	w.post("/v1/events", coordinator.NewEvent{AgentID: "two", TaskID: other.ID, Type: coordinator.TaskPrompt, Payload: json.RawMessage(`{"question":{"toString":1},"options":[{"label":{"toString":2}}]}`)})
	p := w.open("#/?status=__proto__&group=constructor&sort=toString")
	p.Sees("<img src=x onerror", "<script>window.pwned=2</script>", "2 agents wait for you")
	p.harmless()
	p.Shot("fleet-hostile")
	p.Visit("#/workers?status=__proto__")
	p.seesBadges("__proto__", "online idle")
	p.seesBadges("constructor", "online idle")
	p.Wait("no object has got more", `JSON.stringify(Object.keys(Object.prototype)) === '[]'`)
	p.Shot("workers-hostile")
	p.harmless()
	p.Visit("#/projects")
	p.Visit("#/" + "<img src=x onerror=alert(1)>")
	p.Sees("There is no such page.")
	p.harmless()
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// harmless fails the test if the page has rendered a text as markup, or executed it.
func (p *page) harmless() {
	p.Helper()
	if p.Holds(`'pwned' in window || document.querySelector('img[src=x], main script, [onerror]')`) {
		p.Errorf("text became more than that:\n%s", eval[string](p, `document.querySelector('main').outerHTML.slice(0, 4000)`))
	}
}

func TestAQuestionIsAnsweredWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	task := w.channelTask("dev", "Paint the door")
	w.question("dev", task.ID, "Which colour?", "red", "blue")
	p := w.open("#/")
	p.Sees("Which colour?")
	p.Press("q") // this key jumps to the first question
	p.Wait("its first answer has the focus", `document.activeElement.innerText === 'red'`)
	p.Press(tab)
	p.Wait("then the second", `document.activeElement.innerText === 'blue'`)
	if !p.Holds(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
		t.Error("the focus is not seen")
	}
	p.Press(enter)
	p.Sees("Answered “blue”")

	p.Press("?")
	p.Wait("the help is open", `document.querySelector('dialog[open]')`)
	p.Press(kb.Escape)
	p.Wait("and closed", `!document.querySelector('dialog[open]')`)
	for key, hash := range map[string]string{"r": "#/runs", "p": "#/projects", "e": "#/records", "f": "#/"} {
		p.goes(key, hash)
	}
}

// goes presses g and then key until the page with this hash is shown. It presses again after a while,
// because on a busy machine the second key may arrive later than the dashboard waits for it.
func (p *page) goes(key, hash string) {
	p.Helper()
	testenv.Wait(p, "g "+key+" goes to "+hash, func() error {
		p.Press("g", key)
		there := fmt.Sprintf("location.hash === %s", quoted(hash))
		if !testenv.Poll(10*time.Second, func() bool { return p.Holds(there) }) {
			return fmt.Errorf("the hash is %s", eval[string](p, "location.hash"))
		}
		return nil
	})
}

// labelled is a script that returns the elements that have no name for a screen reader.
const labelled = `[...document.querySelectorAll('button,a,input,select,textarea,[role=img],[role=group]')].filter((e) => e.offsetParent !== null && !(e.innerText?.trim() || e.getAttribute('aria-label') || e.labels?.length || e.title || e.querySelector(':scope > title'))).map((e) => e.outerHTML.slice(0, 200))`

// fits fails the test if the page is wider than the screen, or has elements without a name for a
// screen reader.
func (p *page) fits(what string) {
	p.Helper()
	testenv.Wait(p, what+" as wide as the screen", func() error {
		wide := eval[int](p, `document.documentElement.scrollWidth`)
		if wide <= eval[int](p, `innerWidth`) {
			return nil
		}
		return fmt.Errorf("it is %d pixels wide: %s", wide, eval[string](p, `[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + '.' + e.className).slice(0, 5).join(' ')`))
	})
	if silent := eval[[]string](p, labelled); len(silent) > 0 {
		p.Errorf("%s has things without words: %v", what, silent)
	}
}

func TestTheFleetFitsANarrowScreenAndTheDark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.beat(coordinator.Heartbeat{AgentID: fmt.Sprint("worker-with-a-long-name-", i), ClaudeStatus: coordinator.Idle, Meta: json.RawMessage(`{"slots":4,"held":0,"labels":["linux","gpu","project:shop"],"version":"1.2.3","host":"build-17.example"}`)})
	}
	task := w.channelTask("worker-with-a-long-name-1", "A task whose title is so long that it does not fit into one line of a narrow screen")
	w.question("worker-with-a-long-name-1", task.ID, "May I delete "+strings.Repeat("averylongfolder/", 20)+"?", "yes", "no, and tell me why you ask", strings.Repeat("w", 200))
	p := w.open("#/")
	p.Sees("One agent waits for you")
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		for _, width := range []int64{400, 1280} {
			p.Size(width, 800)
			p.fits(fmt.Sprint("the fleet at ", width))
			p.Shot(fmt.Sprintf("fleet-%d-dark-%t", width, dark))
		}
	}
	if light, dark := luminance(p, false), luminance(p, true); light < 0.8 || dark > 0.2 {
		t.Errorf("the ground is %f in the light and %f in the dark", light, dark)
	}
	p.Click("Settings")
	p.Click("Dark colours")
	p.Dark(false)
	if got := eval[string](p, `document.documentElement.dataset.theme`); got != "dark" {
		t.Errorf("the theme is %q", got)
	}
}

// luminance returns the brightness of the page's background, from 0 to 1.
func luminance(p *page, dark bool) float64 {
	p.Helper()
	p.Dark(dark)
	return eval[float64](p, `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return (r + g + b) / 765; })()`)
}

func TestABrowserThatIsNotLoggedInShowsHowToLogIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/")
	p.Sees("live")
	p.Click("Settings")
	p.Click("Log out")
	p.Wait("the question is open", `document.querySelector('dialog[open] button.primary') === document.activeElement`)
	p.Press(enter)
	p.Sees("with a link that works once")
	p.Shot("stranger")
	if text := p.Text(); strings.Contains(text, "Runs") {
		t.Errorf("the page still shows the fleet:\n%s", text)
	}
}

// firstPaint reloads the page and returns the time of the first contentful paint, in
// milliseconds.
func (p *page) firstPaint(rows string) float64 {
	p.Helper()
	p.Do(chromedp.Reload())
	p.Wait("there are rows", rows)
	const paint = `performance.getEntriesByName('first-contentful-paint')[0]`
	p.Wait("they were painted", paint)
	return eval[float64](p, paint+".startTime")
}

// The first picture should appear within 300 ms; a busy machine gets more time.
func TestTheFirstPictureIsThereAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var plan strings.Builder
	plan.WriteString("name: many\ndefaults: {agent: fake}\ntasks:\n")
	for i := range 200 {
		fmt.Fprintf(&plan, "  - {id: task-%03d, name: Task %d, prompt: hello}\n", i, i)
	}
	run := w.submit(plan.String())
	p := w.open("#/runs/" + run)
	p.Sees("task-000")
	var best float64
	for range 5 {
		took := p.firstPaint(`document.body.innerText.includes('task-000')`)
		if best == 0 || took < best {
			best = took
		}
	}
	t.Logf("first paint after %.0f ms", best)
	if best > 30_000 {
		t.Errorf("the first paint took %.0f ms", best)
	}
}
