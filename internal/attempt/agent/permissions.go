package agent

import (
	"slices"
	"strings"

	"gaffer/internal/engine/permission"
)

// Permissions are rules for an agent's requests for permission, in the syntax of package
// permission. The rules come from the plan and from users who made rules when they answered
// questions.
type Permissions struct {
	Allow []string `json:",omitempty"`
	Deny  []string `json:",omitempty"`
	Ask   []string `json:",omitempty"`
}

// restricts reports whether p has rules that forbid requests or leave them to the user.
func (p Permissions) restricts() bool { return len(p.Deny)+len(p.Ask) > 0 }

// asks reports whether the agent's requests for permission are passed to gaffer's engine, where
// rules or the user decide. If not, the adapter itself allows all requests or denies all requests.
func (r Request) asks() bool {
	switch r.Policy {
	case Deny:
		return false
	case Allow:
		return r.Permissions.restricts()
	}
	return true
}

// allowsAll reports whether the agent may do everything without asking for permission.
func (r Request) allowsAll() bool { return r.Policy == Allow && !r.Permissions.restricts() }

// programRules are the rules that gaffer passes to Claude Code as arguments. Claude Code enforces
// them itself.
type programRules struct{ allow, deny []string }

// programRules returns the rules of the request that Claude Code can enforce itself. It returns no
// rules if the policy denies all requests.
//
// Claude Code itself must not allow calls that another rule may forbid or leave to the user. So an
// allow rule is left out if another rule asks the user about the same tool, or if a deny rule for
// the same tool cannot be an argument of Claude Code. Claude Code then passes requests for that
// tool to gaffer, which applies all rules. Allow rules for the agent's questions to the user are
// left out too.
func (r Request) programRules() (rules programRules) {
	if r.Policy == Deny {
		return rules
	}
	for _, text := range r.Permissions.Deny {
		if isPlainRule(text) {
			rules.deny = append(rules.deny, text)
		}
	}
	for _, text := range r.Permissions.Allow {
		if isPlainRule(text) && toolOf(text) != permission.UserQuestion && r.programMayAllow(text) {
			rules.allow = append(rules.allow, text)
		}
	}
	return rules
}

// programMayAllow reports whether Claude Code itself may allow the calls that match the parameter
// rule, without a request to gaffer.
func (r Request) programMayAllow(rule string) bool {
	concerns := func(text string) bool { return sameTool(rule, text) }
	return !slices.ContainsFunc(r.Permissions.Ask, concerns) &&
		!slices.ContainsFunc(r.Permissions.Deny, func(text string) bool { return concerns(text) && !isPlainRule(text) })
}

// sameTool reports whether two rules may be about the same tool call. The shell and the tools for
// files count as one tool, because a shell command can also read and change files. All tools of an
// MCP server count as one tool, because a rule may name the whole server.
func sameTool(a, b string) bool {
	kind := func(text string) string {
		switch tool := toolOf(text); tool {
		case "Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Grep", "Glob", "LS", "Bash", "":
			return "files"
		default:
			server, _, _ := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__")
			return server
		}
	}
	return kind(a) == kind(b)
}

func toolOf(rule string) string {
	parsed, err := permission.Parse(rule)
	if err != nil {
		return ""
	}
	tool, _ := parsed.Tool()
	return tool
}

// isPlainRule reports whether a rule can be an argument of Claude Code. The pattern of a rule, such
// as "go test:*" in "Bash(go test:*)", must not contain a newline or parentheses. Claude Code
// splits a list of rules at blanks and commas outside of parentheses, so it could split a pattern
// with parentheses in the wrong place.
func isPlainRule(text string) bool {
	r, err := permission.Parse(text)
	if err != nil {
		return false
	}
	_, pattern := r.Tool()
	return !strings.ContainsAny(pattern, "()\n")
}

// suggestion is a change of the permission settings that Claude Code suggests, together with
// gaffer's rule that has the same meaning.
type suggestion struct {
	rule   string
	update object
}

// claudeUpdate is a change of the permission settings in Claude Code's JSON format.
type claudeUpdate struct {
	Type        string       `json:"type"`
	Rules       []claudeRule `json:"rules"`
	Behavior    string       `json:"behavior"`
	Mode        string       `json:"mode"`
	Directories []string     `json:"directories"`
}

type claudeRule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// forSession is the value of "destination" in a permission change that Claude Code keeps only until
// it exits. With other destinations, Claude Code writes the change to a settings file.
const forSession = "session"

// suggestionsFor converts the permission changes that Claude Code suggests for a call of a tool. It
// leaves out changes for which gaffer has no rule with the same meaning, for example a change that
// adds a deny rule.
func suggestionsFor(tool string, updates []claudeUpdate) (list []suggestion) {
	for _, u := range updates {
		switch u.Type {
		case "addRules":
			for _, r := range u.Rules {
				if u.Behavior == "allow" {
					list = append(list, suggestion{r.text(), addRule(r)})
				}
			}
		case "setMode":
			if u.Mode == "acceptEdits" {
				list = append(list, suggestion{"Edit(**)", object{"type": "setMode", "mode": u.Mode, "destination": forSession}})
			}
		case "addDirectories":
			for _, dir := range u.Directories {
				kind := "Edit"
				if tool == "Read" || tool == "Grep" || tool == "Glob" {
					kind = "Read"
				}
				if strings.HasPrefix(dir, "/") {
					list = append(list, suggestion{kind + "(/" + strings.TrimSuffix(dir, "/") + "/**)", object{"type": "addDirectories", "directories": []string{dir}, "destination": forSession}})
				}
			}
		}
	}
	return list
}

func (r claudeRule) text() string {
	if r.Content == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Content + ")"
}

func addRule(r claudeRule) object {
	return object{"type": "addRules", "rules": []claudeRule{r}, "behavior": "allow", "destination": forSession}
}

// updatesFor returns the permission changes that make Claude Code remember a rule until it exits.
// If Claude Code itself has suggested a change with this meaning, updatesFor returns that change.
func updatesFor(rule string, suggested []suggestion) []object {
	for _, s := range suggested {
		if s.rule == rule {
			return []object{s.update}
		}
	}
	parsed, err := permission.Parse(rule)
	if err != nil {
		return nil
	}
	tool, content := parsed.Tool()
	return []object{addRule(claudeRule{tool, content})}
}
