package runquery

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// Permissions counts the requests of agents for permission since q.Since. It groups them by the
// last of the rules that gaffer has suggested to allow the request, or by the tool if it has
// suggested none. The group with the latest request comes first. Permissions leaves out requests in
// runs for which the function Options.Hide returns true.
func (l *Querier) Permissions(ctx context.Context, q fleet.PermissionQuery) ([]fleet.PermissionRequest, error) {
	count := permissionCount{}
	err := l.store.Read(ctx, func(r store.Reader) error {
		clear(count)
		runs, err := l.Latest(r, q.Project, true, math.MaxInt)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if !run.Ended.IsZero() && run.Ended.Before(q.Since) {
				continue // all requests of the run are older
			}
			asked, err := r.QuestionsOf(run.ID)
			if err != nil {
				return err
			}
			for _, row := range asked {
				if row.Tool != "" && !row.Asked.Before(q.Since) {
					count.add(row)
				}
			}
		}
		return nil
	})
	return count.list(), err
}

// permissionCount counts requests for permission. The key is the rule by which they are grouped.
type permissionCount map[string]*fleet.PermissionRequest

func (c permissionCount) add(q store.Question) {
	rule := q.Tool
	if len(q.Suggestions) > 0 {
		// Use the last suggestion, which is usually the widest rule, so that similar requests are
		// counted together.
		rule = q.Suggestions[len(q.Suggestions)-1]
	}
	p := c[rule]
	if p == nil {
		p = &fleet.PermissionRequest{Rule: rule, Tool: q.Tool, By: []fleet.PermissionAnswer{}}
		c[rule] = p
	}
	p.Asked++
	if !q.Asked.Before(p.Last) {
		p.Last, p.Example = q.Asked, q.Text
	}
	// The caller adds the requests of the latest run first, so the latest run also comes first in
	// p.Runs.
	if !slices.Contains(p.Runs, q.Run) {
		p.Runs = append(p.Runs, q.Run)
	}
	if q.Answered.IsZero() {
		if !q.Closed {
			p.Open++
		}
		return
	}
	at := slices.IndexFunc(p.By, func(a fleet.PermissionAnswer) bool { return a.By == q.By })
	if at < 0 {
		at, p.By = len(p.By), append(p.By, fleet.PermissionAnswer{By: q.By})
	}
	if allows, _ := fleet.Grants(q.Answer); allows && !q.Denied {
		p.Allowed++
		p.By[at].Allowed++
	} else {
		p.Denied++
		p.By[at].Denied++
	}
}

func (c permissionCount) list() []fleet.PermissionRequest {
	list := []fleet.PermissionRequest{}
	for _, p := range slices.SortedFunc(maps.Values(c), func(a, b *fleet.PermissionRequest) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Rule, b.Rule))
	}) {
		slices.SortStableFunc(p.By, func(a, b fleet.PermissionAnswer) int {
			return cmp.Or(cmp.Compare(b.Allowed+b.Denied, a.Allowed+a.Denied), cmp.Compare(a.By, b.By))
		})
		list = append(list, *p)
	}
	return list
}
