package agent

import (
	"slices"
	"strings"

	"gaffer/internal/engine/permission"
)

// Permissions are rules for an agent's requests for permission, in the syntax of package permission.
// The rules come from the plan and from users who made rules when they answered questions.
type Permissions struct {
	Allow []string `json:",omitempty"`
	Deny  []string `json:",omitempty"`
	Ask   []string `json:",omitempty"`
}

// restricts reports whether p has rules that forbid requests or leave them to the user.
func (p Permissions) restricts() bool { return len(p.Deny)+len(p.Ask) > 0 }

// asks reports whether the agent's requests for permission are passed to gaffer's engine, where rules
// or the user decide them. If not, the adapter itself allows all of them or denies all of them.
func (r Request) asks() bool {
	switch r.Policy {
	case Deny:
		return false
	case Allow:
		return r.Permissions.restricts()
	}
	return true
}

// allowsAll reports whether the agent may do everything without a request.
func (r Request) allowsAll() bool { return r.Policy == Allow && !r.Permissions.restricts() }

// programRules are the rules that Claude Code can take at its start, and enforce itself.
type programRules struct{ allow, deny []string }

// programRules returns the rules of the request that Claude Code can take, or none if the policy
// denies all requests. It leaves out an allow rule if another rule for the same tool asks the user,
// or denies calls but cannot be an argument of Claude Code. Claude Code then passes all requests
// for that tool to gaffer, which applies both rules.
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

// programMayAllow reports whether the program itself may allow the calls that rule names, without a
// request to gaffer.
func (r Request) programMayAllow(rule string) bool {
	concerns := func(text string) bool { return sameTool(rule, text) }
	return !slices.ContainsFunc(r.Permissions.Ask, concerns) &&
		!slices.ContainsFunc(r.Permissions.Deny, func(text string) bool { return concerns(text) && !isPlainRule(text) })
}

// sameTool reports whether both rules may name the same call. A shell command can read and change
// files, so rules for files concern it too. All tools of an MCP server count as one tool, because a
// rule may name the whole server.
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

// isPlainRule reports whether a rule can be an argument of Claude Code. Claude Code splits a list
// of rules at blanks and commas outside of parentheses, so a pattern that itself contains
// parentheses could be split in the wrong place.
func isPlainRule(text string) bool {
	r, err := permission.Parse(text)
	if err != nil {
		return false
	}
	_, pattern := r.Tool()
	return !strings.ContainsAny(pattern, "()\n")
}

// suggestion is a change of its permissions that Claude Code suggests, together with gaffer's rule
// that has the same meaning.
type suggestion struct {
	rule   string
	update object
}

// claudeUpdate is a change of permissions as Claude Code writes it.
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

// forSession is the destination of a rule that the program forgets when it ends. Rules with other
// destinations change files of the user or of the project.
const forSession = "session"

// suggestionsFor converts the changes of permissions that Claude Code suggests for a call of a
// tool. It leaves out changes that are not equivalent to a rule that allows calls.
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

// updatesFor returns the changes of permissions that make Claude Code remember a rule until it
// exits. If one of the suggestions for the call has this rule, updatesFor returns the change that
// Claude Code suggested.
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
