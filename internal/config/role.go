package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gaffer/internal/text/suggest"
)

// rolesKey is the name of the section that configures the roles in a team of agents, such as
// developer. It has one section for each role, with the keys that [RoleKeys] returns.
const rolesKey = "team.roles"

// TeamRoles returns the names of the roles in a team of agents, as the team protocol spells them.
func TeamRoles() []string { return []string{"pm", "developer", "qa_expert", "tech_lead"} }

// Role holds the settings of one role in a team of agents.
type Role struct {
	Agent        string
	Model        string // name of the model; empty means the agent's default
	Stronger     string // name of the model after the team has asked for a stronger one; empty means Model
	Template     string // name of the folder below templates/ that has the role's prompt templates
	Timeout      time.Duration
	StallTimeout time.Duration
	Retries      int
	Questions    string
	Labels       []string
}

// roleTimeouts maps each role to the default limit for the working time of one attempt.
var roleTimeouts = map[string]string{"pm": "30m", "developer": "2h", "qa_expert": "1h", "tech_lead": "1h"}

// RoleKeys returns the keys that configure the given role of a team.
func RoleKeys(role string) []Key {
	list := []Key{
		{Name: "agent", Kind: Text, Default: "claude", Doc: "the agent that plays the role", Example: "codex"},
		{Name: "model", Kind: Text, Doc: "its model; nothing is the agent's own choice, and so is an agent set in a stronger place without one", Example: "opus"},
		{Name: "stronger_model", Kind: Text, Doc: "its model once the team has asked for a stronger one; nothing is no change", Example: "opus"},
		{Name: "template", Kind: Text, Default: "team", Doc: "the folder below templates/ whose prompts it is given before gaffer's own", Example: "strict-team"},
		{Name: "timeout", Kind: Duration, Default: roleTimeouts[role], Doc: "how long the agent may work in one attempt; 0s is no limit", Example: "45m"},
		{Name: "stall_timeout", Kind: Duration, Default: "30m", Doc: "how long it may be without a sign of progress; 0s is no limit", Example: "10m"},
		{Name: "retries", Kind: Number, Max: 100, Default: "2", Doc: "attempts after the first, if one fails", Example: "1"},
		{
			Name: "questions", Kind: Choice, Default: "ask", Choices: []string{"ask", "rules", "deny", "allow"},
			Doc: "what becomes of its questions and requests for permission", Example: "allow",
		},
		{Name: "labels", Kind: List, Default: "[]", Doc: "what a worker must have to run it", Example: `["gpu"]`},
	}
	for i := range list {
		list[i].Name = rolesKey + "." + role + "." + list[i].Name
	}
	return list
}

// roleKeys returns the keys that configure all roles of a team.
func roleKeys() (all []Key) {
	for _, role := range TeamRoles() {
		all = append(all, RoleKeys(role)...)
	}
	return all
}

func isRoleKey(name string) bool { return strings.HasPrefix(name, rolesKey+".") }

// Role returns the settings of the given role. It panics if [TeamRoles] does not contain the role.
func (c *Config) Role(role string) Role {
	at := rolesKey + "." + role + "."
	r := Role{
		Agent: c.mustGet(at+"agent", Text), Model: c.mustGet(at+"model", Text), Stronger: c.mustGet(at+"stronger_model", Text), Template: c.mustGet(at+"template", Text),
		Timeout: c.Duration(at + "timeout"), StallTimeout: c.Duration(at + "stall_timeout"), Retries: c.Number(at + "retries"),
		Questions: c.Choice(at + "questions"), Labels: c.List(at + "labels"),
	}
	// Ignore the model if it comes from a source with lower precedence than the agent. Such a model
	// was chosen for another agent, and this agent may not know it.
	if c.values[at+"model"].layer < c.values[at+"agent"].layer {
		r.Model = ""
	}
	if c.values[at+"stronger_model"].layer < c.values[at+"agent"].layer {
		r.Stronger = ""
	}
	return r
}

// WithRoles returns a copy of the configuration, to which it adds the settings of roles in the file
// at path. The file has the same format as the section team.roles. Its settings override those from
// all other sources except flags.
func (c *Config) WithRoles(path string) (*Config, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, &Error{Origin: Origin{File: path}, Err: err}
	}
	values, err := parseBelow(rolesKey, path, data)
	if err != nil {
		return nil, err
	}
	merged := *c
	merged.values = maps.Clone(c.values)
	merged.add(rolesLayer, values)
	return &merged, nil
}

// roleHint returns a hint for an unknown key in the section team.roles. If the role in name is
// unknown, the hint lists the roles. Otherwise it names the most similar key of the role or, if no
// key is similar, all keys of the role.
func roleHint(name string) string {
	role, key, _ := strings.Cut(strings.TrimPrefix(name, rolesKey+"."), ".")
	if !slices.Contains(TeamRoles(), role) {
		return "the roles are " + strings.Join(TeamRoles(), ", ")
	}
	var keys []string
	for _, k := range RoleKeys(role) {
		keys = append(keys, k.Name[strings.LastIndexByte(k.Name, '.')+1:])
	}
	if near := suggest.Nearest(key, keys); near != "" {
		return fmt.Sprintf("did you mean %q?", rolesKey+"."+role+"."+near)
	}
	return "a role has " + strings.Join(keys, ", ")
}

// list reads the setting from n, the YAML sequence that is the value of the key with this name. It
// returns an error if an item is not a scalar.
func (r *reader) list(name string, n *ast.SequenceNode) error {
	texts := make([]string, len(n.Values))
	for i, item := range n.Values {
		scalar, ok := item.(ast.ScalarNode)
		switch item.(type) {
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			ok = false
		}
		if !ok || item.Type() == ast.NullType {
			return r.fail(item.GetToken(), keyError{name, &shapeError{shape(item), "one text for each item"}})
		}
		texts[i] = text(scalar)
	}
	v, err := newValue(name, joinList(texts), r.at(n.GetToken()))
	if err != nil {
		return err
	}
	r.values = append(r.values, v)
	return nil
}
