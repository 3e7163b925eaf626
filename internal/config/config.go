// Package config reads gaffer's settings.
//
// The value of a setting comes from the first of these sources that sets it: a flag, an environment
// variable, gaffer.yaml in the project's root folder, the user's gaffer.yaml, the default. The
// settings of a team's roles can also come from a separate file, see [Config.WithRoles]. Every
// value records its source. [Keys] and [RoleKeys] list the settings.
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

// Config holds a valid value for every key that [Names] returns. It also holds what the
// configuration files define: agents, accounts, and watched sources. A watched source is a source
// of work items, such as an issue tracker, that a server checks at regular intervals.
type Config struct {
	root   string
	home   string // the user's home folder; "" if it is not known
	own    bool   // whether the project's file is also the user's configuration file
	values map[string]Value
}

// Value is the text of one setting, and where it came from.
type Value struct {
	Key    Key
	Text   string
	Origin Origin

	agent    *agent.Custom  // the agent that this value defines; nil outside the section "agents"
	account  *Account       // the account that this value defines; nil outside the section "accounts"
	position int            // index of the account in the section "accounts"
	watched  *WatchedSource // the source of work items that this value defines; nil outside the section "sources"
	layer    layer          // precedence of Origin
}

// Setting is the name of a key and the value that the user has given it with a flag.
type Setting struct {
	Name, Text string
	Flag       string // name of the flag, for example --set
}

// Inputs holds what [Load] needs to find and read the sources of settings.
type Inputs struct {
	Root   string // path of the project's root folder
	Getenv func(string) string
	Flags  []Setting // a later flag overrides an earlier one
}

// Load reads and checks all sources of settings: the configuration files, environment variables and
// flags. A mistake in any source is an error, even if a source with higher precedence sets the same
// key. Without this rule, the mistake would appear only when the setting with higher precedence is
// removed.
func Load(in Inputs) (*Config, error) {
	c := &Config{root: in.Root, home: in.Getenv("HOME"), own: filepath.Join(in.Root, project.ConfigFile) == UserFile(in.Getenv), values: map[string]Value{}}
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
	if err := c.checkAccounts(); err != nil {
		return nil, err
	}
	return c, nil
}

// add stores values that come from a source with the precedence l. A new value replaces the stored
// value of the same key if the stored value has the same or a lower precedence.
func (c *Config) add(l layer, values []Value) {
	for _, v := range values {
		if v.layer = l; c.values[v.Key.Name].layer <= l {
			c.values[v.Key.Name] = v
		}
	}
}

// Values returns these values, in this order:
//   - the values of all settings that [Keys] returns
//   - the settings of a team's roles, but only those that a source sets
//   - the definitions of agents and of watched sources of work items, by name
//   - the definitions of accounts
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
		if v := c.values[name]; v.agent != nil || v.watched != nil {
			list = append(list, v)
		}
	}
	return append(list, c.accountValues()...)
}

// Agents returns the agents that the configuration files define. The keys of the map are the
// agents' names.
func (c *Config) Agents() map[string]agent.Custom {
	agents := map[string]agent.Custom{}
	for name, v := range c.values {
		if v.agent != nil {
			agents[strings.TrimPrefix(name, agentsKey+".")] = *v.agent
		}
	}
	return agents
}

// Program is a setting in the project's file that makes gaffer run a program, or answer questions
// of agents without asking the user.
type Program struct{ Setting, Value string }

// Programs returns the settings of the project's file that make gaffer run a program, or answer
// questions of agents without asking the user. These are:
//   - the commands and environment variables of agents
//   - the test commands of a team of agents
//   - for each role of a team, the setting that allows all permission requests
//
// Programs leaves out settings that a source with higher precedence overrides. If the project's
// file is also the user's own configuration file, Programs returns nothing.
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

// startOf returns the settings that say how an agent is started, as JSON. In the result, YAML
// aliases of the configuration file are replaced by their values.
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

