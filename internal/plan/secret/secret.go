// Package secret represents values of environment variables. A value is either a text, or a
// reference to the place where the text is stored, for example a file. gaffer reads the text of a
// reference immediately before it starts an agent or a check command, on the machine where that
// process runs. That text is passed only to such processes, and gaffer never stores it.
package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// From says where a reference takes its value from, for example from a file.
type From string

// The values of From.
const (
	Env     From = "env"     // an environment variable of the worker
	File    From = "file"    // the content of a file on the worker's machine
	Command From = "command" // the output of a program on the worker's machine

	// hidden says that the text of a value was removed, so that the value can be displayed. Such a
	// value cannot be resolved.
	hidden From = "hidden"
)

// Value is the value of an environment variable. If From is empty, the value is Text. If From is
// hidden, the text was removed for display. For any other From, the value is a reference to a
// source.
type Value struct {
	Text string

	From From
	// Name is the name of the worker's variable, if From is Env. Empty means that it has the same
	// name as the variable that gets the value.
	Name string
	Path string   // an absolute path, or a path that begins with ~/, if From is File
	Argv []string // the program and its arguments, if From is Command
}

// Text returns a value with the given text.
func Text(text string) Value { return Value{Text: text} }

// IsReference reports whether the value is a reference or was hidden for display.
func (v Value) IsReference() bool { return v.From != "" }

// IsHidden reports whether the text of the value was removed for display.
func (v Value) IsHidden() bool { return v.From == hidden }

// Hidden returns the value in a form that may be displayed. A reference is returned unchanged. If
// the value is a text, the text is removed, and IsHidden is true for the result.
func (v Value) Hidden() Value {
	if v.IsReference() {
		return v
	}
	return Value{From: hidden}
}

// Hide returns a copy of vars in which each value may be displayed; see [Value.Hidden].
func Hide(vars map[string]Value) map[string]Value {
	if vars == nil {
		return nil
	}
	shown := make(map[string]Value, len(vars))
	for name, v := range vars {
		shown[name] = v.Hidden()
	}
	return shown
}

// String describes the source of a reference. For a text it returns "hidden", so that the text is
// not printed.
func (v Value) String() string {
	switch v.From {
	case Env:
		if v.Name == "" {
			return "from env"
		}
		return "from env " + v.Name
	case File:
		return "from file " + v.Path
	case Command:
		return "from command " + strings.Join(v.Argv, " ")
	}
	return "hidden"
}

// GoString returns the same as String, so that %#v does not print the text.
func (v Value) GoString() string { return v.String() }

// reference is the form of a reference in JSON and YAML.
type reference struct {
	From From     `json:"from" yaml:"from"`
	Name string   `json:"name,omitempty" yaml:"name"`
	Path string   `json:"path,omitempty" yaml:"path"`
	Argv []string `json:"argv,omitempty" yaml:"argv"`
}

func (r reference) value() (Value, error) {
	v := Value{From: r.From, Name: r.Name, Path: r.Path, Argv: r.Argv}
	if r.From == "" {
		return v, errors.New("want a text, or a reference with from: env, file or command")
	}
	return v, v.Check()
}

// Check returns an error if the value is not valid. A value whose text was hidden is not valid
// either.
func (v Value) Check() error {
	type key struct {
		name  string
		given bool
	}
	keys := map[From]key{
		Env: {"name", v.Name != ""}, File: {"path", v.Path != ""}, Command: {"argv", len(v.Argv) > 0},
	}
	own, known := keys[v.From]
	switch {
	case v.From == "" && strings.ContainsRune(v.Text, 0):
		return errors.New("has a zero byte in it, which no environment can hold")
	case v.From == "":
		return nil
	case v.From == hidden:
		return errors.New("the value was hidden when the plan was shown: take it from the plan itself")
	case !known:
		return fmt.Errorf("from: found %.60q, want env, file or command", v.From)
	case v.From == Command && (!own.given || v.Argv[0] == ""):
		return errors.New("from: command needs argv, such as argv: [pass, show, key]")
	case v.From == File && !own.given:
		return errors.New("from: file needs path, such as path: ~/.secrets/key")
	case v.From == File && !filepath.IsAbs(v.Path) && !strings.HasPrefix(v.Path, "~/"):
		return fmt.Errorf("path: found %.80q, want an absolute path, or one from ~/: it is looked for on each worker", v.Path)
	case strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Path, 0) || slices.ContainsFunc(v.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return errors.New("has a character that no variable, path or argument can have")
	}
	for from, other := range keys {
		if from != v.From && other.given {
			return fmt.Errorf("from: %s has no %s, which is of from: %s", v.From, other.name, from)
		}
	}
	return nil
}

// MarshalJSON encodes a text as a string, and a reference as an object. Older programs, which do
// not know references, report an error for the object instead of misreading it.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.From == "" {
		return json.Marshal(v.Text)
	}
	return json.Marshal(reference{v.From, v.Name, v.Path, v.Argv})
}

// UnmarshalJSON reads a text from a string, and a reference from an object.
func (v *Value) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		*v = Value{}
		return json.Unmarshal(data, &v.Text)
	}
	var r reference
	d := json.NewDecoder(bytes.NewReader(data))
	// Reject unknown fields. A newer version of gaffer may have written them, and without them the
	// reference could be misread.
	d.DisallowUnknownFields()
	err := d.Decode(&r)
	if err == nil {
		*v, err = r.value()
	}
	return err
}

// UnmarshalYAML reads a text from a string, and a reference from a mapping.
func (v *Value) UnmarshalYAML(decode func(any) error) error {
	*v = Value{}
	var text string
	if err := decode(&text); err == nil {
		v.Text = text
		return nil
	}
	var r reference
	err := decode(&r)
	if err == nil {
		*v, err = r.value()
	}
	return err
}

func sortedNames(vars map[string]Value) []string { return slices.Sorted(maps.Keys(vars)) }
