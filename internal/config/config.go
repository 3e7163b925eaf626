// Package config reads gaffer's settings.
//
// A setting comes from the first of: a flag, the environment, gaffer.yaml at
// the project's root, the user's gaffer.yaml, the default. Every value
// remembers where it came from. All settings stand in one table, keys.
package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/plan/secret"
	"gaffer/internal/project"
	"gaffer/internal/text/suggest"
)

// Config holds a checked value for every key.
type Config struct {
	root   string
	own    bool // the project's file is the user's own
	values map[string]Value
}

// Value is the text of one setting and where it came from.
type Value struct {
	Key    Key
	Text   string
	Source Source

	agent *agent.Custom // of a key below agents
	layer layer         // how strong its source is
}

// Setting is one key=value given by a flag.
type Setting struct {
	Name, Text string
	Flag       string // the flag that gave it, as --set
}

// Inputs is everything that settings are read from.
type Inputs struct {
	Root   string // the project's root
	Getenv func(string) string
	Flags  []Setting // later ones win
}

// Load reads and checks every source. A mistake in any of them is an error,
// also when a stronger source sets the same key: it would come to light on the
// day the stronger one goes away.
func Load(in Inputs) (*Config, error) {
	c := &Config{root: in.Root, own: filepath.Join(in.Root, project.ConfigFile) == UserFile(in.Getenv), values: map[string]Value{}}
	for _, k := range allKeys() {
		c.values[k.Name] = Value{Key: k, Text: k.Default}
	}
	for _, source := range layers {
		values, err := source.read(in)
		if err != nil {
			return nil, err
		}
		c.add(source.layer, values)
	}
	return c, nil
}

// add puts values in the place of those that come from a weaker source.
func (c *Config) add(l layer, values []Value) {
	for _, v := range values {
		if v.layer = l; c.values[v.Key.Name].layer <= l {
			c.values[v.Key.Name] = v
		}
	}
}

// Values lists every value in the order of the table, then what is set for
// roles and agents.
func (c *Config) Values() []Value {
	list := make([]Value, len(keys))
	for i, k := range keys {
		list[i] = c.values[k.Name]
	}
	for _, k := range roleKeys() {
		if v := c.values[k.Name]; v.layer > byDefault {
			list = append(list, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		if v := c.values[name]; v.agent != nil {
			list = append(list, v)
		}
	}
	return list
}

// Agents gives what is said about agents, by their names.
func (c *Config) Agents() map[string]agent.Custom {
	agents := map[string]agent.Custom{}
	for name, v := range c.values {
		if v.agent != nil {
			agents[strings.TrimPrefix(name, agentsKey+".")] = *v.agent
		}
	}
	return agents
}

// Program is a value of the project's own file that makes gaffer run something, or
// that answers for the user.
type Program struct{ Setting, Value string }

// Programs lists what the project's own file makes gaffer run: the programs and
// environments of agents, the tests of a team, and roles that are allowed
// everything. What a stronger source replaces is not listed.
func (c *Config) Programs() (list []Program) {
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		v := c.values[name]
		switch {
		case v.layer != projectLayer || c.own:
		case v.agent != nil && (len(v.agent.Argv) > 0 || len(v.agent.Env) > 0):
			list = append(list, Program{name, startOf(*v.agent)})
		case name == "team.tests" && len(splitList(v.Text)) > 0,
			isRoleKey(name) && strings.HasSuffix(name, ".questions") && v.Text == "allow":
			list = append(list, Program{name, v.Text})
		}
	}
	return list
}

// startOf is how an agent is started, as its setting means it: an alias in the file
// is followed.
func startOf(a agent.Custom) string {
	text, err := json.Marshal(struct {
		Like string                  `json:"like,omitempty"`
		Argv []string                `json:"argv,omitempty"`
		Env  map[string]secret.Value `json:"env,omitempty"`
	}{a.Like, a.Argv, a.Env})
	if err != nil {
		panic("config: texts cannot be JSON: " + err.Error())
	}
	return string(text)
}

// Lookup gives one value by the name that a person typed.
func (c *Config) Lookup(name string) (Value, error) {
	v, ok := c.values[name]
	if !ok {
		return Value{}, &UnknownKeyError{Name: name}
	}
	return v, nil
}

// Path gives the place that a Path key names, as an absolute path.
func (c *Config) Path(name string) string { return c.abs(c.mustGet(name, Path)) }

// Duration gives the value of a Duration key.
func (c *Config) Duration(name string) time.Duration {
	d, err := time.ParseDuration(c.mustGet(name, Duration))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return d
}

// Database gives the place of a database: an absolute path, a URL of
// PostgreSQL, or empty for the one that all projects of a user share.
func (c *Config) Database(name string) string {
	text := c.mustGet(name, Database)
	switch {
	case text == "auto":
		return ""
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		return text
	}
	return c.abs(text)
}

// Choice gives the value of a Choice key.
func (c *Config) Choice(name string) string { return c.mustGet(name, Choice) }

// Number gives the value of a Number key.
func (c *Config) Number(name string) int {
	n, err := strconv.Atoi(c.mustGet(name, Number))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return n
}

// List gives the texts of a List key.
func (c *Config) List(name string) []string { return splitList(c.mustGet(name, List)) }

// Server gives the address of the coordinator that is asked about runs, or "".
func (c *Config) Server() string { return orEmpty(c.mustGet("server", Server)) }

// File gives the absolute path of a File key, or "".
func (c *Config) File(name string) string {
	if path := orEmpty(c.mustGet(name, File)); path != "" {
		return c.abs(path)
	}
	return ""
}

// Text gives the value of a Text key, "" if it is none.
func (c *Config) Text(name string) string { return orEmpty(c.mustGet(name, Text)) }

// URL gives the value of a URL key, "" if it is none.
func (c *Config) URL(name string) string { return orEmpty(c.mustGet(name, URL)) }

// Hours gives when a part of the day begins and ends, in minutes after midnight.
// Both are 0 of none.
func (c *Config) Hours(name string) (from, to int) {
	from, to, err := parseHours(c.mustGet(name, Hours))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return from, to
}

// ProjectName gives the name by which a server knows the project.
func (c *Config) ProjectName() string {
	if name := c.mustGet("project_name", Text); name != "auto" && name != "" {
		return name
	}
	return filepath.Base(c.root)
}

func orEmpty(text string) string {
	if text == none {
		return ""
	}
	return text
}

func (c *Config) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.root, path)
}

// mustGet panics on a name that is not in the table: names in the program are
// constants, so this is a mistake in gaffer and not in its configuration.
func (c *Config) mustGet(name string, kind Kind) string {
	v, ok := c.values[name]
	if !ok || v.Key.Kind != kind {
		panic(fmt.Sprintf("config: no key %q of this kind", name))
	}
	return v.Text
}

// UnknownKeyError is a name that is not a setting.
type UnknownKeyError struct{ Name string }

func (e *UnknownKeyError) Error() string { return "unknown key " + quote(e.Name) }

// NotFound is true: asking for a key that does not exist finds nothing.
func (e *UnknownKeyError) NotFound() bool { return true }

// Hint names the key that was likely meant.
func (e *UnknownKeyError) Hint() string {
	if isRoleKey(e.Name) {
		return roleHint(e.Name)
	}
	if near := suggest.Nearest(e.Name, Names()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "'gaffer config' lists every key"
}
