package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/plan/secret"
	"gaffer/internal/yamldoc"
)

// agentsKey is the name of the section of gaffer.yaml that defines agents. Each key in this section
// is the name of an agent, which the user chooses.
const agentsKey = "agents"

// agents reads the definitions of agents from n, the YAML value of the section "agents". If both
// the project's file and the user's file define an agent with the same name, only the definition
// in the project's file is used.
func (r *reader) agents(n ast.Node) error {
	if n == nil || n.Type() == ast.NullType {
		return nil
	}
	section, ok := n.(*ast.MappingNode)
	if !ok {
		return r.want(agentsKey, n)
	}
	for _, pair := range section.Values {
		if err := r.agent(pair); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) agent(pair *ast.MappingValueNode) error {
	key := pair.Key.GetToken()
	name := key.Value
	var custom agent.Custom
	if err := yamldoc.Decode(pair.Value, &custom); err != nil {
		return r.fail(pair.Value.GetToken(), keyError{agentsKey + "." + name, err})
	}
	if _, err := agent.New(name, map[string]agent.Custom{name: custom}); err != nil {
		return r.fail(key, err)
	}
	text := pair.Value.String()
	if slices.ContainsFunc(slices.Collect(maps.Values(custom.Env)), func(v secret.Value) bool { return !v.IsReference() }) {
		text = withoutTexts(custom)
	}
	r.values = append(r.values, Value{
		Key:  Key{Name: agentsKey + "." + name, Doc: "how the agent is started"},
		Text: strings.Join(strings.Fields(text), " "), Origin: r.at(key), agent: &custom,
	})
	return nil
}

// withoutTexts returns the definition of an agent as text, for display. If the value of an
// environment variable only refers to a secret that is stored elsewhere, withoutTexts shows this
// reference. It hides all other values of environment variables, because they may be secrets.
func withoutTexts(c agent.Custom) string {
	shown := yaml.MapSlice{}
	add := func(key string, value any, given bool) {
		if given {
			shown = append(shown, yaml.MapItem{Key: key, Value: value})
		}
	}
	env := yaml.MapSlice{}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, yaml.MapItem{Key: name, Value: c.Env[name].Hidden().String()})
	}
	add("like", c.Like, c.Like != "")
	add("argv", c.Argv, len(c.Argv) > 0)
	add("env", env, true)
	add("prompt", string(c.Prompt), c.Prompt != "")
	add("markers", c.Markers, c.Markers != agent.Markers{})
	text, err := yaml.MarshalWithOptions(shown, yaml.Flow(true))
	if err != nil {
		panic("config: texts cannot be YAML: " + err.Error())
	}
	return string(text)
}
