package agentsettings

import (
	"testing"
	"time"
)

func TestHookTimeoutsAreLongerThanOurOwn(t *testing.T) {
	t.Parallel()
	for _, answer := range []time.Duration{0, 1400 * time.Millisecond, time.Minute} {
		w := Integration{Answer: answer}
		for program, events := range map[Program][]string{Claude: ClaudeEvents(), Codex: CodexEvents()} {
			for _, event := range events {
				takes := 2 * time.Second // value of hook.Budget
				if event == "PermissionRequest" {
					takes += answer + 7*time.Second // the answer, plus the time to ask and to withdraw the question
				}
				if given := time.Duration(w.timeout(program, event)) * time.Second; given <= takes {
					t.Errorf("%s, %s: %s for what may take %s", program, event, given, takes)
				}
			}
		}
	}
}
