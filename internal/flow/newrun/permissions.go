package newrun

import (
	"fmt"

	"gaffer/internal/config"
	"gaffer/internal/plan"
)

// Permissions returns the permission rules in the user's settings. These rules apply to the tasks
// of every run that the user starts.
func Permissions(c *config.Config) (plan.Permissions, error) {
	p := plan.Permissions{Allow: c.List("permissions.allow"), Deny: c.List("permissions.deny"), Ask: c.List("permissions.ask")}
	if err := p.Check(); err != nil {
		return plan.Permissions{}, &UsageError{fmt.Errorf("setting permissions.%w", err), "'gaffer config' shows where it is set"}
	}
	return p, nil
}
