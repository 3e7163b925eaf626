package spec

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Mapping is the project's table of globs. Each glob has the name of the section in the project's
// spec that describes the files that match the glob.
type Mapping []workflow.Mapping

// ReadMapping reads the mapping in the file config.json of a workflow folder. The mapping is the
// member "sections" of the file, in the form {"src/viewer/**": "#viewer"} or {"#viewer":
// ["src/viewer/**"]}.
func ReadMapping(folder string) (Mapping, error) {
	config, err := readConfig(folder)
	if err != nil {
		return nil, err
	}
	var m Mapping
	for key, v := range config.Get("sections").Members() {
		switch {
		case v.Kind() == jsontree.Array:
			for _, glob := range v.Items() {
				m = m.with(glob.Text(), key)
			}
		case strings.HasPrefix(key, "#"):
			m = m.with(v.Text(), key)
		default:
			m = m.with(key, plainText(v))
		}
	}
	return m, nil
}

func (m Mapping) with(glob, section string) Mapping {
	if glob == "" || section == "" {
		return m
	}
	return append(m, workflow.Mapping{Glob: glob, Section: section})
}

// readConfig reads config.json. If the file is missing, it returns an empty value.
func readConfig(folder string) (jsontree.Value, error) {
	doc, err := statefile.New(filepath.Join(folder, ConfigFile), statefile.Options{}).Load()
	if errors.Is(err, fs.ErrNotExist) {
		return jsontree.Value{}, nil
	}
	if err != nil {
		return jsontree.Value{}, err
	}
	return doc.Value(), nil
}

// plainText returns the text of a string, or the JSON text of a number.
func plainText(v jsontree.Value) string {
	if v.Kind() == jsontree.Number {
		return string(v.Raw())
	}
	return v.Text()
}

// OfFile returns the section that describes a file. The parameter file is a path relative to the
// project. If several globs of the mapping m match the file, the glob with the most literal
// characters has precedence. If the mapping names a section that is not in the spec, OfFile returns
// a section that has only an alias or a number.
//
// If no glob matches, OfFile returns the section whose text names the file, or a folder of the
// file, most exactly. It returns false if no section does.
func (s Spec) OfFile(file string, m Mapping) (Section, bool) {
	file = path.Clean(strings.ReplaceAll(file, `\`, "/"))
	if file == "." || strings.HasPrefix(file, "../") || path.IsAbs(file) {
		return Section{}, false
	}
	if name := m.sectionOf(file); name != "" {
		if section, ok := s.Section(name); ok {
			return section, true
		}
		return missingSection(name), true
	}
	return s.sectionNaming(file)
}

// missingSection returns a section with only an alias or a number, for a name that is in the
// mapping but not in the spec.
func missingSection(name string) Section {
	if leadingNumber().MatchString(name) {
		return Section{Number: name}
	}
	return Section{Alias: "#" + strings.TrimPrefix(name, "#")}
}

func (m Mapping) sectionOf(file string) string {
	best, section := -1, ""
	for _, row := range m {
		fits, err := workflow.SectionsOf(file, []workflow.Mapping{row})
		if err != nil || len(fits) == 0 { // an invalid glob matches no file
			continue
		}
		if n := literalLength(row.Glob); n > best {
			best, section = n, row.Section
		}
	}
	return section
}

// literalLength returns the length of a glob without the wildcards * and ?, in bytes.
func literalLength(glob string) int {
	return len(glob) - strings.Count(glob, "*") - strings.Count(glob, "?")
}

// sectionNaming returns the section whose text names the file most exactly (see matchExactness).
// Among equally exact sections it returns the first.
func (s Spec) sectionNaming(file string) (Section, bool) {
	best, found := 0, Section{}
	for _, section := range s.Sections {
		if section.isContents() {
			continue
		}
		for token := range strings.FieldsFuncSeq(section.Text, betweenPaths) {
			if n := matchExactness(token, file); n > best {
				best, found = n, section
			}
		}
	}
	return found, best > 0
}

func betweenPaths(r rune) bool {
	return r <= ' ' || strings.ContainsRune("()[]{}<>\"'`,;|", r)
}

// matchExactness returns how exactly the word token names the file, or 0 if it does not. The whole
// path of the file gives the highest number. The end of the path, such as viewer/server.js, gives a
// lower number, and a folder that contains the file gives a still lower one. A word without a
// slash, such as src or server.js, is ambiguous: it counts only if it is the whole path.
func matchExactness(token, file string) int {
	const byFolder, byEnd, byPath = 0, 1 << 20, 1 << 21
	if strings.Contains(token, "://") || len(token) > len(file)+20 {
		return 0
	}
	token, _, _ = strings.Cut(token, ":") // remove a line number, as in main.go:12
	token, _, _ = strings.Cut(token, "#")
	token = strings.TrimPrefix(strings.TrimRight(token, ".!?*"), "./")
	if token == file {
		return byPath
	}
	if !strings.Contains(token, "/") {
		return 0
	}
	token = strings.TrimRight(token, "/")
	switch {
	case token == "":
		return 0
	case strings.Contains(token, "/") && strings.HasSuffix(file, "/"+token):
		return byEnd + len(token)
	case strings.HasPrefix(file, token+"/"):
		return byFolder + len(token)
	}
	return 0
}
