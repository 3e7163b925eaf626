package hook

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/engine/permission"
)

// byRules decides a request for permission by two kinds of rules: those in the user's settings, and
// those that the user has made with answers that always hold ('gaffer answer --for always'). If no
// rule allows or denies the request, the outcome is [permission.Asked]: only the user can decide.
// The outcome is also Asked if a rule cannot be read, because this rule might deny the request.
func (c *call) byRules(ctx context.Context, f openfleet.Fleet) permission.Decision {
	ask := permission.Decision{Outcome: permission.Asked}
	if c.Event.Tool == "" || c.Event.Tool == questionTool {
		return ask
	}
	config, err := c.Config()
	if err != nil {
		return ask
	}
	var rules permission.Rules
	for key, list := range map[string]*[]permission.Rule{"permissions.allow": &rules.Allow, "permissions.deny": &rules.Deny, "permissions.ask": &rules.Ask} {
		if *list, err = permission.ParseAll(config.List(key)); err != nil {
			return ask
		}
	}
	grants, err := f.Grants(ctx)
	if err != nil {
		return ask
	}
	for _, g := range grants {
		if g.Scope != fleet.GrantAlways {
			continue
		}
		r, err := permission.Parse(g.Rule)
		if err != nil {
			return ask
		}
		if r.Grant = true; g.Deny {
			rules.Deny = append(rules.Deny, r)
		} else {
			rules.Allow = append(rules.Allow, r)
		}
	}
	return permission.Decide(permission.AskUser, rules, permission.Call{Tool: c.Event.Tool, Input: c.Raw.Get("tool_input").Raw(), Dir: c.Raw.Get("cwd").Text()})
}

// ruleAnswer returns the answer's text for a decision by a rule: Allow, or the reason to deny.
func ruleAnswer(d permission.Decision) string {
	if d.Outcome == permission.Allowed {
		return allow
	}
	return d.Reason()
}
