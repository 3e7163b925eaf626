package plan

import (
	"errors"
	"strings"

	"gaffer/statefile"
)

// keptAttempt is part of the file names of earlier attempts' records, so no bead's id
// may contain it.
const keptAttempt = ".attempt-"

// checkName checks what a ledger requires of a bead beyond a valid task id.
func (b *beadReader) checkName(t Task, at places) {
	if strings.Contains(t.ID, keptAttempt) {
		b.report(at.id, "the id %.60q has %q, which names the records of earlier attempts", t.ID, keptAttempt)
	}
	if len(t.Prompt) > maxPrompt {
		b.report(at.prompt, "the prompt of %.60q has %d KiB, want %d at most", t.ID, len(t.Prompt)>>10, maxPrompt>>10)
	}
}

// checkTemplate checks that the name of a template is valid as a file name.
func (b *beadReader) checkTemplate(t *Task, p pair) {
	if t.Dispatch.Template == "" {
		return // already reported
	}
	if bad, ok := errors.AsType[*statefile.NameError](statefile.CheckName("template", t.Dispatch.Template)); ok {
		b.report(p.value.or(p.at).position, "template: %.60q %s, want a name such as bug-fix", t.Dispatch.Template, bad.Problem)
	}
}
