package browser

import (
	"testing"
)

func TestTheMorningReportShowsWhatHasBecomeOfTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one", "--slots", "4")
	ended := w.submit("name: night\ntasks:\n" +
		"  - {id: look, agent: fake, prompt: \"fake: usage 1000 20 0.25 0\\nfake: say nothing to do\"}\n" +
		"  - {id: bad, name: " + quoted(evil) + ", agent: fake, prompt: \"fake: fail it broke\"}\n" +
		"  - {id: after, agent: fake, after: [bad], prompt: \"fake: say hi\"}\n")
	until(w, "the run ends", func() (string, bool) { r := w.run(ended); return string(r.Status), r.Status.Final() })
	asking := w.submit("name: asks\ntasks:\n  - {id: ask, agent: fake, prompt: \"fake: ask Which colour? | red | blue\"}\n")
	p := w.open("#/report")
	p.Sees("Morning report", "Waiting for you", "Which colour?", "Failed", "it broke", evil, "Complete, nothing to merge", "nothing to do", "Skipped", "a task that it needs did not complete")
	p.Sees("$0.25+", "Runs", "night", "1 complete, 1 failed, 1 cancelled", "Questions of agents", "waiting for an answer", "Accounts", "3 attempts")
	p.Wait("the title says so", `document.title.includes('Report')`)
	p.Accessible("morning report")
	p.harmless()
	p.looks("report")

	// The tasks are links, and a change appears by itself.
	p.Wait("the task is a link", `[...document.querySelectorAll('.morning a.what')].some((a) => a.hash.endsWith('/tasks/look'))`)
	w.run(asking)
	p.Act(`document.querySelector('nav[aria-label="Since"] a:last-child').click()`)
	p.Wait("the address says so", `location.hash.includes('since=7d')`)
	p.Sees("nothing to do")
}
