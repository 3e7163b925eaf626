// Package spec reads the spec of a project: the Markdown file in its workflow folder
// that describes the project section by section. It finds the sections that an idea
// affects, and the section that describes a file.
//
// Users and agents write the file, so the package accepts any Markdown. Missing
// information is left empty.
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

// File names in the workflow folder.
const (
	File       = "spec.md"
	ConfigFile = "config.json"
)

// MaxSize is the maximum size of a spec, in bytes.
const MaxSize = 4 << 20

// maxSections limits the memory for a malicious file. Further headings become text of
// the last section.
const maxSections = 10_000

// Spec is the current spec.
type Spec struct {
	Found    bool   // the spec file exists
	Version  string // version in config.json, or else in the spec itself
	Status   string
	Synopsis string    // the short synopsis in the front matter, if any
	Sections []Section // sorted as in the file
}

// Section is one heading and the text up to the next heading.
type Section struct {
	Alias     string // such as #core-flow; derived from the title if the heading has none
	Number    string // such as 2.2; empty if none
	Title     string
	Level     int
	Version   string // the spec version in which it last changed, if stated
	Readiness string // readiness, if stated
	Text      string
}

// Read reads the spec in a workflow folder. A missing spec is no error. The version
// in config.json has precedence.
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

// Workflow returns the versions that a build is compared with.
func (s Spec) Workflow() workflow.Spec {
	w := workflow.Spec{Version: s.Version, Sections: map[string]string{}}
	for _, section := range s.Sections {
		if _, twice := w.Sections[section.Alias]; section.Version != "" && !twice {
			w.Sections[section.Alias] = section.Version
		}
	}
	return w
}

// Section finds a section by its alias, with or without #, or by its number.
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

// String returns the section's name for the user, such as "2.2 Core Flow".
func (s Section) String() string {
	name := s.Title
	if name == "" {
		name = s.Alias
	}
	return strings.TrimSpace(s.Number + " " + name)
}

// isContents reports whether the section is the table of contents. That section contains
// words of every other section.
func (s Section) isContents() bool {
	title := strings.ToLower(s.Title)
	return title == "contents" || title == "table of contents"
}
