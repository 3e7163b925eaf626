package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// Kind is a kind of [Source].
type Kind string

// The kinds of sources.
const (
	GitHub Kind = "gh"
	GitLab Kind = "glab"
	Beads  Kind = "beads"
	Inbox  Kind = "inbox"
	Table  Kind = "table" // a CSV file, or a file with a JSON object on each line
)

// Spec names a source, such as a repository with issues, and says which of its items are wanted.
type Spec struct {
	Kind    Kind
	Repo    string   // path of the repository on GitHub or GitLab, such as ada/shop
	Numbers []int    // only issues with these numbers are wanted; empty means any number
	Labels  []string // only issues with all these labels are wanted
	File    string   // path of the file if Kind is Beads or Table; for Beads, empty means the default file beadsFile
}

// SpecError reports that a text is not valid as the text of a [Spec], as a label, or as a variable
// of a template. It also reports that results cannot be sent to a source.
type SpecError struct{ Text, Problem string }

func (e *SpecError) Error() string { return fmt.Sprintf("%.120q: %s", e.Text, e.Problem) }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *SpecError) Usage() bool { return true }

// Hint returns the forms in which a source can be written.
func (e *SpecError) Hint() string {
	return "a source is gh:OWNER/REPO, gh:OWNER/REPO#12, 'gh:OWNER/REPO label:NAME', the same with glab:, beads, beads:FILE, inbox, FILE.csv or FILE.jsonl"
}

var (
	repoPart   = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	specFilter = lazyregexp.New(`^[\s,]*(?:#(\d{1,9})|#?label:"([^"]*)"|#?label:([^\s,"]+))`)
)

// maxLabel is the maximum length of a label, in bytes.
const maxLabel = 255

// Parse parses the text of a [Spec], such as "gh:ada/shop label:agent". It returns a [*SpecError]
// if the text has no valid form.
func Parse(text string) (Spec, error) {
	wrong := func(format string, args ...any) (Spec, error) {
		return Spec{}, &SpecError{Text: text, Problem: fmt.Sprintf(format, args...)}
	}
	clean := strings.TrimSpace(text)
	kind, rest, colon := strings.Cut(clean, ":")
	switch {
	case clean == string(Inbox) || clean == string(Beads):
		return Spec{Kind: Kind(clean)}, nil
	case colon && kind == string(Beads):
		if rest == "" || strings.ContainsRune(rest, 0) {
			return wrong("there is no file behind beads:")
		}
		return Spec{Kind: Beads, File: rest}, nil
	case colon && (kind == string(GitHub) || kind == string(GitLab)):
		return parseRepo(text, Kind(kind), rest)
	case slices.Contains([]string{".csv", ".jsonl"}, strings.ToLower(filepath.Ext(clean))):
		return Spec{Kind: Table, File: clean}, nil
	}
	return wrong("no source has this form")
}

func parseRepo(text string, kind Kind, rest string) (Spec, error) {
	wrong := func(format string, args ...any) (Spec, error) {
		return Spec{}, &SpecError{Text: text, Problem: fmt.Sprintf(format, args...)}
	}
	end := strings.IndexAny(rest, "# \t,")
	if end < 0 {
		end = len(rest)
	}
	s := Spec{Kind: kind, Repo: rest[:end]}
	parts := strings.Split(s.Repo, "/")
	for _, part := range parts {
		if !repoPart().MatchString(part) || len(part) > 200 {
			return wrong("%q is not the name of a repository, want OWNER/REPO", s.Repo)
		}
	}
	if len(parts) < 2 || kind == GitHub && len(parts) > 3 || len(parts) > 20 {
		return wrong("%q is not the name of a repository, want OWNER/REPO", s.Repo)
	}
	for rest = rest[end:]; strings.Trim(rest, " \t,") != ""; {
		m := specFilter().FindStringSubmatch(rest)
		if m == nil {
			return wrong("%q is neither an issue such as #12 nor label:NAME", strings.TrimSpace(rest))
		}
		rest = rest[len(m[0]):]
		if m[1] != "" {
			n, err := strconv.Atoi(m[1])
			if err != nil || n == 0 {
				return wrong("%q is not the number of an issue", m[1])
			}
			s.Numbers = append(s.Numbers, n)
			continue
		}
		label := m[2] + m[3]
		if problem := LabelProblem(label); problem != "" {
			return wrong("label %q: %s", label, problem)
		}
		s.Labels = append(s.Labels, label)
	}
	if len(s.Numbers) > 0 && len(s.Labels) > 0 {
		return wrong("want issues or labels, not both")
	}
	return s, nil
}

// LabelProblem returns why a text cannot be a label, or "" if it can.
func LabelProblem(label string) string {
	switch {
	case strings.TrimSpace(label) == "":
		return "it is empty"
	case len(label) > maxLabel:
		return "it is too long"
	case strings.HasPrefix(label, "-"):
		return "it begins with a dash"
	case strings.ContainsFunc(label, func(r rune) bool { return r < ' ' || r == 0x7f || r == ',' }):
		return "it has a comma or a control character"
	}
	return ""
}

var plainLabel = lazyregexp.New(`^[^\s,"]+$`)

// String returns a text from which Parse makes the same Spec.
func (s Spec) String() string {
	switch s.Kind {
	case Inbox:
		return string(Inbox)
	case Beads:
		if s.File == "" {
			return string(Beads)
		}
		return string(Beads) + ":" + s.File
	case Table:
		return s.File
	}
	text := string(s.Kind) + ":" + s.Repo
	for _, n := range s.Numbers {
		text += fmt.Sprintf("#%d", n)
	}
	for _, label := range s.Labels {
		if plainLabel().MatchString(label) {
			text += " label:" + label
		} else {
			text += fmt.Sprintf(" label:%q", label)
		}
	}
	return text
}
