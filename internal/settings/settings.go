// Package settings edits settings files that other programs own. What is added
// is text put between theirs, so that nothing is lost, reordered or laid out
// anew, and it is taken out again to the byte.
//
// The core is pure: [Plan] and [Strip] map the bytes of a file to others. An
// [Editor] does it to files, and keeps a journal of what it has put where.
package settings

import (
	"bytes"
	"fmt"
)

// Format is how a settings file is written.
type Format string

// The formats. JSON may have comments and trailing commas.
const (
	JSON  Format = "json"
	TOML  Format = "toml"
	Lines Format = "lines"
)

// Entry is one thing that a settings file is to have.
type Entry struct {
	// What names the entry for a person: "hook Stop".
	What string
	// Path is the members that lead to it from the top. An entry without a
	// Value is there only to be taken out, and "*" in its path stands for
	// every member or item.
	Path []string
	// Item makes Path lead to an array that Value is one more item of.
	Item bool
	// Value is what to put there: whatever encoding/json can write. For TOML it
	// is a [Table], for lines a string.
	Value any
	// Mine tells an entry of ours, also of another version, by its decoded value.
	Mine func(v any) bool
	// Force puts it there even in the place of somebody else's.
	Force bool
}

// Change is what came of planning one file.
type Change struct {
	Base    []byte   // without anything of ours
	New     []byte   // with all that was asked for
	Splices []Splice // from Base to New
	Kept    []string // what stays somebody else's, by Entry.What
	// Replaced is what somebody else had where ours is now, by path.
	Replaced map[string][]byte
	Loose    string // where the file has what strict readers refuse, or ""
}

// Plan returns what becomes of old, a file of this format, for it to have the
// entries. base is old as it was without ours, if that is known, else nil. The
// file is not known to its program if the error is not nil, and nothing should
// be written then.
func Plan(f Format, old, base []byte, entries []Entry) (Change, error) {
	return plan(f, old, base, entries, nil)
}

// plan is Plan for a file in which ours has replaced somebody else's: where ours
// goes, that comes back, to be kept, or to be replaced and noted once more.
func plan(f Format, old, base []byte, entries []Entry, replaced map[string][]byte) (Change, error) {
	w, err := writerOf(f)
	if err != nil {
		return Change{}, err
	}
	found, err := w.look(old, entries)
	if err != nil {
		return Change{}, err
	}
	if found.complete {
		return Change{Base: base, New: old, Kept: found.kept, Loose: found.loose}, nil
	}
	if base == nil {
		if base, err = Strip(f, old, entries, replaced); err != nil {
			return Change{}, err
		}
	}
	splices, err := w.add(base, entries)
	if err != nil {
		return Change{}, err
	}
	c := Change{Base: base, New: apply(base, splices), Splices: splices, Loose: found.loose, Replaced: replacedIn(f, base, entries)}
	after, err := w.look(c.New, entries)
	if err != nil {
		return Change{}, &awryError{err.Error()}
	}
	if !after.complete || !bytes.Equal(reverse(c.New, splices), base) {
		return Change{}, &awryError{"something is missing"}
	}
	c.Kept = after.kept
	return c, nil
}

// Strip returns old without what is ours. Where ours had replaced somebody
// else's, replaced has that, by the path joined with dots.
func Strip(f Format, old []byte, entries []Entry, replaced map[string][]byte) ([]byte, error) {
	w, err := writerOf(f)
	if err != nil {
		return nil, err
	}
	splices, err := w.cut(old, entries, replaced)
	if err != nil {
		return nil, err
	}
	made := apply(old, splices)
	if err := w.check(made); err != nil {
		return nil, &awryError{err.Error()}
	}
	return made, nil
}

// writer knows one format.
type writer interface {
	// check says whether a file can be read.
	check(text []byte) error
	// look says what of the entries a file has.
	look(old []byte, entries []Entry) (found, error)
	// add makes a file that has nothing of ours have the entries.
	add(old []byte, entries []Entry) ([]Splice, error)
	// cut takes out what is ours.
	cut(old []byte, entries []Entry, replaced map[string][]byte) ([]Splice, error)
}

// found is what a file has of ours.
type found struct {
	complete bool // all of it, as it should be, and nothing else of ours
	kept     []string
	loose    string
}

func writerOf(f Format) (writer, error) {
	switch f {
	case JSON:
		return jsonWriter{}, nil
	case TOML:
		return tomlWriter{}, nil
	case Lines:
		return lineWriter{}, nil
	}
	return nil, fmt.Errorf("format %q: not known", f)
}
