package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaffer/internal/text/suggest"
)

// MissingError reports variables of a template that have no value.
type MissingError struct {
	Template string
	Names    []string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("template %s: no value for %s", e.Template, strings.Join(e.Names, ", "))
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *MissingError) Usage() bool { return true }

// Hint returns what the user can do next.
func (e *MissingError) Hint() string {
	return "give it with --var " + strings.Join(e.Names, "=value --var ") + "=value"
}

// UnknownError reports variables that the user gave but the template does not have.
type UnknownError struct {
	Template string
	Names    []string
	Has      []string // names of the template's variables
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("template %s: it has no variable %s", e.Template, strings.Join(e.Names, ", "))
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *UnknownError) Usage() bool { return true }

// Hint returns what the user can do next.
func (e *UnknownError) Hint() string {
	for _, name := range e.Names {
		if near := suggest.Nearest(name, e.Has); near != "" {
			return fmt.Sprintf("did you mean %s?", near)
		}
	}
	if len(e.Has) == 0 {
		return "it has no variables"
	}
	return "it has " + strings.Join(e.Has, ", ")
}

// checkGiven returns a [*MissingError] if variables of the template are neither in values nor in
// defaults, and an [*UnknownError] if values has variables that the template lacks. If both are
// true, the error wraps both.
func (t Template) checkGiven(values, defaults map[string]string) error {
	names := t.Variables()
	var missing, unknown []string
	for _, name := range names {
		_, isGiven := values[name]
		if _, isKnown := defaults[name]; !isGiven && !isKnown {
			missing = append(missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	lacks, extra := &MissingError{t.Name, missing}, &UnknownError{t.Name, unknown, names}
	switch {
	case missing != nil && unknown != nil:
		return fmt.Errorf("%w; %w", extra, lacks)
	case missing != nil:
		return lacks
	case unknown != nil:
		return extra
	}
	return nil
}

// NotFoundError reports a template that does not exist.
type NotFoundError struct {
	Name, Path string
	Has        []string // names of the existing templates
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("template %q: not found at %s", e.Name, e.Path)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// Hint returns what the user can do next.
func (e *NotFoundError) Hint() string {
	if near := suggest.Nearest(e.Name, e.Has); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(e.Has) == 0 {
		return "write the prompt to that file, with variables such as {{TASK}}"
	}
	return "'gaffer templates' lists the templates"
}

// BrokenError reports a file that cannot be used as a template.
type BrokenError struct {
	Path    string
	Problem string
	Err     error // cause of the problem; nil if there is none
}

func (e *BrokenError) Error() string {
	if e.Err != nil {
		return e.Path + ": " + e.Problem + ": " + e.Err.Error()
	}
	return e.Path + ": " + e.Problem
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *BrokenError) Invalid() bool { return true }
