package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// field is a script that finds the input with this label.
func field(label string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('input,select,textarea')].find((e) => e.offsetParent !== null && (e.getAttribute('aria-label') === %[1]s || e.labels?.[0]?.innerText.trim().startsWith(%[1]s)))`, quoted(label))
}

// fill replaces the value of the input with this label, as a user who pastes does.
func (p *page) fill(label, value string) {
	p.Helper()
	p.Wait("there is a field "+label+" that can have the value", fmt.Sprintf(`(() => { const e = %s; return e && (e.tagName !== 'SELECT' || [...e.options].some((o) => o.value === %s)); })()`, field(label), quoted(value)))
	p.Act(fmt.Sprintf(`(() => { const e = %s; const own = Object.getPrototypeOf(e); Object.getOwnPropertyDescriptor(own, 'value').set.call(e, %s); e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })); })()`, field(label), quoted(value)))
}

// ready waits until the run can be started.
func (p *page) ready() {
	p.Helper()
	p.Wait("the run can be started", `document.querySelector('.start .primary:not(:disabled)')`)
}

// started waits until the page shows the new run, and returns its id.
func (p *page) started() string {
	p.Helper()
	p.Wait("the page of the run", `/^#\/runs\/[^/]+$/.test(location.hash)`)
	return strings.TrimPrefix(eval[string](p, "location.hash"), "#/runs/")
}

// storedPlan returns the stored plan of a run, without its id and without where it was read from.
func (w *world) storedPlan(id string, drop ...string) map[string]any {
	w.Helper()
	text := strings.ReplaceAll(string(w.get("/v1/runs/"+id+"/plan?env=1")), id, "RUN")
	var answer struct{ Plan map[string]any }
	w.must(json.Unmarshal([]byte(text), &answer))
	for _, name := range append(drop, "SourceFile") {
		delete(answer.Plan, name)
		for _, t := range answer.Plan["Tasks"].([]any) {
			delete(t.(map[string]any), name)
		}
	}
	return answer.Plan
}

// get sends a request as an admin and returns the answer's body.
func (w *world) get(path string) []byte {
	w.Helper()
	out, err := exec.Command("curl", "-sS", "--fail-with-body", "-H", "Authorization: Bearer "+w.token, w.url+path).Output()
	if err != nil {
		w.Fatalf("%s: %v\n%s", path, err, out)
	}
	return out
}

func same(t *testing.T, what string, want, got map[string]any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		a, _ := json.MarshalIndent(want, "", " ")
		b, _ := json.MarshalIndent(got, "", " ")
		t.Errorf("%s: want\n%s\ngot\n%s", what, a, b)
	}
}

func TestARunIsStartedFromTheFormAndIsTheOneOfItsPlanAndItsCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit(map[string]string{"README.md": "A shop.\n"})
	p := w.open("#/new")
	p.Sees("New run", "There is no prompt yet.", "A gaffer in the background runs it in")
	p.Accessible("an empty form")
	p.Wait("the agents are known", `document.querySelector('.new-form select option[value=codex]')`)
	p.fill("Prompt", "fake: say The first is done.\nfake: usage 10 10 0.001")
	p.Click("Add a prompt")
	p.fill("Prompt 2", "fake: say The second is done.")
	p.fill("Agent", "fake")
	p.Click("Add a check")
	p.fill("Check 1", "test -d . && echo 'it is'")
	p.Act(`document.querySelector('.new-check input').click()`)
	p.fill("When complete", "keep")
	p.fill("Budget", "2.5")
	p.fill("At once", "2")
	p.fill("Time limit", "5m")
	p.fill("If an agent asks", "rules")
	p.Sees("What no rule names is denied at once")
	p.ready()
	p.Sees("Start 2 tasks")
	p.Wait("the graph has both", `document.querySelectorAll('.drawing .node').length === 2`)
	p.Accessible("a complete form")
	p.shots("new-form")
	command := eval[string](p, `document.querySelector('.terminal code').innerText`)
	if !strings.HasPrefix(command, "gaffer run '") || !strings.Contains(command, "--worktree --land keep --questions rules") {
		t.Errorf("the command is %s", command)
	}
	p.Act(`document.querySelector('.terminal a[download]').click()`) // the page complains if its policy forbids the download
	p.Click("Plan")
	p.Wait("the plan is there", field("Plan")+`?.value.includes('defaults:')`)
	plan := eval[string](p, field("Plan")+".value")
	p.ready()
	p.Click("Start 2 tasks")
	id := p.started()
	run := w.ends(id)
	if run.Status != fleet.Complete || run.Project != w.dir {
		t.Errorf("the run is %s in %s", run.Status, run.Project)
	}
	p.Wait("the page says so", `document.querySelector('.run-head .status').innerText.includes('complete')`)
	started := w.storedPlan(id)

	byPlan, _ := w.local(plan)
	same(t, "gaffer run of the exported plan", w.storedPlan(byPlan), started)
	shell := w.command()
	shell.Path, shell.Args = "/bin/sh", []string{"sh", "-c", strings.Replace(command, "gaffer run", quoted(gaffer)+" run --json", 1)}
	text, err := shell.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, text)
	}
	var out struct{ Run string }
	w.must(json.Unmarshal(text, &out))
	origin := []string{"Format", "Source", "Line"}
	same(t, command, w.storedPlan(out.Run, origin...), w.storedPlan(id, origin...))
}

