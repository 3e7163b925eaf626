package roles

import (
	"fmt"
	"strings"

	"gaffer/internal/flow/teamstate"
	"gaffer/internal/text/suggest"
)

// TemplateError reports a template that cannot be used, and the line with the problem.
type TemplateError struct {
	Path    string
	Line    int // 0 if the problem concerns the whole file
	Problem string
	Next    string // what the user can do next; empty if unknown
}

func (e *TemplateError) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Problem)
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *TemplateError) Invalid() bool { return true }

// Hint returns what the user can do next, or "".
func (e *TemplateError) Hint() string { return e.Next }

func unknownVariable(path string, line int, name string) error {
	var known []string
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	return &TemplateError{path, line, fmt.Sprintf("no variable is called %s, want one of %s", name, strings.Join(known, ", ")), meant(name, known)}
}

func unknownTemplate(path, name string) error {
	return &TemplateError{path, 0, "no start of an agent uses a template of this name, want one of " + strings.Join(Templates(), ", "), meant(name, Templates())}
}

func tooLarge(path string, n int) error {
	return &TemplateError{path, 0, fmt.Sprintf("makes a prompt of %d KiB at least, want %d KiB at most", n>>10+1, MaxPrompt>>10), "shorten it, or use fewer variables"}
}

func meant(name string, known []string) string {
	if near := suggest.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return ""
}

// PurposeError reports that gaffer starts no agent for steps with this purpose. For example, gaffer
// itself does a merge.
type PurposeError struct{ Purpose teamstate.Purpose }

func (e *PurposeError) Error() string {
	return fmt.Sprintf("no role does %q", string(e.Purpose))
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *PurposeError) Invalid() bool { return true }
