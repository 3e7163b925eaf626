package workflow

import (
	"fmt"
	"path"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// UntrackedChange is a file that a section of the spec describes, and that was changed while no
// workflow command was running.
type UntrackedChange struct {
	File          string `json:"file"`
	Section       string `json:"section"`
	SectionNumber string `json:"sectionNumber"`
	Timestamp     string `json:"timestamp"`
}

// AddUntracked adds the change c to the untracked changes in the state. If they already contain a
// change of the same file and section, AddUntracked does not add c. Instead it updates the time of
// the existing change if the time of c is later.
func AddUntracked(root *jsontree.Node, c UntrackedChange) error {
	changes, err := array(root, "untrackedChanges", "untrackedChanges")
	if err != nil {
		return err
	}
	for _, n := range changes.Items() {
		if n.Get("file").Text() != c.File || !sameSection(n.Get("section").Text(), c.Section) {
			continue
		}
		if isLater(c.Timestamp, n.Get("timestamp").Text()) {
			n.Set("timestamp", c.Timestamp)
		}
		return nil
	}
	changes.Append(c)
	return nil
}

// isLater reports whether the time a is later than b. It also returns true if only a is a valid
// time.
func isLater(a, b string) bool {
	x, err := timestamp.Parse(a, time.UTC)
	if err != nil {
		return false
	}
	y, err := timestamp.Parse(b, time.UTC)
	return err != nil || x.After(y)
}

// ClearUntracked removes the untracked changes of the given sections of the spec from the state;
// see [UntrackedChange]. Each section is given by its alias, such as "#status-line", or by its
// number, such as "2.9".
func ClearUntracked(root *jsontree.Node, sections ...string) error {
	if root.Get("untrackedChanges").Absent() {
		return nil
	}
	changes, err := array(root, "untrackedChanges", "untrackedChanges")
	if err != nil {
		return err
	}
	var gone []int
	for i, n := range changes.Items() {
		if coversAny(n, sections) {
			gone = append(gone, i)
		}
	}
	for i := len(gone) - 1; i >= 0; i-- {
		changes.Remove(gone[i])
	}
	return nil
}

func coversAny(change *jsontree.Node, sections []string) bool {
	for _, s := range sections {
		if sameSection(change.Get("section").Text(), s) || s != "" && change.Get("sectionNumber").Text() == s {
			return true
		}
	}
	return false
}

// sameSection reports whether a and b are the same alias of a section of the spec. Each may be
// written with or without a leading #.
func sameSection(a, b string) bool {
	return strings.TrimPrefix(a, "#") == strings.TrimPrefix(b, "#")
}

// Mapping says that the files that match a glob belong to a section of the spec.
type Mapping struct {
	Glob          string
	Section       string
	SectionNumber string
}

// SectionsOf returns the mappings whose glob matches file, but only the first one for each section.
// file is relative to the project's root. In a glob, ** matches any number of path elements;
// everything else has the same meaning as in [path.Match].
func SectionsOf(file string, mappings []Mapping) ([]Mapping, error) {
	names := strings.Split(path.Clean(strings.ReplaceAll(file, `\`, "/")), "/")
	seen := map[string]bool{}
	var found []Mapping
	for _, m := range mappings {
		fits, err := matchGlob(strings.Split(path.Clean(m.Glob), "/"), names)
		if err != nil {
			return nil, &ArgumentError{What: fmt.Sprintf("glob %q", shorten(m.Glob)), Problem: err.Error()}
		}
		if fits && !seen[strings.TrimPrefix(m.Section, "#")] {
			seen[strings.TrimPrefix(m.Section, "#")] = true
			found = append(found, m)
		}
	}
	return found, nil
}

// matchGlob reports whether the pattern in glob matches the path in names; both are split at
// slashes. If an element does not match, matchGlob goes back to the last ** and lets it match one
// more element. It never has to go back to an earlier **.
func matchGlob(glob, names []string) (bool, error) {
	for _, pattern := range glob {
		if _, err := path.Match(pattern, ""); err != nil {
			return false, err
		}
	}
	g, n, star, from := 0, 0, -1, 0
	for n < len(names) {
		if g < len(glob) && glob[g] == "**" {
			star, from = g, n
			g++
			continue
		}
		if g < len(glob) {
			if ok, _ := path.Match(glob[g], names[n]); ok {
				g, n = g+1, n+1
				continue
			}
		}
		if star < 0 {
			return false, nil
		}
		from++
		g, n = star+1, from
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob), nil
}
