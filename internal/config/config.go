// Package config reads gaffer's settings.
//
// A setting comes from the first of these sources that sets it: a flag, the
// environment, gaffer.yaml at the project's root, the user's gaffer.yaml, the default.
// Every value records its source. The table keys lists all settings.
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

// Config holds a valid value for every key.
type Config struct {
	root   string
	own    bool // the user's file is also the project's file
	values map[string]Value
}

// Value is the text of one setting and where it came from.
type Value struct {
	Key    Key
	Text   string
	Source Source

	agent *agent.Custom // only for keys of the section agents
	layer layer         // the precedence of its source
}

// Setting is one key and value that a flag sets.
type Setting struct {
	Name, Text string
	Flag       string // the flag, for example --set
}

// Inputs holds the sources of settings.
type Inputs struct {
	Root   string // the project's root
	Getenv func(string) string
	Flags  []Setting // a later one overrides an earlier one
}

// Load reads and checks all sources. A mistake in any source is an error, even if a
// stronger source sets the same key. Otherwise the mistake would appear only when the
// stronger setting is removed.
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

// add stores values and overrides those from the same or a weaker layer.
func (c *Config) add(l layer, values []Value) {
	for _, v := range values {
		if v.layer = l; c.values[v.Key.Name].layer <= l {
			c.values[v.Key.Name] = v
		}
	}
}

// Values returns every value in the order of the table, then the settings of roles and
// agents that are not defaults.
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

// Agents returns the configured agents by name.
func (c *Config) Agents() map[string]agent.Custom {
	agents := map[string]agent.Custom{}
	for name, v := range c.values {
		if v.agent != nil {
			agents[strings.TrimPrefix(name, agentsKey+".")] = *v.agent
		}
	}
	return agents
}

// Program is a setting in the project's file that makes gaffer run a program or answer
// questions for the user.
type Program struct{ Setting, Value string }

// Programs returns the settings of the project's file that make gaffer run a program or
// answer for the user: commands and environments of agents, tests of a team, and roles
// whose permission requests are all allowed. It leaves out settings that a stronger
// source overrides.
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

// startOf returns how an agent is started, as JSON. It uses the parsed setting, so that
// YAML aliases are resolved.
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

// Lookup returns the value of a key that the user has typed.
func (c *Config) Lookup(name string) (Value, error) {
	v, ok := c.values[name]
	if !ok {
		return Value{}, &UnknownKeyError{Name: name}
	}
	return v, nil
}

// Path returns the value of a Path key as an absolute path.
func (c *Config) Path(name string) string { return c.abs(c.mustGet(name, Path)) }

// Duration returns the value of a Duration key.
func (c *Config) Duration(name string) time.Duration {
	d, err := time.ParseDuration(c.mustGet(name, Duration))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return d
}

// Database returns the value of a Database key: an absolute path, a PostgreSQL URL, or
// "" for the database that all projects of a user share.
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

// Choice returns the value of a Choice key.
func (c *Config) Choice(name string) string { return c.mustGet(name, Choice) }

// Number returns the value of a Number key.
func (c *Config) Number(name string) int {
	n, err := strconv.Atoi(c.mustGet(name, Number))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return n
}

// List returns the items of a List key.
func (c *Config) List(name string) []string { return splitList(c.mustGet(name, List)) }

// Server returns the addresses of the coordinator, or "" if none is set.
func (c *Config) Server() string { return orEmpty(c.mustGet("server", Server)) }

// File returns the absolute path of a File key, or "".
func (c *Config) File(name string) string {
	if path := orEmpty(c.mustGet(name, File)); path != "" {
		return c.abs(path)
	}
	return ""
}

// Text returns the value of a Text key, or "" for "none".
func (c *Config) Text(name string) string { return orEmpty(c.mustGet(name, Text)) }

// URL returns the value of a URL key, or "" for "none".
func (c *Config) URL(name string) string { return orEmpty(c.mustGet(name, URL)) }

// Hours returns the start and the end of an Hours key, in minutes after midnight. Both
// are 0 for "none".
func (c *Config) Hours(name string) (from, to int) {
	from, to, err := parseHours(c.mustGet(name, Hours))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return from, to
}

// ProjectName returns the project's name on a server.
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

// mustGet returns the text of a key. It panics if no key of this kind has the name: the
// names in the code are constants, so that is a bug in gaffer and not in a
// configuration.
func (c *Config) mustGet(name string, kind Kind) string {
	v, ok := c.values[name]
	if !ok || v.Key.Kind != kind {
		panic(fmt.Sprintf("config: no key %q of this kind", name))
	}
	return v.Text
}

// UnknownKeyError is the error for a key that does not exist.
type UnknownKeyError struct{ Name string }

func (e *UnknownKeyError) Error() string { return "unknown key " + quote(e.Name) }

// NotFound returns true, so that the exit code is "not found".
func (e *UnknownKeyError) NotFound() bool { return true }

// Hint suggests the key that the user probably meant.
func (e *UnknownKeyError) Hint() string {
	if isRoleKey(e.Name) {
		return roleHint(e.Name)
	}
	if near := suggest.Nearest(e.Name, Names()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "'gaffer config' lists every key"
}