// shots takes pictures of the page in three sizes and both colours.
func (p *page) shots(name string) {
	p.Helper()
	if os.Getenv("SCREENSHOTS") == "" {
		return
	}
	for _, width := range []int64{390, 1280, 1920} {
		p.Size(width, map[int64]int64{390: 844, 1280: 800, 1920: 1080}[width])
		p.Wait("the page fits", fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, width))
		for _, dark := range []bool{false, true} {
			p.Dark(dark)
			p.Shot(fmt.Sprintf("%s-%d%s", name, width, map[bool]string{true: "-dark"}[dark]))
		}
	}
	p.Dark(false)
	p.Size(1280, 800)
}

const chain = `name: chain
defaults: {agent: fake}
tasks:
  - id: schema
    prompt: "fake: say The schema is there."
  - id: api
    prompt: "fake: say The API is there."
    after: [schema]
  - id: docs
    prompt: "fake: say It is described."
    after: [api]
`

func TestThePlanIsCheckedAndDrawnWhileTheUserTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/new")
	p.Click("Plan")
	p.Wait("the editor", field("Plan"))
	p.Sees("There is no plan yet.")
	p.Accessible("an empty plan")
	p.fill("Plan", chain)
	p.Wait("the graph has three", `document.querySelectorAll('.drawing .node').length === 3 && document.querySelectorAll('.drawing .edges path').length === 2`)
	p.ready()
	p.Sees("3 tasks in 3 stages", "Not a form: task schema has an id of its own.")
	p.shots("new-plan")

	p.fill("Plan", strings.ReplaceAll(chain, "after: [api]", "aftr: [api]"))
	p.Sees("1 finding", `a task has no key "aftr"; did you mean "after"?`, "line 11, column 5", "The findings say what to correct.")
	p.Wait("its line is marked", `document.querySelector('.gutter .mark.problem')?.style.top === '200px'`)
	p.Wait("the last graph stays", `document.querySelector('.drawing.stale .node')`)
	p.Accessible("a plan with a problem")
	p.shots("new-problem")
	check := w.command("plan", "check", "plan.yaml")
	w.must(os.WriteFile(filepath.Join(w.dir, "plan.yaml"), []byte(strings.ReplaceAll(chain, "after: [api]", "aftr: [api]")), 0o600))
	said, _ := check.CombinedOutput() // ignore the error: the plan has a problem
	if text := eval[string](p, `document.querySelector('.findings .what').innerText`); !strings.Contains(string(said), "plan.yaml:11:5: "+text) {
		t.Errorf("the page says %q, the command\n%s", text, said)
	}

	p.Click("line 11, column 5")
	p.Wait("the caret is there", `(() => { const e = document.activeElement; return e.matches('.editor textarea') && e.value.slice(0, e.selectionStart).split('\n').length === 11; })()`)
	p.fill("Plan", chain+"  - id: last\n    prompt: \"fake: say Done.\"\n    after: [docs]\n")
	p.Wait("the graph has four", `document.querySelectorAll('.drawing:not(.stale) .node').length === 4`)
	p.ready()
	p.Click("Start 4 tasks")
	if run := w.ends(p.started()); run.Status != fleet.Complete || run.Name != "chain" || run.Counts.Total != 4 {
		t.Errorf("%+v", run)
	}
}

