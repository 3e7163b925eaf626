package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/engine/permission"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// GrantKind is the Kind of the [store.Item] rows that hold grants. A grant is a permission rule
// that a user makes by answering an agent's question. The Parent of such a row is the result of
// [GrantParent] for the grant's run.
const GrantKind = "grant"

// GrantParent returns the Parent of the [store.Item] rows that hold the grants of a run and of its
// tasks. If run is empty, it returns the Parent of the rows for the grants that hold for all runs.
func GrantParent(run string) string { return cmp.Or(run, "*") }

// GrantError says why no grant can be made from a user's answer to a question. A grant is a
// permission rule that holds for more than one request.
type GrantError struct{ Why string }

func (e *GrantError) Error() string { return "grant: " + e.Why }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *GrantError) Invalid() bool { return true }

// Grants returns the grants (permission rules made by users' answers) that hold for a run and its
// tasks, including those that hold for all runs. If run is empty, it returns the grants of all
// running runs and those that hold for all runs. The oldest grants come first.
func (e *Engine) Grants(ctx context.Context, run string) (list []fleet.Grant, err error) {
	err = e.store.Read(ctx, func(r store.Reader) error {
		parents := []string{"", run}
		if run == "" {
			running, err := r.RunningRuns()
			if err != nil {
				return err
			}
			parents = parents[:1]
			for _, one := range running {
				parents = append(parents, one.ID)
			}
		} else if _, err := r.Run(run); err != nil {
			return asNotFound(err, "run", run)
		}
		list = []fleet.Grant{}
		for _, parent := range parents {
			some, err := grantsOf(r, parent)
			if err != nil {
				return err
			}
			list = append(list, some...)
		}
		slices.SortStableFunc(list, func(a, b fleet.Grant) int { return a.Made.Compare(b.Made) })
		return nil
	})
	return list, err
}

// RemoveGrant removes a grant. A running agent may still follow the grant until the agent ends,
// because the agent's program may have remembered it.
func (e *Engine) RemoveGrant(ctx context.Context, id, who string) error {
	return e.write(ctx, who, func(tx *transaction) error {
		item, err := tx.Item(store.ItemKey{Kind: GrantKind, ID: id})
		if err != nil {
			return asNotFound(err, "grant", id)
		}
		g, err := decodeGrant(item)
		if err != nil {
			return err
		}
		tx.DropItem(item.ItemKey)
		return tx.questions.grantEvent("grant.removed", g)
	})
}

func decodeGrant(item store.Item) (g fleet.Grant, err error) {
	if err := json.Unmarshal(item.Data, &g); err != nil {
		return g, fmt.Errorf("grant %s: %w", item.ID, err)
	}
	return g, nil
}