// Lookup returns the value of the key that the user has named, or an error if the key does not
// exist.
func (c *Config) Lookup(name string) (Value, error) {
	v, ok := c.values[name]
	if !ok {
		return Value{}, &UnknownKeyError{Name: name}
	}
	return v, nil
}

// Path returns the value of a key of kind Path, as an absolute path.
func (c *Config) Path(name string) string { return c.abs(c.mustGet(name, Path)) }

// Duration returns the value of a key of kind Duration.
func (c *Config) Duration(name string) time.Duration {
	d, err := time.ParseDuration(c.mustGet(name, Duration))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return d
}

// Database returns the value of a key of kind Database: an absolute path, or a PostgreSQL URL. If
// the value is "auto", Database returns "", which means the database that all projects of a user
// share.
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

// Choice returns the value of a key of kind Choice.
func (c *Config) Choice(name string) string { return c.mustGet(name, Choice) }

// Number returns the value of a key of kind Number.
func (c *Config) Number(name string) int {
	n, err := strconv.Atoi(c.mustGet(name, Number))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return n
}

// List returns the items in the value of a key of kind List.
func (c *Config) List(name string) []string { return splitList(c.mustGet(name, List)) }

// Server returns the addresses of the coordinator, separated by commas. It returns "" if no server
// is set.
func (c *Config) Server() string { return orEmpty(c.mustGet("server", Server)) }

// File returns the value of a key of kind File as an absolute path, or "" if the value is "none".
func (c *Config) File(name string) string {
	if path := orEmpty(c.mustGet(name, File)); path != "" {
		return c.abs(path)
	}
	return ""
}

// Text returns the value of a key of kind Text, or "" if the value is "none".
func (c *Config) Text(name string) string { return orEmpty(c.mustGet(name, Text)) }

// URL returns the value of a key of kind URL, or "" if the value is "none".
func (c *Config) URL(name string) string { return orEmpty(c.mustGet(name, URL)) }

// Hours returns the start and the end of the time range in a key of kind Hours, in minutes after
// midnight. Both are 0 if the value is "none".
func (c *Config) Hours(name string) (from, to int) {
	from, to, err := parseHours(c.mustGet(name, Hours))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return from, to
}

// Money returns the value of a key of kind Money in US dollars, or 0 if the value is "none".
func (c *Config) Money(name string) float64 {
	usd, err := parseMoney(c.mustGet(name, Money))
	if err != nil {
		panic("config: " + name + ": " + err.Error())
	}
	return usd
}

// Clock returns the value of a key of kind Clock, in minutes after midnight. If the value is
// "none", the second result is false.
func (c *Config) Clock(name string) (minute int, set bool) {
	minute, set, err := parseClock(c.mustGet(name, Clock))
	if err != nil {
		panic("config: " + name + " was not checked: " + err.Error())
	}
	return minute, set
}

// ProjectName returns the name under which a server knows the project: the setting project_name or,
// by default, the name of the project's root folder.
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

// mustGet returns the value of the key with this name, as text. If there is no key with this name
// and kind, the caller has a bug, and mustGet panics.
func (c *Config) mustGet(name string, kind Kind) string {
	v, ok := c.values[name]
	if !ok || v.Key.Kind != kind {
		panic(fmt.Sprintf("config: no key %q of this kind", name))
	}
	return v.Text
}

// UnknownKeyError reports that a key does not exist.
type UnknownKeyError struct{ Name string }

func (e *UnknownKeyError) Error() string { return "unknown key " + quote(e.Name) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *UnknownKeyError) NotFound() bool { return true }

// Hint returns advice for the user: the key that the user probably meant, or where the valid keys
// are listed.
func (e *UnknownKeyError) Hint() string {
	if isRoleKey(e.Name) {
		return roleHint(e.Name)
	}
	if near := suggest.Nearest(e.Name, Names()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "'gaffer config' lists every key"
}

// Sandbox returns the setting "sandbox", and whether the user has set it with a flag.
func (c *Config) Sandbox() (mode string, byFlag bool) {
	return c.Choice("sandbox"), c.values["sandbox"].layer == flagLayer
}
