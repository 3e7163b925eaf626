package fleet

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reply is a user's answer to the question of an agent. The question may be a request for
// permission.
type Reply struct {
	Text  string     `json:"text"`
	Deny  bool       `json:"deny,omitempty"`  // deny the request for permission, with Text as the reason
	Scope GrantScope `json:"scope,omitempty"` // which later requests the answer also decides; empty means GrantOnce: none
	// Rule is the permission rule, such as "Bash(go test:*)", that decides later requests within
	// Scope. Empty means the first rule in Question.Suggestions.
	Rule string `json:"rule,omitempty"`
}

// Lasting reports whether the answer also decides later requests for permission.
func (r Reply) Lasting() bool { return r.Scope != "" && r.Scope != GrantOnce }

// GrantScopes returns all values of GrantScope, from the narrowest to the widest.
func GrantScopes() []GrantScope { return []GrantScope{GrantOnce, GrantTask, GrantRun, GrantAlways} }

// Phrase returns the scope as a phrase for the user, such as "for this run".
func (s GrantScope) Phrase() string {
	switch s {
	case GrantTask:
		return "for this task"
	case GrantRun:
		return "for this run"
	case GrantAlways:
		return "always"
	}
	return "once"
}

// Scopes returns the scopes that the user can choose for an answer that also decides later requests
// for permission. It returns nil if no such answer is possible, because the question is not a
// request for permission, has no suggested permission rules, or belongs to no run.
func (q Question) Scopes() []GrantScope {
	if q.Tool == "" || len(q.Suggestions) == 0 || q.Run == "" {
		return nil
	}
	return []GrantScope{GrantTask, GrantRun, GrantAlways}
}

// Choice is a numbered answer that user interfaces offer for a question.
type Choice struct {
	Text  string // what user interfaces show
	Reply Reply
}

// Choices returns the answers that user interfaces offer for the question, in the order of their
// numbers. The options of the question come first. If [Question.Scopes] returns scopes, answers
// follow that also allow later requests: one for each scope with the narrowest suggested rule, and
// then one for each scope with the widest, if that is a different rule.
func (q Question) Choices() (list []Choice) {
	for _, option := range q.Options {
		list = append(list, Choice{option, Reply{Text: option}})
	}
	scopes := q.Scopes()
	if len(scopes) == 0 {
		return list
	}
	for _, rule := range slices.Compact([]string{q.Suggestions[0], q.Suggestions[len(q.Suggestions)-1]}) {
		for _, scope := range scopes {
			what := "allow " + scope.Phrase()
			if scope == GrantAlways {
				what = "always allow"
			}
			list = append(list, Choice{what + ": " + rule, Reply{Text: "allow", Scope: scope, Rule: rule}})
		}
	}
	return list
}

// Reply converts the text that a user has typed into an answer, like [Question.Choose]. But a
// number selects one of the answers that [Question.Choices] returns.
func (q Question) Reply(typed string) (Reply, error) {
	choices := q.Choices()
	if n, err := strconv.Atoi(typed); err == nil && n > len(q.Options) && n <= len(choices) && !slices.Contains(q.Options, typed) {
		return choices[n-1].Reply, nil
	}
	text, err := q.Choose(typed)
	if none, ok := errors.AsType[*NoOptionError](err); ok {
		err = &NoOptionError{Number: none.Number, Options: len(choices)}
	}
	return Reply{Text: text}, err
}

// Grants reports whether text, as the answer to a request for permission, allows or denies the
// request. If text means neither yes nor no, both results are false.
func Grants(text string) (allows, denies bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "allow", "yes", "y", "ok", "accept":
		return true, false
	case "deny", "no", "n", "decline":
		return false, true
	}
	return false, false
}

// PermissionQuery selects requests of agents for permission.
type PermissionQuery struct {
	Project string    // path or name of the project whose requests are counted; empty means all projects
	Since   time.Time // count only requests since this time; zero means all
}

// PermissionRequest counts similar requests of agents for permission: those whose last suggested
// rule, normally the widest one, is the same.
type PermissionRequest struct {
	// Rule is the last suggested rule, which would allow all these requests. If no rule was
	// suggested, Rule is the name of the tool that the agent asked permission for.
	Rule    string             `json:"rule"`
	Tool    string             `json:"tool"`
	Example string             `json:"example"` // text of the latest request
	Asked   int                `json:"asked"`   // number of requests
	Allowed int                `json:"allowed"`
	Denied  int                `json:"denied"`
	Open    int                `json:"open,omitempty"` // number of requests that wait for an answer
	By      []PermissionAnswer `json:"by"`             // who answered how many of the requests, the largest number first
	Last    time.Time          `json:"last"`           // when the latest request was made
	Runs    []string           `json:"runs"`           // ids of the runs whose agents asked, the latest run first
}

// PermissionAnswer says how many requests for permission were allowed and denied by the same user,
// rule or policy.
type PermissionAnswer struct {
	By      string `json:"by"` // who answered, as in Answered.By
	Allowed int    `json:"allowed,omitempty"`
	Denied  int    `json:"denied,omitempty"`
}
