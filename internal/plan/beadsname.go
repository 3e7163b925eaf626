package plan

import (
	"errors"
	"strings"

	"gaffer/statefile"
)

// keptAttempt is in the names of records of earlier attempts, so no bead may
// have it.
const keptAttempt = ".attempt-"

// checkName is about what a ledger asks of a bead beyond what every id must be.
func (b *beadReader) checkName(t Task, at places) {
	if strings.Contains(t.ID, keptAttempt) {
		b.report(at.id, "the id %.60q has %q, which names the records of earlier attempts", t.ID, keptAttempt)
	}
	if len(t.Prompt) > maxPrompt {
		b.report(at.prompt, "the prompt of %.60q has %d KiB, want %d at most", t.ID, len(t.Prompt)>>10, maxPrompt>>10)
	}
}

// checkTemplate: a template's name becomes that of a file.
func (b *beadReader) checkTemplate(t *Task, p pair) {
	if t.Dispatch.Template == "" {
		return // told as no text
	}
	if bad, ok := errors.AsType[*statefile.NameError](statefile.CheckName("template", t.Dispatch.Template)); ok {
		b.report(p.value.or(p.at).position, "template: %.60q %s, want a name such as bug-fix", t.Dispatch.Template, bad.Problem)
	}
}
