package viewers

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/flow/spec"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/lazyregexp"
	"gaffer/workflow"
)

const opReadText host.Op = "read text"

// specReader answers the requests about the specs of projects.
type specReader struct {
	projects *projectList
	host     host.Host
}

// textDocuments maps the name of each Markdown document to the text that is sent if the document
// does not exist. The text of the spec is never used: if the spec does not exist, the request
// fails.
var textDocuments = map[string]string{spec.File: "", "changelog.md": "_No changelog yet._\n", "lessons.md": ""}

// Text returns one of the Markdown documents of a project. Their names are the keys of
// textDocuments.
func (v *specReader) Text(ctx context.Context, ref, name string) ([]byte, error) {
	without, known := textDocuments[name]
	if !known {
		return nil, refuse(missing, "not_found", "no document %.100q", name)
	}
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	text, found, err := v.document(l, name)
	switch {
	case err != nil:
		return nil, err
	case !found && name == spec.File:
		return nil, refuse(missing, "not_found", "project %s has no %s", l.name, name)
	case !found:
		return []byte(without), nil
	}
	return text, nil
}

// document reads a file in the workflow folder of a project. found is false if the file does not
// exist. If the file is a symbolic link, document returns an error, because the target may be
// outside the project.
func (v *specReader) document(l *liveProject, name string) (data []byte, found bool, err error) {
	path := filepath.Join(l.folder, name)
	info, err := v.host.Lstat(opReadText, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, refuse(conflict, "invalid_document", "%s of project %s is no regular file", name, l.name)
	case info.Size() > spec.MaxSize:
		return nil, false, refuse(conflict, "invalid_document", "%s of project %s is longer than %d MiB", name, l.name, spec.MaxSize>>20)
	}
	data, err = statefile.ReadBytes(v.host, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, clientError(err)
}

// spec reads the spec of a project. It returns an empty spec if there is none.
func (v *specReader) spec(l *liveProject) (spec.Spec, error) {
	data, found, err := v.document(l, spec.File)
	if err != nil || !found {
		return spec.Spec{}, err
	}
	return spec.Parse(data), nil
}

// Sections are the sections of a spec, in the order of the spec.
type Sections struct {
	Sections []Section `json:"sections"`
}

// Section is one section of a spec as the viewer shows it.
type Section struct {
	Number    string   `json:"number"`
	Heading   string   `json:"heading"`
	Alias     string   `json:"alias"` // without the leading #
	Readiness string   `json:"readiness"`
	Level     int      `json:"level"`
	Claims    []string `json:"claims"`
	Body      string   `json:"body"`
}

// claimPattern matches a claim, which is bold text of 4 to 80 characters in a section.
var claimPattern = lazyregexp.New(`\*\*([^*\n]{4,80})\*\*`)

// Sections returns the sections of a project's spec. It takes their readiness from the result of
// the method Readiness.
func (v *specReader) Sections(ctx context.Context, ref string) (Sections, error) {
	list := Sections{[]Section{}}
	text, words, err := v.specWithReadiness(ctx, ref)
	if err != nil {
		return list, err
	}
	for _, s := range text.Sections {
		claims := []string{}
		for _, m := range claimPattern().FindAllStringSubmatch(s.Text, maxClaims) {
			if one := strings.TrimSuffix(strings.TrimSpace(m[1]), "."); !slices.Contains(claims, one) {
				claims = append(claims, one)
			}
		}
		list.Sections = append(list.Sections, Section{s.Number, s.Title, s.Alias[1:], words(s), s.Level, claims, s.Text})
	}
	return list, nil
}

// maxClaims is the maximum number of claims that are returned for a section.
const maxClaims = 200

// specWithReadiness returns the spec of a project, and a function that returns the readiness of a
// section, or "unknown" if no readiness is stored.
func (v *specReader) specWithReadiness(ctx context.Context, ref string) (text spec.Spec, readiness func(spec.Section) string, err error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return text, nil, err
	}
	ready, err := v.Readiness(ctx, l.path)
	if err != nil {
		return text, nil, err
	}
	if text, err = v.spec(l); err != nil {
		return text, nil, err
	}
	words := map[string]string{}
	for _, r := range ready.Sections {
		if in, ok := text.Section(r.Alias); ok {
			words[in.Alias] = r.Readiness
		}
	}
	return text, func(s spec.Section) string { return cmp.Or(words[s.Alias], "unknown") }, nil
}

// Readiness contains how ready each section of a project's spec is, and the number of sections with
// each level of readiness.
type Readiness struct {
	Summary  map[string]int     `json:"summary"`
	Sections []SectionReadiness `json:"sections"`
}

// SectionReadiness describes how ready one section is.
type SectionReadiness struct {
	Alias     string `json:"alias"`
	Number    string `json:"number,omitempty"`
	Title     string `json:"title,omitempty"`
	Readiness string `json:"readiness"`
	Notes     string `json:"notes,omitempty"`
}

// Readiness returns how ready each section of a project's spec is. It takes the levels of readiness
// from the workflow state. If the state contains no levels, it takes them from the spec itself.
func (v *specReader) Readiness(ctx context.Context, ref string) (Readiness, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return Readiness{}, err
	}
	state, err := l.store.State()
	if err != nil {
		return Readiness{}, clientError(err)
	}
	text, err := spec.Read(l.folder)
	if err != nil {
		return Readiness{}, clientError(err)
	}
	return readiness(state, text), nil
}

func readiness(state workflow.State, text spec.Spec) Readiness {
	r := Readiness{Summary: map[string]int{}, Sections: []SectionReadiness{}}
	for _, alias := range slices.Sorted(maps.Keys(state.SectionReadiness)) {
		if said := state.SectionReadiness[alias]; said.Readiness != "" {
			in, _ := text.Section(alias)
			r.Sections = append(r.Sections, SectionReadiness{alias, in.Number, in.Title, said.Readiness, said.Notes})
		}
	}
	if len(r.Sections) == 0 {
		for _, s := range text.Sections {
			if s.Readiness != "" {
				r.Sections = append(r.Sections, SectionReadiness{Alias: s.Alias, Number: s.Number, Title: s.Title, Readiness: s.Readiness})
			}
		}
	}
	maps.Copy(r.Summary, state.SectionCounts())
	if len(r.Summary) == 0 {
		for _, s := range r.Sections {
			r.Summary[s.Readiness]++
		}
	}
	return r
}
