// Package agentsettings edits settings files of other programs. It changes only gaffer's own
// entries, so that nothing else in the file is lost, reordered or reformatted. It replaces an entry
// of another program only if [Entry.Force] is set. It can undo its changes. If the file was not
// changed otherwise, this restores the file byte for byte.
//
// In the names of this package, "ours" means: written by gaffer.
//
// [Plan] and [Strip] are pure functions: they get the content of a file and return the new content.
// An [Editor] writes the files, and keeps a journal of the changes.
package agentsettings

import (
	"bytes"
	"fmt"
	"reflect"
)

// Format is the syntax of a settings file.
type Format string

// The formats. JSON files may contain comments and trailing commas.
const (
	JSON  Format = "json"
	TOML  Format = "toml"
	Lines Format = "lines"
)

// Entry is one entry that a settings file should have.
type Entry struct {
	// What names the entry in messages to the user, for example "hook Stop".
	What string
	// Path lists the names of the members that lead to the entry from the top of the file. An entry
	// without a Value is only used to find entries to remove. In its path, "*" matches every member
	// or item.
	Path []string
	// Item says that Path leads to an array, and that the entry is an item of this array.
	Item bool
	// Value is the value to insert: for the format JSON any value that encoding/json can encode,
	// for the format TOML a [Table], and for the format Lines a string.
	Value any
	// IsOurs reports whether a decoded value is an entry that gaffer has written. It may be the
	// entry of an older or newer version of gaffer.
	IsOurs func(v any) bool
	// FixCommand returns the right command for an entry of gaffer, given the entry's current
	// command. If the user has extended the entry, for example with an argument, then only its
	// command is changed. But if FixCommand is nil, an extended entry is replaced.
	FixCommand func(command string) string
	// Force says that the entry replaces an entry of another program at the same path. Without
	// Force, the other program's entry stays.
	Force bool
}

// isExtended reports whether the user has changed or extended an entry of gaffer, for example with
// arguments, an environment or a flag. got is the value in the file, and want is the value that
// gaffer would write.
func (e Entry) isExtended(got, want any) bool {
	has, _ := got.(map[string]any)
	wants, _ := want.(map[string]any)
	if e.FixCommand == nil || !e.IsOurs(got) {
		return false
	}
	for name, v := range has {
		if line, ok := v.(string); ok && name == commandMember {
			v = e.FixCommand(line)
		}
		if !reflect.DeepEqual(v, wants[name]) {
			return true
		}
	}
	return false
}

// hasCommand reports whether an entry that the user has extended already has the right command.
func (e Entry) hasCommand(got any) bool {
	line := got.(map[string]any)[commandMember].(string) // cannot panic: IsOurs has checked that the command is a string
	return line == e.FixCommand(line)
}

const commandMember = "command" // the member of an entry's value that holds the command

// Change is the planned change of one file.
type Change struct {
	Base    []byte   // content of the file without gaffer's entries
	New     []byte   // content of the file with all entries
	Splices []Splice // edits that turn Base into New
	// Kept names the entries that gaffer leaves out, because the file has a value of another
	// program at their path. The names are values of [Entry.What].
	Kept []string
	// Replaced holds the values that other programs had written and that gaffer's entries replace.
	// Its keys are the paths of these values in the file, joined with dots.
	Replaced map[string][]byte
	// NonStandard says where a JSON file has its first comment or trailing comma, for example
	// "line 3: a comment". It is empty if there is none.
	NonStandard string
}

// Plan returns the change that adds the entries to a file of this format with the content old. base
// is the content without gaffer's entries, or nil if that is unknown. If the file already has all
// entries, the returned Change has no Splices, and its New is equal to old. An error means that the
// file cannot be edited safely, so the caller must not write it.
func Plan(f Format, old, base []byte, entries []Entry) (Change, error) {
	return plan(f, old, base, entries, nil)
}

