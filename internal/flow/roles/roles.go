// Package roles defines the prompt and the agent for each role of a team, such as developer.
//
// A prompt is created from a Markdown template, which is part of the project or of gaffer. Many
// values of the template's variables come from users, agents and programs and are not trusted.
// Before such a value is inserted, it is cut to a maximum size, stripped of control characters, and
// put into a Markdown code block or inline code. The value cannot contain the delimiter that would
// end this code.
package roles

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/config"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
	"gaffer/statefile"
	"gaffer/team"
)

// folder is the name of the folder below a project's templates/ that has the templates for all
// roles.
const folder = "team"

// Set holds the settings and the templates of all roles.
type Set struct {
	roles     map[team.Role]config.Role
	templates map[string]prompt.Template
	rules     plan.Permissions // the user's rules for the permission requests of agents
}

// Load reads the settings of the roles from c, and the templates of the roles from subfolders of
// the folder whose path is the parameter templates. If the subfolders lack a template, Load uses
// gaffer's own template. An error names the file or the setting that is wrong.
func Load(c *config.Config, templates string) (Set, error) {
	rules, err := newrun.Permissions(c)
	if err != nil {
		return Set{}, err
	}
	s := Set{roles: map[team.Role]config.Role{}, templates: map[string]prompt.Template{}, rules: rules}
	for _, name := range config.TeamRoles() {
		if err := checkRole(c, name); err != nil {
			return Set{}, err
		}
		s.roles[team.Role(name)] = c.Role(name)
	}
	for _, u := range templateUses {
		folders, err := folders(c, u, templates)
		if err != nil {
			return Set{}, err
		}
		if s.templates[u.name], err = loadTemplate(u, folders); err != nil {
			return Set{}, err
		}
	}
	return s, nil
}

// Role returns the settings of a role.
func (s Set) Role(r team.Role) config.Role { return s.roles[r] }

// Template returns the prompt template for a purpose, such as a review, and false if the purpose
// has no template. The field Path of the template is empty if the template comes from gaffer and
// not from the project.
func (s Set) Template(p teamstate.Purpose) (prompt.Template, bool) {
	u, ok := useFor(p)
	return s.templates[u.name], ok
}

// folders returns the folders that may contain the template that u describes. If the settings of
// u's role name a folder for this role, it is the first. The last is the folder for all roles. A
// template in the first folder has precedence. folders returns an error if one of the folders
// contains a Markdown file whose name is not the name of a template.
func folders(c *config.Config, u templateUse, templates string) ([]string, error) {
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

// checkRole returns an error if the settings of a role contain an unknown agent, an invalid name of
// a template folder, or an invalid label.
func checkRole(c *config.Config, name string) error {
	r := c.Role(name)
	if err := checkAgent(c, r.Agent); err != nil {
		return withLocation(c, name, "agent", err, hintOf(r.Agent, agents(c)))
	}
	if err := statefile.CheckName("template", r.Template); err != nil {
		return withLocation(c, name, "template", err, "it is the name of a folder below templates/")
	}
	for _, label := range r.Labels {
		if strings.ContainsAny(label, "@,") {
			return withLocation(c, name, "labels", fmt.Errorf("found %q, want words without @ and commas", label), "")
		}
	}
	return nil
}

// agents returns the names of the agents that accept a prompt: all agents except the one that runs
// a command line.
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
	return "define your own agents under agents: in gaffer.yaml"
}

// withLocation adds to err the place where a role's setting is defined, for example the path of a
// file. The parameter key is the name of the setting, and next is advice for the user on how to
// correct it.
func withLocation(c *config.Config, role, key string, err error, next string) error {
	name := "team.roles." + role + "." + key
	v, lookupErr := c.Lookup(name)
	if lookupErr != nil {
		return errors.Join(err, lookupErr)
	}
	return &config.Error{Origin: v.Origin, Err: fmt.Errorf("%s: %w", name, err), Next: next}
}
