package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// hook reports an event of an agent that the user has started by hand, as the agent's hook would.
func (w *world) hook(event string) {
	w.Helper()
	cmd := w.command("hook", "claude")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s1","cwd":%q,%s}`, w.dir, event))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		w.Fatalf("hook: %v\n%s", err, out)
	}
}

func TestAnAgentStartedByHandIsShownAndAnsweredByClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/")
	w.hook(`"hook_event_name":"UserPromptSubmit","prompt":"push it"`)
	p.Wait("it is seen to run", badge("running"))
	w.hook(`"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"git push"}`)
	p.Wait("it is seen to wait", badge("waiting"))
	p.seesAgent("claude-s1", "by hand", filepath.Base(w.dir), "Bash: git push")

	c := w.client()
	id, err := c.Questions.Ask(t.Context(), coordinator.NewQuestion{From: "claude-s1", Text: "May I push?", Options: []string{"Allow", "Deny"}, Seconds: 60})
	w.must(err)
	p.Sees("One agent waits for you", "claude-s1", "May I push?")
	p.Shot("by-hand")
	p.Click("Allow")
	q := until(w, "it is answered", func() (fleet.Answered, bool) {
		q, err := c.Questions.Get(t.Context(), id)
		w.must(err)
		return fleet.Answered{Closed: q.Closed, Answer: q.Answer}, q.Closed
	})
	if q.Answer != "Allow" {
		t.Errorf("the answer is %+v", q)
	}
	p.SeesNot("May I push?")
	w.hook(`"hook_event_name":"SessionEnd","reason":"other"`)
	p.Wait("it is gone", `!`+agentRow("claude-s1"))
}

// The page must show the same name of a question that the user types in a terminal.
func TestAQuestionHasTheSameNameOnThePageAsInTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("w1")
	p := w.open("#/")
	id := w.submit("name: paint\ntasks:\n  - {id: colour, agent: fake, prompt: \"fake: ask Which colour? | red | green\"}\n")
	p.Sees("One agent waits for you", "Which colour?")
	out, err := w.command("answer").Output()
	w.must(err)
	name := ""
	for _, field := range strings.Fields(string(out)) {
		if strings.HasSuffix(field, "/colour") {
			name = field
		}
	}
	if name == "" {
		t.Fatalf("gaffer answer lists no such question:\n%s", out)
	}
	p.Sees(name, "of paint")
	p.Visit("#/runs/" + id)
	p.Sees(name)
	p.Visit("#/runs/" + id + "/tasks/colour")
	p.Sees(name + " asks")
	p.Click("green")
	p.Sees("Answered “green”: " + name)
	w.ends(id)
}

// badge returns a script that is true if the row of the agent that the user has started contains
// the word.
func badge(word string) string {
	return `[...document.querySelectorAll('.agents [data-agent]')].some((r) => r.innerText.includes('by hand') && r.innerText.includes('` + word + `'))`
}

// until polls until get returns true, and returns its value.
func until[V any](w *world, what string, get func() (V, bool)) (v V) {
	w.Helper()
	testenv.Wait(w, what, func() error {
		var ok bool
		if v, ok = get(); !ok {
			return fmt.Errorf("%+v", v)
		}
		return nil
	})
	return v
}