// plan does the same as [Plan], for a file in which gaffer's entries may already have replaced
// values of other programs. The parameter replaced holds these values. plan first restores them,
// and then adds the entries. If the new entries replace a value again, it is in Change.Replaced.
func plan(f Format, old, base []byte, entries []Entry, replaced map[string][]byte) (Change, error) {
	w, err := writerOf(f)
	if err != nil {
		return Change{}, err
	}
	found, err := w.inspect(old, entries)
	if err != nil {
		return Change{}, err
	}
	if found.complete {
		return Change{Base: base, New: old, Kept: found.kept, NonStandard: found.nonStandard}, nil
	}
	c, err := planExtended(f, w, old, entries, replaced)
	if err == nil && c.New == nil {
		c, err = planFresh(f, w, old, base, entries, replaced)
	}
	if err != nil {
		return Change{}, err
	}
	after, err := w.inspect(c.New, entries)
	if err != nil {
		return Change{}, &unsafeChangeError{err.Error()}
	}
	if !after.complete || !bytes.Equal(reverse(c.New, c.Splices), c.Base) {
		return Change{}, &unsafeChangeError{"something is missing"}
	}
	c.Kept, c.NonStandard, c.Replaced = after.kept, found.nonStandard, replacedIn(f, c.Base, c.New, entries)
	return c, nil
}

// planFresh returns the change that removes gaffer's entries and inserts them again.
func planFresh(f Format, w formatWriter, old, base []byte, entries []Entry, replaced map[string][]byte) (c Change, err error) {
	if base == nil {
		if base, err = Strip(f, old, entries, replaced); err != nil {
			return c, err
		}
	}
	splices, err := w.add(base, entries)
	return Change{Base: base, New: apply(base, splices), Splices: splices}, err
}

// planExtended returns the change for a file in which the user has extended entries of gaffer. It
// corrects only the commands of these entries. It removes all other entries of gaffer and inserts
// them again. In two cases, the field New of the returned Change is nil: if the user has extended
// no entry, and if the result would be incomplete, for example because an extended entry occurs
// twice.
func planExtended(f Format, w formatWriter, old []byte, entries []Entry, replaced map[string][]byte) (c Change, err error) {
	extended, rest, fixes, err := w.fixCommands(old, entries)
	if err != nil || len(extended) == 0 {
		return c, err
	}
	text, err := Strip(f, apply(old, fixes), rest, replaced)
	if err != nil {
		return c, err
	}
	adds, err := w.add(text, entries)
	if err != nil {
		return c, err
	}
	cuts, err := w.remove(text, extended, replaced)
	if err != nil {
		return c, err
	}
	result := apply(text, adds)
	if after, err := w.inspect(result, entries); err != nil || !after.complete {
		return c, err
	}
	return Change{Base: apply(text, cuts), New: result, Splices: combine(cuts, adds)}, nil
}

// Strip returns the text old without gaffer's entries. The parameter replaced holds the values that
// other programs had written and that these entries have replaced. Its keys are paths joined with
// dots. Strip restores these values.
func Strip(f Format, old []byte, entries []Entry, replaced map[string][]byte) ([]byte, error) {
	w, err := writerOf(f)
	if err != nil {
		return nil, err
	}
	splices, err := w.remove(old, entries, replaced)
	if err != nil {
		return nil, err
	}
	result := apply(old, splices)
	if err := w.check(result); err != nil {
		return nil, &unsafeChangeError{err.Error()}
	}
	return result, nil
}

// formatWriter reads and edits settings files of one Format.
type formatWriter interface {
	// check returns an error if text cannot be parsed.
	check(text []byte) error
	// inspect finds out which of the entries are in old, the content of the file.
	inspect(old []byte, entries []Entry) (inspection, error)
	// add returns the text edits that insert the missing entries into old. The caller must first
	// remove gaffer's outdated entries from old.
	add(old []byte, entries []Entry) ([]Splice, error)
	// fixCommands separates the entries that the user has extended from the rest. The returned
	// splices (text edits) correct the commands of the extended entries.
	fixCommands(old []byte, entries []Entry) (extended, rest []Entry, splices []Splice, err error)
	// remove returns the text edits that remove gaffer's entries. They also restore the values of
	// other programs that these entries had replaced.
	remove(old []byte, entries []Entry, replaced map[string][]byte) ([]Splice, error)
}

// inspection says which of gaffer's entries a file has.
type inspection struct {
	// complete means that the file has all entries with the right values, except those in kept. A
	// JSON file must also have no outdated entries of gaffer.
	complete    bool
	kept        []string // see Change.Kept
	nonStandard string   // see Change.NonStandard
}

func writerOf(f Format) (formatWriter, error) {
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
