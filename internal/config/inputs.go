package config

import (
	"errors"
	"path/filepath"

	"gaffer/internal/project"
)

// layer is the precedence of a source of settings, such as a file or the flags. Values of a higher
// layer override values of a lower layer.
type layer int

const (
	byDefault layer = iota
	userLayer
	projectLayer
	envLayer
	rolesLayer // the file that the flag --roles names; see [Config.WithRoles]
	flagLayer
)

// layers lists the sources of settings that [Load] reads, lowest precedence first.
var layers = []struct {
	layer layer
	read  func(Inputs) ([]Value, error)
}{
	{userLayer, fromUser}, {projectLayer, fromProject}, {envLayer, fromEnv}, {flagLayer, fromFlags},
}

func fromFlags(in Inputs) ([]Value, error) {
	var values []Value
	for _, s := range in.Flags {
		v, err := newValue(s.Name, s.Text, Origin{Flag: s.Flag})
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// fromEnv returns the settings in environment variables. It ignores empty variables.
func fromEnv(in Inputs) ([]Value, error) {
	var values []Value
	for _, k := range allKeys() {
		text := in.Getenv(k.Env())
		if text == "" {
			continue
		}
		v, err := newValue(k.Name, text, Origin{Env: k.Env()})
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// fromProject returns the settings in the project's file. It returns an error if the file sets a
// key that only the user may set. Without this check, a project from somebody else could, for
// example, send data elsewhere or allow what agents ask permission for. If the project's file is
// also the user's own configuration file, all keys are allowed.
func fromProject(in Inputs) ([]Value, error) {
	path := filepath.Join(in.Root, project.ConfigFile)
	values, err := readFile(path)
	for _, v := range values {
		if v.Key.Own && path != UserFile(in.Getenv) {
			err := errors.New("found in a project's file, want it in your own or in the environment")
			if v.account != nil {
				err = errors.New("found in a project's file, want it in your own")
			}
			return nil, &Error{Origin: v.Origin, Err: keyError{v.Key.Name, err}, Next: ownHint(in, v)}
		}
	}
	return values, err
}

func ownHint(in Inputs, v Value) string {
	path, k := UserFile(in.Getenv), v.Key
	switch {
	case path != "" && (v.account != nil || v.watched != nil):
		return "put it into " + path
	case path != "":
		return "put it into " + path + ", or into " + k.Env()
	}
	return "put it into " + k.Env()
}

func fromUser(in Inputs) ([]Value, error) {
	path := UserFile(in.Getenv)
	if path == "" {
		return nil, nil
	}
	return readFile(path)
}

// UserFile returns the path of the user's configuration file. It returns "" if neither
// XDG_CONFIG_HOME nor HOME is an absolute path. It ignores a relative XDG_CONFIG_HOME, as the XDG
// specification demands.
func UserFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gaffer", project.ConfigFile)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "gaffer", project.ConfigFile)
	}
	return ""
}

// newValue checks the text of a setting and returns it as a Value. The same checks apply to
// settings in files, environment variables and flags.
func newValue(name, text string, from Origin) (Value, error) {
	k, ok := lookup(name)
	if !ok {
		return Value{}, unknownKey(name, from)
	}
	if err := k.check(text); err != nil {
		return Value{}, &Error{Origin: from, Err: keyError{name, err}, Next: k.Doc + ", for example " + k.Example}
	}
	return Value{Key: k, Text: text, Origin: from}, nil
}

func unknownKey(name string, from Origin) error {
	err := &UnknownKeyError{Name: name}
	return &Error{Origin: from, Err: err, Next: err.Hint()}
}

// keyError is an error that starts with the name of a key, for example "color: found …".
type keyError struct {
	name string
	err  error
}

func (e keyError) Error() string { return e.name + ": " + e.err.Error() }
func (e keyError) Unwrap() error { return e.err }
