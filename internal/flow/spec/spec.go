// Package spec reads the spec of a project: the Markdown file in its workflow folder that describes
// the project section by section. It finds the sections that an idea for a change affects, and the
// section that describes a file of the project.
//
// Users and agents write the spec, so the package accepts any Markdown. Missing information is left
// empty.
package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// Names of files in the workflow folder.
const (
	File       = "spec.md"
	ConfigFile = "config.json"
)

// MaxSize is the maximum size of a spec, in bytes.
const MaxSize = 4 << 20

// maxSections is the maximum number of sections. It limits the memory that a malicious file can
// use. Further headings become text of the last section.
const maxSections = 10_000

// Spec is a parsed spec.
type Spec struct {
	Found    bool   // true if the spec file exists
	Version  string // version from config.json or, if that has none, from the front matter
	Status   string
	Synopsis string    // short synopsis in the front matter; may be empty
	Sections []Section // in the order of the file
}

// Section is one heading and the text up to the next heading.
type Section struct {
	Alias     string // such as #core-flow; derived from the title if the heading has none
	Number    string // such as 2.2; empty if the heading has none
	Title     string
	Level     int
	Version   string // version of the spec in which the section last changed; empty if not stated
	Readiness string // such as draft; empty if not stated
	Text      string
}

// Read reads the spec in a workflow folder. If the spec is missing, the field Found is false and
// there is no error. The version in config.json has precedence over the version in the spec.
func Read(folder string) (Spec, error) {
	config, err := readConfig(folder)
	if err != nil {
		return Spec{}, err
	}
	s, err := readFile(filepath.Join(folder, File))
	if err != nil {
		return Spec{}, err
	}
	if v := config.Get("versions").Get("spec").Get("current"); !v.Absent() {
		s.Version = versionText(plainText(v))
	}
	return s, nil
}

func readFile(path string) (Spec, error) {
	h := host.OS()
	info, err := h.Stat("look for spec", path)
	if errors.Is(err, fs.ErrNotExist) {
		return Spec{}, nil
	}
	if err != nil {
		return Spec{}, err
	}
	if info.Mode().IsRegular() && info.Size() > MaxSize {
		return Spec{}, tooLarge(path, info.Size())
	}
	data, err := statefile.ReadBytes(h, path)
	if err != nil {
		return Spec{}, err
	}
	if len(data) > MaxSize {
		return Spec{}, tooLarge(path, int64(len(data)))
	}
	return Parse(data), nil
}

func tooLarge(path string, size int64) error {
	return &statefile.FormError{Path: path, Problem: fmt.Sprintf("is %d bytes, more than the %d MiB a spec may have", size, MaxSize>>20)}
}

// Workflow returns the versions of the spec and of its sections, in the form that package workflow
// uses to find sections that have changed since a build.
func (s Spec) Workflow() workflow.Spec {
	w := workflow.Spec{Version: s.Version, Sections: map[string]string{}}
	for _, section := range s.Sections {
		if _, twice := w.Sections[section.Alias]; section.Version != "" && !twice {
			w.Sections[section.Alias] = section.Version
		}
	}
	return w
}

// Section returns the first section with this alias, with or without #, or with this number. It
// returns false if there is none.
func (s Spec) Section(name string) (Section, bool) {
	bare := strings.TrimPrefix(name, "#")
	for _, section := range s.Sections {
		if bare != "" && (section.bare() == bare || section.Number == name) {
			return section, true
		}
	}
	return Section{}, false
}

func (s Section) bare() string { return strings.TrimPrefix(s.Alias, "#") }

// String returns the name of the section that users see, such as "2.2 Core Flow".
func (s Section) String() string {
	name := s.Title
	if name == "" {
		name = s.Alias
	}
	return strings.TrimSpace(s.Number + " " + name)
}

// isContents reports whether the section is the table of contents, which contains words of every
// other section.
func (s Section) isContents() bool {
	title := strings.ToLower(s.Title)
	return title == "contents" || title == "table of contents"
}
