package browser

import (
	"testing"

	"gaffer/fleet"
)

// permits is a plan in which three agents ask for permissions.
const permits = `
name: permits
defaults: {agent: fake, answer_timeout: 1h}
tasks:
  - id: tests
    prompt: |
      Test the shop.
      fake: permission Bash go test ./shop
      fake: permission Bash go test ./cart
      fake: say The tests were run.
  - id: lint
    prompt: |
      fake: permission Bash go vet ./...
  - id: docs
    prompt: |
      fake: permission WebFetch https://go.dev
`

func TestAPermissionIsGrantedForARunFromItsCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one", "--slots", "3")
	run := w.submit(permits)
	card := func(text string) string {
		return `[...document.querySelectorAll('.question')].find((q) => q.innerText.includes(` + quoted(text) + `))`
	}
	p := w.open("#/runs/" + run)
	p.Wait("the first request", card("go test ./shop"))
	p.Wait("the others", card("go vet")+" && "+card("WebFetch"))
	p.Wait("the narrowest rule is in the input", card("go test ./shop")+`.querySelector('.lasting input').value === 'Bash(go test ./shop)'`)
	p.looks("permission")
	p.Accessible("a run with requests for permission")

	p.Act(`[...` + card("go test ./shop") + `.querySelectorAll('.rules button')].find((b) => b.innerText === 'Bash(go test:*)').focus()`)
	p.Press(enter)
	p.Wait("the wider rule is in the input", card("go test ./shop")+`.querySelector('.lasting input').value === 'Bash(go test:*)'`)
	p.Press(tab) // to the first of the answers
	p.Wait("the answer for the task is focused", `document.activeElement.innerText === 'Allow for this task'`)
	p.Press(tab, enter)
	p.Sees("Allowed for this run: Bash(go test:*)")

	p.Act(`[...` + card("go vet") + `.querySelectorAll('button')].find((b) => b.innerText === 'Always allow…').click()`)
	p.Wait("it is confirmed first", `document.querySelector('dialog[open]')?.innerText.includes('Bash(go vet ./...)')`)
	p.Shot("permission-always")
	p.Click("No")
	p.Act(`[...` + card("go vet") + `.querySelectorAll('button')].find((b) => b.innerText === 'deny').click()`)
	p.Act(`[...` + card("WebFetch") + `.querySelectorAll('button')].find((b) => b.innerText === 'Always allow…').click()`)
	p.Click("Always allow")
	w.ends(run)

	grants, err := w.client().Questions.Grants(w.Context())
	if err != nil || len(grants) != 1 || grants[0].Scope != fleet.GrantAlways { // the run has ended, and its grants with it
		t.Errorf("%+v, %v", grants, err)
	}
	p.Visit(task(run, "tests"))
	p.Wait("the second request names the rule that answered it", `[...document.querySelectorAll('.inquiry')].some((q) => q.innerText.match(/go test .\/cart[\s\S]*answered allow by grant Bash\(go test:\*\)/))`)
	p.Shot("permission-task")
}

func TestTheHistoryOfARunNamesTheRuleThatAnswered(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	for by, want := range map[string]string{
		"rule Bash(make:*)": "running api asks: Bash: make: allowed rule Bash(make:*)",
		"ada":               "running api was answered: allow ada",
	} {
		got := eval[string](p, `import('/assets/run/describechange.js').then((m) => { const s = m.story({ type: 'questions', change: { task: 'api', tool: 'Bash', text: 'Bash: make', closed: true, answered: '2026-02-06T12:00:00Z', answer: 'allow', by: `+quoted(by)+` } }, String); return [s.state, s.task, s.what, s.who].join(' '); })`)
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAViewerSeesARequestForPermissionWithoutAnswers(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	got := eval[bool](p, `Promise.all([import('/assets/core/view.js'), import('/assets/core/fleet.js'), import('/assets/parts/question.js')]).then(([v, f, m]) => {
  f.self.value = { ...f.self.value, role: 'viewer' };
  const at = document.createElement('div');
  v.render(v.html`+"`<${m.Question} q=${{ id: 'q', run: 'r', task: 't', where: 'r/t', text: 'Bash: make', tool: 'Bash', suggestions: ['Bash(make)'], options: ['allow', 'deny'], asked: new Date().toISOString() }} />`"+`, at);
  return at.querySelectorAll('button, input').length === 0 && at.innerText.includes('Bash: make');
})`)
	if !got {
		t.Error("a viewer is offered an answer")
	}
}
