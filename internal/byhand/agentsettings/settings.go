// Package agentsettings edits settings files that other programs own. What is added
// is text put between theirs, so that nothing is lost, reordered or laid out
// anew, and it is taken out again to the byte.
//
// The core is pure: [Plan] and [Strip] map the bytes of a file to others. An
// [Editor] does it to files, and keeps a journal of what it has put where.
package agentsettings

import (
	"bytes"
	"fmt"
	"reflect"
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
	// Mend, if there is one, returns the command of an entry of ours as it should
	// be. An entry to which somebody has added stays as it is but for that.
	Mend func(command string) string
	// Force puts it there even in the place of somebody else's.
	Force bool
}

// grown tells an entry of ours in which somebody has put more than what is
// wanted, or something else: arguments, an environment, a flag.
func (e Entry) grown(got, want any) bool {
	has, _ := got.(map[string]any)
	wants, _ := want.(map[string]any)
	if e.Mend == nil || !e.Mine(got) {
		return false
	}
	for name, v := range has {
		if line, ok := v.(string); ok && name == starter {
			v = e.Mend(line)
		}
		if !reflect.DeepEqual(v, wants[name]) {
			return true
		}
	}
	return false
}

// starts reports whether a grown entry starts what it should.
func (e Entry) starts(got any) bool {
	line := got.(map[string]any)[starter].(string) // or it would not be ours
	return line == e.Mend(line)
}

const starter = "command" // the member of an entry that says what is started

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
	c, err := planGrown(f, w, old, entries, replaced)
	if err == nil && c.New == nil {
		c, err = planAnew(f, w, old, base, entries, replaced)
	}
	if err != nil {
		return Change{}, err
	}
	after, err := w.look(c.New, entries)
	if err != nil {
		return Change{}, &awryError{err.Error()}
	}
	if !after.complete || !bytes.Equal(reverse(c.New, c.Splices), c.Base) {
		return Change{}, &awryError{"something is missing"}
	}
	c.Kept, c.Loose, c.Replaced = after.kept, found.loose, replacedIn(f, c.Base, c.New, entries)
	return c, nil
}

// planAnew takes out what is ours and puts it there anew.
func planAnew(f Format, w writer, old, base []byte, entries []Entry, replaced map[string][]byte) (c Change, err error) {
	if base == nil {
		if base, err = Strip(f, old, entries, replaced); err != nil {
			return c, err
		}
	}
	splices, err := w.add(base, entries)
	return Change{Base: base, New: apply(base, splices), Splices: splices}, err
}

// planGrown does so with all but what somebody has added to, which stays where it
// is. Nothing comes of it where there is no such entry, or one twice.
func planGrown(f Format, w writer, old []byte, entries []Entry, replaced map[string][]byte) (c Change, err error) {
	grown, rest, mends, err := w.mend(old, entries)
	if err != nil || len(grown) == 0 {
		return c, err
	}
	text, err := Strip(f, apply(old, mends), rest, replaced)
	if err != nil {
		return c, err
	}
	adds, err := w.add(text, entries)
	if err != nil {
		return c, err
	}
	cuts, err := w.cut(text, grown, replaced)
	if err != nil {
		return c, err
	}
	made := apply(text, adds)
	if after, err := w.look(made, entries); err != nil || !after.complete {
		return c, err
	}
	return Change{Base: apply(text, cuts), New: made, Splices: across(cuts, adds)}, nil
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
	// mend parts the entries that somebody has added to from the rest, and makes
	// them start what they should.
	mend(old []byte, entries []Entry) (grown, rest []Entry, splices []Splice, err error)
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
