// Package roles says what each role of a team is told, and by which agent it is
// played.
//
// What a role is told is a template: one of a project's, or gaffer's own. What
// is filled in comes from people, agents and programs. It is data: capped,
// without control characters, and in fences that it cannot close.
package roles

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/config"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
	"gaffer/statefile"
	"gaffer/team"
)

// folder is where a project's templates for teams are, below its templates.
const folder = "team"

// Set is what is known of every role.
type Set struct {
	roles     map[team.Role]config.Role
	templates map[string]prompt.Template
}

// Load takes what c says of the roles, and the templates from the folders below
// templates that it names. A mistake in any of them is an error that says where.
func Load(c *config.Config, templates string) (Set, error) {
	s := Set{roles: map[team.Role]config.Role{}, templates: map[string]prompt.Template{}}
	for _, name := range config.TeamRoles() {
		if err := checkRole(c, name); err != nil {
			return Set{}, err
		}
		s.roles[team.Role(name)] = c.Role(name)
	}
	for _, u := range uses {
		folders, err := folders(c, u, templates)
		if err != nil {
			return Set{}, err
		}
		if s.templates[u.name], err = template(u, folders); err != nil {
			return Set{}, err
		}
	}
	return s, nil
}

// Role is what is set for a role.
func (s Set) Role(r team.Role) config.Role { return s.roles[r] }

// Template is what the role of a purpose is told, before it is filled in. The
// path of gaffer's own is empty.
func (s Set) Template(p teamstate.Purpose) (prompt.Template, bool) {
	u, ok := useFor(p)
	return s.templates[u.name], ok
}

// folders are where the template for a use may be, the first to look in first.
func folders(c *config.Config, u use, templates string) ([]string, error) {
	var list []string
	if own := c.Role(string(u.role)).Template; own != folder {
		list = append(list, filepath.Join(templates, own))
	}
	list = append(list, filepath.Join(templates, folder))
	for _, dir := range list {
		if err := checkFolder(dir); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// checkRole refuses what no single key can tell: an agent that nobody knows, a
// folder without templates, a label that is none.
func checkRole(c *config.Config, name string) error {
	r := c.Role(name)
	if err := checkAgent(c, r.Agent); err != nil {
		return at(c, name, "agent", err, hintOf(r.Agent, agents(c)))
	}
	if err := statefile.CheckName("template", r.Template); err != nil {
		return at(c, name, "template", err, "it is the name of a folder below templates/")
	}
	for _, label := range r.Labels {
		if strings.ContainsAny(label, "@,") {
			return at(c, name, "labels", fmt.Errorf("found %q, want words without @ and commas", label), "")
		}
	}
	return nil
}

// agents are those that take a prompt. A command has one of its own.
func agents(c *config.Config) []string {
	known := slices.DeleteFunc(plan.Agents(), func(n string) bool { return n == plan.CommandAgent })
	for name := range c.Agents() {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return known
}

func checkAgent(c *config.Config, name string) error {
	if known := agents(c); !slices.Contains(known, name) {
		return fmt.Errorf("no agent is called %q, want one of %s", name, strings.Join(known, ", "))
	}
	return nil
}

func hintOf(name string, known []string) string {
	if near := suggest.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "agents of your own stand under agents: in gaffer.yaml"
}

// at says where the setting stands that an error is about.
func at(c *config.Config, role, key string, err error, next string) error {
	name := "team.roles." + role + "." + key
	v, lookupErr := c.Lookup(name)
	if lookupErr != nil {
		return errors.Join(err, lookupErr)
	}
	return &config.Error{Source: v.Source, Err: fmt.Errorf("%s: %w", name, err), Next: next}
}
