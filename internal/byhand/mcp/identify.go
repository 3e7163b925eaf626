package mcp

import (
	"fmt"

	"gaffer/internal/byhand/caller"
)

// Identify returns the role and the attempt of the agent that uses the MCP server. The environment
// variable GAFFER_ROLE sets the role. If it is not set, the agent of an attempt has the role
// [Worker], and any other agent has the role [Person].
//
// The parameter named is the role on the command line. If it is not empty, it replaces this role.
// But if GAFFER_ROLE is set or the agent belongs to an attempt, named may only be the same role or
// [Reader]: for any other role, Identify returns an error.
func Identify(getenv func(string) string, named string) (Caller, error) {
	c := Caller{Role: Person, Attempt: getenv(caller.AttemptVar), Run: getenv(caller.RunVar), Task: getenv(caller.TaskVar)}
	if c.Attempt != "" {
		c.Role = Worker
	}
	given := getenv(caller.RoleVar)
	if given != "" {
		role, err := ParseRole(given)
		if err != nil {
			return c, fmt.Errorf("%s: %w", caller.RoleVar, err)
		}
		c.Role = role
	}
	if named == "" {
		return c, nil
	}
	role, err := ParseRole(named)
	if err != nil {
		return c, fmt.Errorf("--role: %w", err)
	}
	if bound := given != "" || c.Attempt != ""; bound && role != c.Role && role != Reader {
		return c, &RoleError{
			Problem: fmt.Sprintf("%s: this agent was started as %s", role, c.Role),
			Next:    "leave --role out, or use --role reader; a plan sets another with 'env: {GAFFER_ROLE: …}'",
		}
	}
	c.Role = role
	return c, nil
}
