package plan

import (
	"fmt"
	"slices"

	"gaffer/internal/engine/permission"
)

// permissionKeys returns the keys of the section "permissions".
func permissionKeys() []keySpec[Permissions] {
	return []keySpec[Permissions]{
		newKey("allow", ruleList(), func(p *Permissions) *[]string { return &p.Allow },
			"requests that are allowed", `allow: ["Bash(go test:*)", "Edit(src/**)"]`),
		newKey("deny", ruleList(), func(p *Permissions) *[]string { return &p.Deny },
			"requests that are denied, whatever the other rules say", `deny: ["Bash(rm:*)", WebFetch]`),
		newKey("ask", ruleList(), func(p *Permissions) *[]string { return &p.Ask },
			"requests that the user decides, although a rule of allow names them", `ask: "Bash(git push:*)"`),
	}
}

// ruleList returns the type of a value that is one permission rule or a list of permission rules;
// see [Permissions].
func ruleList() valueType[[]string] {
	texts := textOrList()
	return valueType[[]string]{texts.schema, func(r *reporter, name string, n *node) ([]string, bool) {
		list, ok := texts.read(r, name, n)
		if !ok {
			return nil, false
		}
		for i, at := range n.positions() {
			if _, err := permission.Parse(list[i]); err != nil {
				r.report(at, "%s: %v", name, err)
				ok = false
			}
		}
		return list, ok
	}}
}

// permissionsKey returns the keySpec for a task's permission rules; the caller sets its name. A
// task starts with the rules of the section "defaults". The function read of the keySpec adds the
// task's own rules to them.
func permissionsKey() keySpec[Task] {
	f := nestedMapping("permissions", permissionKeys(), rejected)
	return keySpec[Task]{schema: f.schema, read: func(r *reporter, n *node, into *Task) {
		if p, ok := f.read(r, "permissions", n); ok {
			into.Permissions = into.Permissions.Add(p)
		}
	}}
}

// Add returns the rules of p, followed by the rules in more that p does not have.
func (p Permissions) Add(more Permissions) Permissions {
	join := func(list, more []string) []string {
		all := slices.Clone(list)
		for _, rule := range more {
			if !slices.Contains(all, rule) {
				all = append(all, rule)
			}
		}
		return all
	}
	return Permissions{Allow: join(p.Allow, more.Allow), Deny: join(p.Deny, more.Deny), Ask: join(p.Ask, more.Ask)}
}

// Empty reports whether p has no rules.
func (p Permissions) Empty() bool { return len(p.Allow)+len(p.Deny)+len(p.Ask) == 0 }

// Check returns an error if a text in p is not a valid rule.
func (p Permissions) Check() error {
	for name, list := range map[string][]string{"allow": p.Allow, "deny": p.Deny, "ask": p.Ask} {
		if _, err := permission.ParseAll(list); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// AddPermissions returns the plan with the rules added to its tasks; see [Task.AddPermissions].
func (p Plan) AddPermissions(rules Permissions) Plan {
	if rules.Empty() {
		return p
	}
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i] = p.Tasks[i].AddPermissions(rules)
	}
	return p
}

// AddPermissions returns the task with the rules added. It adds no rules to a task that runs a
// command, or that picks one of several agents' results: such a task never asks for permission.
func (t Task) AddPermissions(rules Permissions) Task {
	if len(t.Argv) == 0 && t.Agent != PickAgent {
		t.Permissions = t.Permissions.Add(rules)
	}
	return t
}
