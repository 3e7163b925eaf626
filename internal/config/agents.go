package config

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"gaffer/internal/agent"
)

// agentsKey is the section of gaffer.yaml about agents. Its keys are names that
// a person chooses, so they are not in the table.
const agentsKey = "agents"

// agents reads the section about agents. A project's agent takes the place of
// the user's of the same name as a whole.
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
	if err := yaml.NodeToValue(pair.Value, &custom, yaml.Strict()); err != nil {
		return r.fail(pair.Value.GetToken(), keyError{agentsKey + "." + name, firstLine(err)})
	}
	if _, err := agent.New(name, map[string]agent.Custom{name: custom}); err != nil {
		return r.fail(key, err)
	}
	r.values = append(r.values, Value{
		Key:  Key{Name: agentsKey + "." + name, Doc: "how the agent is started"},
		Text: strings.Join(strings.Fields(pair.Value.String()), " "), Source: r.at(key), agent: &custom,
	})
	return nil
}

// firstLine drops the excerpt of the file that the parser's errors end with: ours
// begin with the place.
func firstLine(err error) error {
	if s, ok := errors.AsType[syntaxError](err); ok {
		return errors.New(s.GetMessage())
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}
