package answer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/engine/permission"
	"gaffer/internal/text/suggest"
	"gaffer/internal/ui/phrase"
)

// answered is the JSON form of an answer.
type answered struct {
	Run      string           `json:"run"`
	Task     string           `json:"task"`
	Name     string           `json:"name"`
	Question string           `json:"question"`
	Answer   string           `json:"answer"`
	Denied   bool             `json:"denied"`
	Scope    fleet.GrantScope `json:"scope,omitempty"`
	Rule     string           `json:"rule,omitempty"`
}

// scopes returns the values that the flag --for accepts.
func scopes() (names []string) {
	for _, s := range fleet.GrantScopes() {
		names = append(names, string(s))
	}
	return names
}

// checkScope checks the values of the flags --for and --rule as far as that is possible without the
// question. The method lasting checks whether they fit the question.
func (o options) checkScope() error {
	switch {
	case o.scope != "" && !slices.Contains(scopes(), o.scope):
		err := fmt.Errorf("--for %q: want %s", o.scope, strings.Join(scopes(), ", "))
		if near := suggest.Nearest(o.scope, scopes()); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		return err
	case o.rule != "" && (o.scope == "" || o.scope == string(fleet.GrantOnce)):
		return errors.New("--rule needs --for task, run or always: for how long it holds")
	case o.rule != "":
		if _, err := permission.Parse(o.rule); err != nil {
			return fmt.Errorf("--rule %q: %w", o.rule, err)
		}
	}
	return nil
}

// lasting sets reply.Scope to the value of the flag --for, and reply.Rule to the value of the flag
// --rule or, without --rule, to the first rule that the question q suggests. If the value of --for
// is "once", it sets both fields to "". With any other value, lasting returns an error if the
// answer cannot apply to later requests, for example because q does not ask for a permission.
func (o options) lasting(q fleet.Question, reply fleet.Reply) (fleet.Reply, error) {
	scope := fleet.GrantScope(o.scope)
	if scope == fleet.GrantOnce {
		reply.Scope, reply.Rule = "", ""
		return reply, nil
	}
	allows, denies := fleet.Grants(reply.Text)
	reply.Deny = reply.Deny || denies
	reply.Scope, reply.Rule = scope, o.rule
	switch {
	case q.Run != "" && q.Tool == "":
		return reply, fmt.Errorf("--for %s: %s does not ask for a permission, so the answer is for this question only", o.scope, q.Name)
	case !allows && !reply.Deny:
		return reply, fmt.Errorf("--for %s: the answer is %q, want allow or deny", o.scope, phrase.Line(reply.Text))
	case q.Run == "":
		return reply, fmt.Errorf("--for %s: %s belongs to no run; 'gaffer permissions allow RULE' answers requests like this one from now on", o.scope, q.Name)
	case o.rule == "" && len(q.Suggestions) == 0:
		return reply, fmt.Errorf("--for %s: no rule is known that matches this request, so add one, such as --rule %s", o.scope, q.Tool)
	case o.rule == "":
		reply.Rule = q.Suggestions[0]
	}
	return reply, nil
}

// lastingText returns a text that says for how long an answer applies to later requests, and the
// rule that selects these requests. It returns "" for an answer to one request only.
func lastingText(r fleet.Reply) string {
	if !r.Lasting() {
		return ""
	}
	return fmt.Sprintf(", %s: %s", r.Scope.Phrase(), phrase.Line(r.Rule))
}
