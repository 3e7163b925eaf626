package mcp

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/text/suggest"
	"gaffer/team"
)

// Role says who calls a tool of the MCP server. It determines which tools the caller may use.
type Role string

// The roles.
const (
	Person    Role = "person" // the agent that the user works with, outside of all runs
	Worker    Role = "worker" // the agent of a task that gaffer runs
	Reader    Role = "reader"
	PM        Role = Role(team.PM)
	Developer Role = Role(team.Developer)
	QAExpert  Role = Role(team.QAExpert)
	TechLead  Role = Role(team.TechLead)
)

// Roles returns all roles.
func Roles() []Role { return []Role{Person, Worker, PM, Developer, QAExpert, TechLead, Reader} }

// right is a permission to use some of the tools. The map rights says which role has which rights.
type right string

const (
	rightRead   right = "look"
	rightNote   right = "leave something for others"
	rightSteps  right = "work on the steps of the workflow"
	rightTake   right = "take work from the inbox"
	rightSend   right = "send messages in the team"
	rightSubmit right = "submit a plan"
)

var rights = map[Role][]right{
	Person:    {rightRead, rightNote, rightSteps, rightTake, rightSend, rightSubmit},
	Worker:    {rightRead, rightNote, rightSteps, rightTake},
	PM:        {rightRead, rightNote, rightTake, rightSubmit},
	Developer: {rightRead, rightNote, rightSend},
	QAExpert:  {rightRead, rightNote, rightSend},
	TechLead:  {rightRead, rightNote, rightSend},
	Reader:    {rightRead},
}

// Caller says who uses the MCP server: the role of the client and, if gaffer runs the client, its
// attempt, run and task.
type Caller struct {
	Role      Role
	Attempt   string
	Run, Task string
}

// refusal returns an error if the caller may not use a tool.
func (c Caller) refusal(t tool) error {
	switch {
	case t.need == rightSubmit && c.Attempt != "":
		return &RefusedError{
			Role: c.Role, Tool: t.def.Name,
			Why:  "what the agent of a task starts would end with it",
			Next: "say in your answer what should be run; the user who runs you can submit it",
		}
	case slices.Contains(rights[c.Role], t.need):
		return nil
	}
	return &RefusedError{Role: c.Role, Tool: t.def.Name, Why: fmt.Sprintf("only %s may %s", orList(rolesWith(t.need)), t.need), Next: hintFor(c.Role, t.need)}
}

func rolesWith(need right) (roles []string) {
	for _, r := range Roles() {
		if slices.Contains(rights[r], need) {
			roles = append(roles, string(r))
		}
	}
	return roles
}

func hintFor(r Role, need right) string {
	switch {
	case r == Reader:
		return "go on without it: this server was started only to look"
	case r == Worker && need == rightSend:
		return "a plan makes a task one of the team with 'env: {GAFFER_ROLE: developer}'"
	}
	return "leave it to them: say in your answer what you would have done"
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// RefusedError reports that the caller may not use a tool, or may not use it in this way.
type RefusedError struct {
	Role      Role
	Tool      string
	Why, Next string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("role %s may not use %s: %s", e.Role, e.Tool, e.Why)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *RefusedError) Conflict() bool { return true }

// Hint returns advice for the agent.
func (e *RefusedError) Hint() string { return e.Next }

// RoleError reports that a role is missing or does not exist, or that the caller may not take it.
type RoleError struct{ Problem, Next string }

func (e *RoleError) Error() string { return "role " + e.Problem }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *RoleError) Usage() bool { return true }

// Hint returns advice for the user or the agent.
func (e *RoleError) Hint() string { return e.Next }

// ParseRole returns the role with this name, or a [*RoleError].
func ParseRole(name string) (Role, error) {
	if slices.Contains(Roles(), Role(name)) {
		return Role(name), nil
	}
	var words []string
	for _, r := range Roles() {
		words = append(words, string(r))
	}
	e := &RoleError{Problem: fmt.Sprintf("%.60q: want %s", name, orList(words))}
	if near := suggest.Nearest(name, words); near != "" {
		e.Next = fmt.Sprintf("did you mean %q?", near)
	}
	return "", e
}
