package fleet

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reply is a user's answer to a question.
type Reply struct {
	Text  string     `json:"text"`
	Deny  bool       `json:"deny,omitempty"`  // the answer denies the request for permission; Text is the reason
	Scope GrantScope `json:"scope,omitempty"` // for how long the answer holds; empty means GrantOnce
	Rule  string     `json:"rule,omitempty"`  // the rule that also decides later requests within Scope; empty means the question's first suggestion
}

// Lasting reports whether the answer also holds for later requests.
func (r Reply) Lasting() bool { return r.Scope != "" && r.Scope != GrantOnce }

// GrantScopes returns the scopes, from the shortest to the longest.
func GrantScopes() []GrantScope { return []GrantScope{GrantOnce, GrantTask, GrantRun, GrantAlways} }

// Phrase returns the scope as a part of a sentence, such as "for this run".
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

// Scopes returns the scopes that a lasting answer to the question can have. It returns nil if the
// agent does not ask for a permission or belongs to no run, or if the question suggests no rules.
func (q Question) Scopes() []GrantScope {
	if q.Tool == "" || len(q.Suggestions) == 0 || q.Run == "" {
		return nil
	}
	return []GrantScope{GrantTask, GrantRun, GrantAlways}
}

// Choice is a numbered answer that views offer for a question.
type Choice struct {
	Text  string // what views show
	Reply Reply
}

// Choices returns the answers that views offer, in the order of their numbers. They begin with the
// question's options. For a request for permission, answers follow that also hold for later
// requests, with the narrowest and the widest of the suggested rules.
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

// Reply returns the answer that the typed text stands for, by the rules of [Question.Choose]. A
// number stands for one of the [Question.Choices].
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

// Grants reports whether text, as the answer to a request for permission, allows the request or
// denies it.
func Grants(text string) (allows, denies bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "allow", "yes", "y", "ok", "accept":
		return true, false
	case "deny", "no", "n", "decline":
		return false, true
	}
	return false, false
}

// PermissionQuery selects requests for permission.
type PermissionQuery struct {
	Project string    // path or name of the project whose requests are counted; empty means all projects
	Since   time.Time // only requests that were made at this time or later; zero means all
}

// PermissionRequest counts the requests for permission that have the same widest suggested rule.
type PermissionRequest struct {
	Rule    string             `json:"rule"` // the rule that would answer all these requests; the name of the tool if no rule was suggested
	Tool    string             `json:"tool"`
	Example string             `json:"example"` // the text of the last request
	Asked   int                `json:"asked"`   // number of requests
	Allowed int                `json:"allowed"`
	Denied  int                `json:"denied"`
	Open    int                `json:"open,omitempty"` // requests that wait for an answer
	By      []PermissionAnswer `json:"by"`             // who answered how many of the requests, the most frequent first
	Last    time.Time          `json:"last"`           // when the last request was made
	Runs    []string           `json:"runs"`           // ids of the runs whose agents asked, the latest first
}

// PermissionAnswer says how often a user, a rule, a grant or the plan's policy has answered requests.
type PermissionAnswer struct {
	By      string `json:"by"` // name of the user, "rule RULE", "grant RULE" or "policy POLICY"; [AnsweredByDeadline] if the time to answer had passed
	Allowed int    `json:"allowed,omitempty"`
	Denied  int    `json:"denied,omitempty"`
}
