package newrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/plan"
	"gaffer/internal/text/truncate"
)

// Combine combines several plans into one. Tasks of different plans do not depend on each other,
// with one exception: plans may have waves (numbered groups of tasks that run one after the other),
// and waves with the same number become one wave. The combined plan gets the strictest limits of
// all plans: the smallest number of parallel tasks, and the strictest reaction to a failure. The
// budgets are added up. If several prompts were given as text, they would have the same id, so
// numbers are added to their ids.
func Combine(plans []plan.Plan) (plan.Plan, error) {
	whole := plans[0]
	if len(plans) == 1 {
		return whole, nil
	}
	names := []string{whole.Name}
	plans = numberPrompts(plans)
	for _, p := range plans[1:] {
		names = append(names, p.Name)
		if p.Parallel > 0 && (whole.Parallel == 0 || p.Parallel < whole.Parallel) {
			whole.Parallel = p.Parallel
		}
		if harder(p.OnFailure, whole.OnFailure) {
			whole.OnFailure = p.OnFailure
		}
		if p.Source != whole.Source {
			whole.Source = plan.SourceOrchestrate
		}
		whole.Budget.USD += p.Budget.USD
		whole.Budget.Tokens += p.Budget.Tokens
		whole.Tasks = append(whole.Tasks[:len(whole.Tasks):len(whole.Tasks)], p.Tasks...)
		whole.Warnings = append(whole.Warnings[:len(whole.Warnings):len(whole.Warnings)], p.Warnings...)
	}
	whole.Name, whole.SourceFile, whole.Format = truncate.Chars(strings.Join(names, ", "), maxName), "", plan.List
	return whole, checkCombinable(plans)
}

// maxName is the maximum length of the name of a combined plan, in characters.
const maxName = 200

// numberPrompts gives each prompt that the user has typed as text, and not in a file, a unique id:
// if two have the same id, it adds a number such as -2 to the second.
func numberPrompts(plans []plan.Plan) []plan.Plan {
	taken := map[string]bool{}
	for _, p := range plans {
		for _, t := range p.Tasks {
			taken[t.ID] = taken[t.ID] || p.Format != plan.PromptText
		}
	}
	plans = slices.Clone(plans)
	for i, p := range plans {
		if p.Format != plan.PromptText {
			continue
		}
		p.Tasks = slices.Clone(p.Tasks)
		id := p.Tasks[0].ID
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", p.Tasks[0].ID, n)
		}
		p.Tasks[0].ID, taken[id] = id, true
		plans[i] = p
	}
	return plans
}

func harder(a, b plan.OnFailure) bool {
	rank := map[plan.OnFailure]int{plan.Stop: 1, plan.StopNow: 2}
	return rank[a] > rank[b]
}

// checkCombinable returns an error if the plans cannot be combined, because one of them is a
// workflow, which must run alone, or because two tasks have the same id.
func checkCombinable(plans []plan.Plan) error {
	var problems plan.Problems
	from := map[string]plan.Plan{}
	for _, p := range plans {
		if p.Workflow != nil {
			return &UsageError{Err: errors.New("a workflow is run alone, not with other plans")}
		}
		for _, t := range p.Tasks {
			if other, twice := from[t.ID]; twice {
				problems = append(problems, plan.Problem{
					File: p.SourceFile, Line: t.Line,
					Text: fmt.Sprintf("the id %q is also in %s", t.ID, other.Name),
				})
			}
			from[t.ID] = p
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}
