package mcp

import (
	"fmt"

	"gaffer/internal/byhand/caller"
)

// Identify returns the caller's role and attempt. The environment variable GAFFER_ROLE sets the
// role. Without it, the agent of an attempt is a [Worker], and any other agent is a [Person].
//
// named is the role on the command line. If it is not empty, it replaces the caller's role. But if
// GAFFER_ROLE is set or the agent belongs to an attempt, named must be equal to the caller's role
// or be [Reader]. Any other role is an error.
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