func TestANewRunBeginsWithAFileAPlanOfTheProjectOrAPastRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.MkdirAll(filepath.Join(w.dir, "plans"), 0o755))
	w.must(os.WriteFile(filepath.Join(w.dir, "plans", "say.md"), []byte("fake: say From a file.\n"), 0o600))
	w.must(os.WriteFile(filepath.Join(w.dir, "plans", "one.yaml"), []byte("name: of the project\ntasks: [{id: a, agent: fake, prompt_file: say.md}]\n"), 0o600))
	past, _ := w.local("name: past\ntasks:\n  - {id: a, agent: fake, prompt: \"fake: say Past.\", env: {WORD: sesame, KEY: {from: env, name: HOME}}}\n")

	p := w.open("#/new")
	p.Click("Plan")
	p.Wait("the project's plans are there", `[...document.querySelectorAll('option')].some((o) => o.value === 'plans/one.yaml')`)
	p.fill("Plan of the project", "plans/one.yaml")
	p.Wait("its text is there", field("Plan")+`.value.startsWith('name: of the project')`)
	p.ready()
	p.Click("Start")
	id := p.started()
	if run := w.ends(id); run.SourceFile != "plans/one.yaml" || run.Status != fleet.Complete {
		t.Errorf("%+v", run)
	}

	p.Visit("#/new?run=" + past)
	p.Wait("the plan of the past run is there", field("Plan")+`?.value.startsWith('name: past')`)
	p.Sees("Begun from the plan of past.", "The plan leaves out the values of 1 variable")
	text := eval[string](p, field("Plan")+".value")
	if strings.Contains(text, "sesame") || !strings.Contains(text, "from: env") || !strings.Contains(text, "# WORD:") {
		t.Errorf("the plan is\n%s", text)
	}
	p.ready()

	p.Act(`(() => { const files = new DataTransfer(); files.items.add(new File(["name: uploaded\ntasks: [{id: a, agent: fake, prompt: 'fake: say Up.'}]\n"], 'up.yaml')); const e = document.querySelector('input[type=file]'); e.files = files.files; e.dispatchEvent(new Event('change', { bubbles: true })); })()`)
	p.Sees("Replace what you have written?")
	p.Click("Replace")
	p.Wait("the uploaded text is there", field("Plan")+`.value.startsWith('name: uploaded')`)
	p.Act(`(() => { const files = new DataTransfer(); files.items.add(new File(["name: dropped\ntasks: [{id: a, agent: fake, prompt: 'fake: say Down.'}]\n"], 'down.yaml')); document.querySelector('.plan').dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true })); })()`)
	p.Click("Replace")
	p.Wait("the dropped text is there", field("Plan")+`.value.startsWith('name: dropped')`)
	p.ready()
	p.Click("Start")
	if run := w.ends(p.started()); run.Name != "dropped" || run.SourceFile != "" {
		t.Errorf("%+v", run)
	}
}

func TestADraftSurvivesAReloadAndSwitchesBetweenFormAndPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/new")
	p.fill("Prompt", "fake: say One.\nfake: say Two.")
	p.fill("Agent", "fake")
	p.fill("Best of", "2")
	p.fill("Candidate 2", "fake")
	p.fill("Model of candidate 2", "large")
	p.Sees("worktrees cannot be made") // the repository has no commit
	p.Do(chromedp.Reload())
	p.Wait("the form is the same", field("Prompt")+`?.value === 'fake: say One.\nfake: say Two.'`)
	p.Wait("with its candidates", field("Model of candidate 2")+`?.value === 'large'`)
	p.Wait("and its plan", `document.querySelector('.terminal a')`)
	p.Click("Plan")
	p.Wait("the plan says the same", field("Plan")+`.value.includes('candidates: [fake, fake:large]')`)
	p.Do(chromedp.Reload())
	p.Wait("the plan is still there", field("Plan")+`?.value.includes('candidates: [fake, fake:large]')`)
	p.Wait("it fits the form", `document.querySelector('.modes button:not([aria-disabled=true])')?.innerText === 'Form' && !document.querySelector('#no-form')`)
	p.Click("Form")
	p.Wait("the form is back", field("Model of candidate 2")+`?.value === 'large' && `+field("Prompt")+`.value === 'fake: say One.\nfake: say Two.'`)
	p.Accessible("a form with candidates")
	p.shots("new-candidates")
	p.Click("Make 2 prompts of its lines")
	p.Wait("each line is a prompt", field("Prompt 2")+`?.value === 'fake: say Two.'`)
	p.Click("Discard the draft")
	p.Click("Discard")
	p.Wait("it is gone", field("Prompt")+`?.value === ''`)
}

func TestANewRunIsStartedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/new")
	p.Wait("the agents are known", `document.querySelector('.new-form select option[value=codex]')`)
	p.Act(`document.getElementById('main').focus()`)
	next := func(label string) {
		p.Helper()
		for range 30 {
			p.Press(kb.Tab)
			if p.Holds(fmt.Sprintf(`(() => { const e = document.activeElement; return e.getAttribute('aria-label') === %[1]s || e.innerText?.trim() === %[1]s || Boolean(e.labels?.[0]?.innerText.trim().startsWith(%[1]s)); })()`, quoted(label))) {
				return
			}
		}
		t.Fatalf("Tab does not reach %s", label)
	}
	next("Prompt")
	p.Press("fake: say By the keyboard.")
	next("Add a prompt")
	p.Press(kb.Enter)
	p.Wait("the new prompt has the focus", `document.activeElement.getAttribute('aria-label') === 'Prompt 2'`)
	p.Press("fake: say Twice.")
	next("Agent")
	p.Press("fake")
	p.Wait("the agent is chosen", field("Agent")+`.value === 'fake'`)
	p.ready()
	p.Do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	if run := w.ends(p.started()); run.Status != fleet.Complete || run.Counts.Total != 2 {
		t.Errorf("%+v", run)
	}
}

func TestTheSameRequestAfterALostAnswerStartsOneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/new")
	p.fill("Prompt", "fake: say Once.")
	p.fill("Agent", "fake")
	p.ready()
	p.Act(`(() => { const real = window.fetch; window.fetch = async (url, init) => { const res = await real(url, init); if (String(url).endsWith('/v1/plans/start') && !window.lost) { window.lost = true; throw new TypeError('lost'); } return res; }; })()`)
	p.Click("Start")
	p.Sees("The server does not answer.", "starting it again shows that run")
	p.Click("Start")
	id := p.started()
	w.ends(id)
	runs, err := w.client().Runs.List(context.Background(), coordinator.RunQuery{Ended: true})
	w.must(err)
	if len(runs) != 1 || runs[0].ID != id {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
}

func TestWorkersRunWhatTheirProjectIsChosenFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("mill")
	p := w.open("#/new")
	name := filepath.Base(w.dir)
	p.fill("Project", fmt.Sprintf(`["workers",%q]`, name))
	p.Sees("The workers of the project run it.")
	p.Wait("the worker has reported its agents", `(() => { fetch('/v1/places').then((r) => r.json()).then(({ places }) => { window.known = places.workers[0].workers[0].programs?.some((one) => one.name === 'fake'); }); return window.known; })()`)
	p.Do(chromedp.Reload())
	p.Wait("its agents are offered", `[...document.querySelectorAll('.new-form option')].some((o) => o.value === 'fake')`)
	p.fill("Prompt", "fake: say Ground.")
	p.fill("Agent", "fake")
	p.Act(`document.querySelector('.new-check input').click()`)
	p.Sees("is only there on one machine", "choose one of them to run the whole plan")
	p.Act(`document.querySelector('.new-check input').click()`)
	p.fill("Worker", "mill")
	p.ready()
	p.Sees("--server "+w.url, "--on mill")
	p.Click("Start")
	run := w.ends(p.started())
	if run.Status != fleet.Complete || run.Project != name {
		t.Errorf("%+v", run)
	}

	p.Visit("#/new")
	p.fill("Project", fmt.Sprintf(`["here",%q]`, w.dir))
	p.Visit("#/new?run=" + run.ID)
	p.Wait("the run is started again in its own project, on its own worker", field("Plan")+`?.value && `+field("Worker")+`?.value === 'mill'`)
	p.ready()
}

func TestAViewerIsToldWhyItStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.token
	var made struct{ Token struct{ Secret string } }
	w.must(json.Unmarshal(w.post("/v1/tokens", map[string]string{"name": "v", "role": "viewer"}), &made))
	w.token = made.Token.Secret
	p := w.open("#/new")
	p.Sees("This browser may only look.", "Starting a run needs the role operator or admin.")
	p.Accessible("a viewer's page")
	if _, ok := w.try("/v1/plans/start", map[string]any{"project": w.dir, "text": "tasks: [{id: a, shell: ls}]"}); ok {
		t.Error("a viewer has started a run")
	}
	w.token = admin
}
