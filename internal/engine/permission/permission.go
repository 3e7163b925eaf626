// Package permission decides an agent's requests for permission by rules. A rule is a text in the
// syntax of Claude Code: the name of a tool, or a tool with a pattern, as in "Bash(go test:*)".
//
// The package is pure: it reads no files and starts no programs. It parses a shell command and
// judges each of its parts, such as the commands before and after a pipe. A deny rule that matches
// one part denies the whole command. The command is allowed if an allow rule has its exact text or
// is for all calls of the tool, or if each part is matched by an allow rule. A script inside an
// argument, such as rm x in sh -c 'rm x', needs no allow rule of its own: a rule that allows the
// command sh with this argument is enough. Deny rules apply to such a script too.
//
// A command that cannot be parsed is allowed only by a rule with its exact text, by a rule for all
// calls of the tool, or by the policy.
package permission

import (
	"encoding/json"
	"slices"
	"strings"
)

// Policy says what happens to requests that no rule decides. The policy DenyAll is an exception: it
// denies all requests, even those that a rule allows.
type Policy string

// The values of Policy. They are the values of the plan's key "questions".
const (
	AskUser     Policy = "ask"   // the user decides a request that no rule decides
	RulesOnly   Policy = "rules" // a request that no rule decides is denied
	AllowOthers Policy = "allow" // a request that no rule decides is allowed
	DenyAll     Policy = "deny"  // every request is denied, whatever the rules say
)

// UserQuestion is used in rules in place of the name of a tool. A rule with this name applies to
// agents' questions to the user that are not about a tool call.
const UserQuestion = "AskUserQuestion"

// Call is a tool call that an agent asks permission for.
type Call struct {
	Tool  string          // empty for a question to the user that is not about a tool
	Input json.RawMessage // the input of the tool, a JSON object
	Dir   string          // absolute path of the agent's work folder; empty if unknown
}

// Rules are the permission rules for an agent: rules that allow a call, rules that deny it, and
// rules that ask the user about it.
type Rules struct{ Allow, Deny, Ask []Rule }

// Outcome is what happens to a request.
type Outcome string

// The values of Outcome.
const (
	Allowed Outcome = "allow"
	Denied  Outcome = "deny"
	Asked   Outcome = "ask" // the user decides
)

// Decision is the outcome for one call, and what has decided it.
type Decision struct {
	Outcome Outcome
	Rules   []Rule // the rules that decided; empty if the policy decided
	// Unclear is set if the call was denied although Decide cannot find out whether the deny rule
	// in Rules matches a part of the call.
	Unclear bool
}

// Decide returns the outcome for a call. The policy DenyAll denies every call, whatever the rules
// say. With any other policy, deny rules come first, then ask rules, then allow rules. If no rule
// decides, the policy does.
//
// A grant is a rule that the user has made by answering an earlier question. A grant that allows
// the call takes precedence over an ask rule if the grant is at least as narrow as the ask rule.
// Then the user is not asked again.
//
// It may be unclear whether a deny or ask rule matches the call, for example because the shell
// computes a word of the command. In that case, an allow rule allows the call only if it has the
// exact text of the command.
func Decide(policy Policy, rules Rules, call Call) Decision {
	if policy == DenyAll {
		return Decision{Outcome: Denied}
	}
	req := analyse(call)
	for _, r := range rules.Deny {
		if req.named(r) == yes {
			return Decision{Outcome: Denied, Rules: []Rule{r}}
		}
	}
	unclear := func(list []Rule) int {
		return slices.IndexFunc(list, func(r Rule) bool { return req.named(r) == maybe })
	}
	for _, r := range rules.Ask {
		if req.named(r) == yes && !req.answeredByGrant(rules.Allow, r) {
			return Decision{Outcome: Asked, Rules: []Rule{r}}
		}
	}
	maybeDenied, maybeAsked := unclear(rules.Deny), unclear(rules.Ask)
	used, exact := req.covered(rules.Allow)
	if len(used) > 0 && (exact || maybeDenied < 0 && maybeAsked < 0) {
		return Decision{Outcome: Allowed, Rules: used}
	}
	switch {
	case policy == AllowOthers && maybeDenied >= 0:
		return Decision{Outcome: Denied, Rules: rules.Deny[maybeDenied : maybeDenied+1], Unclear: true}
	case policy == AllowOthers && maybeAsked >= 0:
		return Decision{Outcome: Asked, Rules: rules.Ask[maybeAsked : maybeAsked+1]}
	case policy == AllowOthers:
		return Decision{Outcome: Allowed}
	case policy == RulesOnly:
		return Decision{Outcome: Denied}
	}
	return Decision{Outcome: Asked}
}

// Names reports whether the rule matches the call or a part of it, such as one of the commands in a
// shell pipeline. If this is unclear, the result is false.
func (r Rule) Names(call Call) bool { return analyse(call).named(r) == yes }

// By returns the text that names who has decided, for the stored answer: "rule Bash(go test:*)",
// "grant WebFetch" or "policy rules".
func (d Decision) By(policy Policy) string {
	if len(d.Rules) == 0 {
		return "policy " + string(policy)
	}
	kind, texts := "rule ", make([]string, len(d.Rules))
	for i, r := range d.Rules {
		texts[i] = r.Text
		if r.Grant {
			kind = "grant "
		}
	}
	return kind + strings.Join(texts, ", ")
}

// Reason tells the agent in one sentence why its request was denied.
func (d Decision) Reason() string {
	switch {
	case len(d.Rules) == 0:
		return "Denied: no rule allows it, and no user is here to allow it. Continue without it."
	case d.Unclear:
		return "Denied: it cannot be told whether the rule " + d.Rules[0].Text + " forbids a part of it. Use a simpler command."
	case d.Rules[0].Grant:
		return "Denied by the user's rule " + d.Rules[0].Text + ". Continue without it."
	}
	return "Denied by the rule " + d.Rules[0].Text + ". Continue without it."
}

// IsYes reports whether the text of an answer clearly allows a request. Any other text denies it.
func IsYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "allow", "yes", "y", "ok", "accept":
		return true
	}
	return false
}
