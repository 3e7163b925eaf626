package config

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/plan/secret"
	"gaffer/internal/yamldoc"
)

// accountsKey is the name of the section of the user's gaffer.yaml that defines accounts of agent
// programs. Each key in this section is the name of an account, which the user chooses.
const accountsKey = "accounts"

// Account is one of the user's accounts of an agent program. If an agent has several accounts, each
// attempt uses one of them that has not reached a rate limit.
type Account struct {
	Name  string
	Agent string // name of the agent whose program uses the account
	// Config is the path of the program's config folder. It is absolute, or begins with ~/. An
	// empty path means the program's default folder.
	Config  string
	Env     map[string]secret.Value
	Reserve bool // used only while all of the agent's accounts without Reserve are paused, for example by rate limits
	Budget  AccountBudget
}

// AccountBudget is how much an account may spend per day and per month, in US dollars. Zero means
// no limit.
type AccountBudget struct {
	Day   float64 `yaml:"day"`
	Month float64 `yaml:"month"`
}

// accounts reads the accounts from n, the YAML value of the section "accounts".
func (r *reader) accounts(n ast.Node) error {
	if n == nil || n.Type() == ast.NullType {
		return nil
	}
	section, ok := n.(*ast.MappingNode)
	if !ok {
		return r.want(accountsKey, n)
	}
	for i, pair := range section.Values {
		if err := r.account(i, pair); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) account(position int, pair *ast.MappingValueNode) error {
	key := pair.Key.GetToken()
	name := key.Value
	var raw struct {
		Agent   string                  `yaml:"agent"`
		Config  string                  `yaml:"config"`
		Env     map[string]secret.Value `yaml:"env"`
		Reserve bool                    `yaml:"reserve"`
		Budget  AccountBudget           `yaml:"budget"`
	}
	fail := func(err error) error { return r.fail(key, keyError{accountsKey + "." + name, err}) }
	if err := yamldoc.Decode(pair.Value, &raw); err != nil {
		return r.fail(pair.Value.GetToken(), keyError{accountsKey + "." + name, err})
	}
	a := Account{Name: name, Agent: raw.Agent, Config: raw.Config, Env: raw.Env, Reserve: raw.Reserve, Budget: raw.Budget}
	if err := a.check(); err != nil {
		return fail(err)
	}
	r.values = append(r.values, Value{
		Key:  Key{Name: accountsKey + "." + name, Doc: "an account of an agent program", Own: true},
		Text: a.text(), Origin: r.at(key), account: &a, position: position,
	})
	return nil
}

// check returns an error for the first mistake in the account, or nil. It does not find mistakes
// that depend on the definition of the account's agent; see checkKind.
func (a Account) check() error {
	switch {
	case a.Name == "" || len(a.Name) > 100 || a.Name == "." || a.Name == ".." || strings.ContainsAny(a.Name, `/\,: `) || strings.ContainsFunc(a.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("found the name %s, want one without spaces, slashes, commas and colons", quote(a.Name))
	case a.Agent == "":
		return fmt.Errorf("found no agent, want the agent that uses the account, such as %s", agent.Names()[0])
	case a.Config == "" && len(a.Env) == 0:
		return fmt.Errorf("found neither config nor env, want what distinguishes the account: the program's config folder, or a variable with its key")
	case a.Config != "" && !filepath.IsAbs(a.Config) && !strings.HasPrefix(a.Config, "~/"):
		return fmt.Errorf("config: found %s, want an absolute path, or one that begins with ~/", quote(a.Config))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: found %s, which no environment can hold", quote(name))
		}
		if err := a.Env[name].Check(); err != nil {
			return fmt.Errorf("env: %s: %w", name, err)
		}
	}
	for period, usd := range map[string]float64{"day": a.Budget.Day, "month": a.Budget.Month} {
		if usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0) {
			return fmt.Errorf("budget: %s: found %v, want dollars", period, usd)
		}
	}
	return nil
}

// checkKind checks whether the settings of the account suit the program of its agent. It returns
// nil if the agent is unknown, because another project may define that agent.
func (a Account) checkKind(agents map[string]agent.Custom) error {
	if _, err := agent.New(a.Agent, agents); err != nil {
		return nil
	}
	kind := agent.Kind(a.Agent, agents)
	_, key := a.Env["CODEX_API_KEY"]
	switch _, ignored := a.Env["OPENAI_API_KEY"]; {
	case a.Config != "" && account.ConfigVariable(kind) == "":
		return fmt.Errorf("config: the config folder of %s cannot be chosen, want env with the variables of the account", a.Agent)
	case kind == "codex" && ignored && !key:
		return fmt.Errorf("env: OPENAI_API_KEY: 'codex exec' ignores this variable, want CODEX_API_KEY")
	}
	return nil
}

// checkAccounts checks whether the settings of each account suit the program of its agent. The
// caller must have read all configuration files, because each of them may define the agent.
func (c *Config) checkAccounts() error {
	agents := c.Agents()
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		v := c.values[name]
		if v.account == nil {
			continue
		}
		if err := v.account.checkKind(agents); err != nil {
			return &Error{Origin: v.Origin, Err: keyError{name, err}}
		}
	}
	return nil
}

// text returns the account as text, for display. If the value of an environment variable only
// refers to a secret that is stored elsewhere, text shows this reference. It hides all other values
// of environment variables, because they may be secrets.
func (a Account) text() string {
	shown := yaml.MapSlice{{Key: "agent", Value: a.Agent}}
	add := func(key string, value any, given bool) {
		if given {
			shown = append(shown, yaml.MapItem{Key: key, Value: value})
		}
	}
	env, budget := yaml.MapSlice{}, yaml.MapSlice{}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		env = append(env, yaml.MapItem{Key: name, Value: a.Env[name].Hidden().String()})
	}
	for _, period := range []struct {
		name string
		usd  float64
	}{{"day", a.Budget.Day}, {"month", a.Budget.Month}} {
		if period.usd > 0 {
			budget = append(budget, yaml.MapItem{Key: period.name, Value: period.usd})
		}
	}
	add("config", a.Config, a.Config != "")
	add("env", env, len(env) > 0)
	add("reserve", true, a.Reserve)
	add("budget", budget, len(budget) > 0)
	text, err := yaml.MarshalWithOptions(shown, yaml.Flow(true))
	if err != nil {
		panic("config: texts cannot be YAML: " + err.Error())
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// accountValues returns the values that define accounts, in the order of the user's file.
func (c *Config) accountValues() (list []Value) {
	for _, v := range c.values {
		if v.account != nil {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b Value) int { return a.position - b.position })
	return list
}

// Accounts returns the user's accounts in the order of the user's file. In the paths of config
// folders, it replaces ~/ by the user's home folder.
func (c *Config) Accounts() (list []Account) {
	for _, v := range c.accountValues() {
		a := *v.account
		if rest, ok := strings.CutPrefix(a.Config, "~/"); ok {
			a.Config = filepath.Join(c.home, rest)
		}
		list = append(list, a)
	}
	return list
}