// grantsOf returns the grants of a run and of its tasks. If run is empty, it returns those that
// hold for all runs.
func grantsOf(r ItemLister, run string) ([]fleet.Grant, error) {
	items, err := r.Items(GrantKind, GrantParent(run), math.MinInt64, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	list := make([]fleet.Grant, len(items))
	for i, item := range items {
		if list[i], err = decodeGrant(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// taskGrants returns the grants that hold for a task.
func taskGrants(r ItemLister, key store.TaskKey) ([]fleet.Grant, error) {
	all, errAll := grantsOf(r, "")
	ofRun, errRun := grantsOf(r, key.Run)
	for _, g := range ofRun {
		if g.Task == "" || g.Task == key.Task {
			all = append(all, g)
		}
	}
	return all, errors.Join(errAll, errRun)
}

// AddGrants sets a.Grants to the grants that hold for a.Task. It does nothing if the task runs a
// command instead of an agent, because a command never asks for permission.
func (a *Assignment) AddGrants(r ItemLister) (err error) {
	if a.Task.Agent() == plan.CommandAgent {
		return nil
	}
	a.Grants, err = taskGrants(r, a.Task.TaskKey)
	return err
}

// rulesOf returns the permission rules of a task, including its grants. It leaves out an allow rule
// that this version of gaffer cannot read. It replaces a deny or ask rule that it cannot read by a
// rule that asks the user about everything.
func rulesOf(spec plan.Task, grants []fleet.Grant) (rules permission.Rules) {
	for _, text := range spec.Permissions.Allow {
		if r, err := permission.Parse(text); err == nil {
			rules.Allow = append(rules.Allow, r)
		}
	}
	add := func(list *[]permission.Rule, text string, grant bool) {
		r, err := permission.Parse(text)
		if err != nil {
			list, r = &rules.Ask, permission.Everything(text)
		}
		r.Grant = grant
		*list = append(*list, r)
	}
	for _, text := range spec.Permissions.Deny {
		add(&rules.Deny, text, false)
	}
	for _, text := range spec.Permissions.Ask {
		add(&rules.Ask, text, false)
	}
	for _, g := range grants {
		switch r, err := permission.Parse(g.Rule); {
		case g.Deny:
			add(&rules.Deny, g.Rule, true)
		case err == nil:
			r.Grant = true
			rules.Allow = append(rules.Allow, r)
		}
	}
	return rules
}

// decide tries to answer an agent's question by the permission rules, the grants and the policy of
// its task. If these decide the question, decide sets the answer in q and returns true, and the
// caller must store q. If the user must answer, it returns false. It always returns false for a
// task that picks one of several candidates: only the user can say which candidate to use.
func (qs *questions) decide(q *store.Question, t store.Task) (decided bool, err error) {
	if t.Account == plan.PickAgent {
		return false, nil
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		// This version of gaffer cannot read the rules of the task, so the user must answer.
		return false, nil
	}
	policy := permission.Policy(cmp.Or(string(spec.Questions), string(permission.AskUser)))
	if q.Tool == "" && (policy == permission.AllowOthers || policy == permission.DenyAll) {
		// The policies allow and deny are only for tool calls. If no rule decides a question that
		// is not about a tool, the user must answer.
		policy = permission.AskUser
	}
	grants, err := taskGrants(qs, t.TaskKey)
	if err != nil {
		return false, err
	}
	d := permission.Decide(policy, rulesOf(spec, grants), callOf(*q))
	if d.Outcome == permission.Asked {
		return false, nil
	}
	q.Denied, q.By, q.Answer = d.Outcome == permission.Denied, d.By(policy), "allow"
	switch {
	case q.Denied && q.Tool == "":
		q.Answer = "No user is here to answer. Decide for yourself, and continue."
	case q.Denied:
		q.Answer = d.Reason()
	case q.Tool == "":
		q.Answer = preferredOption(*q)
	}
	return true, nil
}

// preferredOption returns the first option of a question, which counts as the option that the agent
// prefers. If the question has no options, it returns a text that lets the agent decide.
func preferredOption(q store.Question) string {
	var options []string
	if json.Unmarshal(q.Options, &options) != nil || len(options) == 0 {
		return "Decide for yourself."
	}
	return options[0]
}

func callOf(q store.Question) permission.Call {
	return permission.Call{Tool: q.Tool, Input: q.Input, Dir: q.Dir}
}

// Limits of what is stored about a tool call.
const (
	maxInput       = 64 << 10 // maximum length of the tool's input, in bytes
	maxSuggestions = 8
)

// setCall sets the tool call that a question is about, and suggests rules that would allow the
// call. An input that is too long or not valid JSON is dropped. It is never cut, because a rule
// could allow the cut input by mistake. Without the input, only a rule for all calls of the tool
// can allow the call.
func setCall(q *store.Question, a Ask) {
	if a.Tool == "" {
		return
	}
	q.Tool, q.Input, q.Dir = a.Tool, a.Input, a.Dir
	if len(q.Input) > maxInput || !json.Valid(q.Input) {
		q.Input = nil
	}
	own := permission.Suggest(callOf(*q)) // the narrowest rule comes first
	first := min(len(own), 1)
	for _, text := range slices.Concat(own[:first], a.Suggestions, own[first:]) {
		if r, err := permission.Parse(text); err == nil && r.Names(callOf(*q)) && !slices.Contains(q.Suggestions, r.Text) && len(q.Suggestions) < maxSuggestions {
			q.Suggestions = append(q.Suggestions, r.Text)
		}
	}
}

// grant stores the permission rule that a user's answer makes for later requests, and returns it.
// made is false if the answer holds only for this one request.
func (qs *questions) grant(q store.Question, a Answer) (g fleet.Grant, made bool, err error) {
	switch a.Scope {
	case "", fleet.GrantOnce:
		if a.Rule != "" {
			return g, false, &GrantError{"a rule needs a scope: task, run or always"}
		}
		return g, false, nil
	case fleet.GrantTask, fleet.GrantRun, fleet.GrantAlways:
	default:
		return g, false, &GrantError{fmt.Sprintf("scope %.60q: want once, task, run or always", a.Scope)}
	}
	if q.Tool == "" || q.Standalone() {
		return g, false, &GrantError{"question " + q.ID + " is no request for permission, so its answer holds only once"}
	}
	text := a.Rule
	if text == "" && len(q.Suggestions) > 0 {
		text = q.Suggestions[0]
	}
	if text == "" {
		return g, false, &GrantError{"there is no rule for exactly this request; name a rule, such as " + q.Tool}
	}
	rule, err := permission.Parse(text)
	if err != nil {
		return g, false, err
	}
	if !rule.Names(callOf(q)) {
		return g, false, &GrantError{fmt.Sprintf("rule %s does not name this request: %.200s", rule.Text, q.Text)}
	}
	g = fleet.Grant{Rule: rule.Text, Deny: a.Deny || !permission.IsYes(a.Text), Scope: a.Scope, By: qs.who, Made: qs.now}
	if a.Scope != fleet.GrantAlways {
		g.Run = q.Run
	}
	if a.Scope == fleet.GrantTask {
		g.Task = q.Task
	}
	return g, true, qs.putGrant(&g)
}

// putGrant stores the grant g. If the same rule already holds in the same scope, putGrant stores
// nothing, and replaces *g by the stored grant.
func (qs *questions) putGrant(g *fleet.Grant) error {
	known, err := grantsOf(qs, g.Run)
	if err != nil {
		return err
	}
	for _, k := range known {
		if k.Rule == g.Rule && k.Deny == g.Deny && k.Scope == g.Scope && k.Task == g.Task {
			*g = k
			return nil
		}
	}
	g.ID = qs.opts.NewID()
	data, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	qs.PutItem(store.Item{ItemKey: store.ItemKey{Kind: GrantKind, ID: g.ID}, Parent: GrantParent(g.Run), Seq: qs.NextSeq(), Data: data, Made: g.Made})
	return qs.grantEvent("grant.made", *g)
}

func (qs *questions) grantEvent(kind string, g fleet.Grant) error {
	why := "allow " + g.Rule
	if g.Deny {
		why = "deny " + g.Rule
	}
	return qs.event(store.Event{Kind: kind, Run: g.Run, Task: g.Task, Why: strings.ReplaceAll(why, "\n", " ")}, g)
}

// answerCovered answers those open requests for permission in the scope of the grant g that the
// rules and grants of their tasks now decide.
func (qs *questions) answerCovered(g fleet.Grant) error {
	open, err := qs.OpenQuestions()
	if err != nil {
		return err
	}
	for _, q := range open {
		if q.Tool == "" || q.Standalone() || q.Overdue(qs.now) || g.Run != "" && q.Run != g.Run || g.Task != "" && q.Task != g.Task {
			continue
		}
		t, err := qs.Task(store.TaskKey{Run: q.Run, Task: q.Task})
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		decided, err := qs.decide(&q, t)
		if err != nil {
			return err
		}
		if decided {
			if err := qs.storeAnswer(q); err != nil {
				return err
			}
		}
	}
	return nil
}
