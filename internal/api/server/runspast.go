package server

import (
	"context"
	"net/http"
	"strconv"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// Bodies of answers about lanes and the history of a run.
type (
	allLanes struct {
		Lanes []fleet.Lane `json:"lanes"`
	}
	runAttempts struct {
		Attempts []coordinator.AttemptChange `json:"attempts"`
	}
	runQuestions struct {
		Questions []coordinator.QuestionChange `json:"questions"`
	}
)

func pastRoutes() []route {
	const found, missing = http.StatusOK, http.StatusNotFound
	get := http.MethodGet
	return []route{
		{method: get, path: "/v1/lanes", access: look, about: "the agent accounts that are paused", gives: allLanes{}, status: found, do: (*call).lanes},
		{method: get, path: "/v1/runs/{id}/attempts", access: look, about: "all tries at all tasks of a run, by their start", gives: runAttempts{}, status: found, others: []int{missing}, do: (*call).runAttempts},
		{method: get, path: "/v1/runs/{id}/questions", access: look, about: "all questions of a run, also those that are closed", gives: runQuestions{}, status: found, others: []int{missing}, do: (*call).runQuestions},
		{method: get, path: "/v1/runs/{id}/changes", access: look, about: "what the stream told of a run, the oldest first; next goes on, and is missing at the end", query: []string{"after", "limit"}, gives: coordinator.PastChanges{}, status: found, others: []int{missing, http.StatusBadRequest}, do: (*call).runChanges},
	}
}

func (c *call) lanes() error {
	return giveRuns(c, func(ctx context.Context, runs Runs) (allLanes, error) {
		all, err := runs.Lanes(ctx)
		return allLanes{list(all)}, err
	})
}

func (c *call) runAttempts() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (runAttempts, error) {
		all, err := runs.RunAttempts(ctx, id)
		return runAttempts{list(all)}, err
	})
}

func (c *call) runQuestions() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (runQuestions, error) {
		all, err := runs.RunQuestions(ctx, id)
		return runQuestions{list(all)}, err
	})
}

const (
	maxChanges  = 2000
	someChanges = 500
)

// runChanges answers with a page of a run's changes. A page may have fewer changes than
// requested, or none, and still not be the last, because some changes have no update.
func (c *call) runChanges() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	after, err := c.offset("after", -1) // the position before the first change
	if err != nil {
		return err
	}
	limit, err := c.number("limit", maxChanges)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = someChanges
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (coordinator.PastChanges, error) {
		all, next, err := runs.RunChanges(ctx, id, after, limit)
		return pastChanges(all, next), err
	})
}

func pastChanges(all []Update, next int64) coordinator.PastChanges {
	p := coordinator.PastChanges{Changes: make([]coordinator.PastChange, len(all))}
	for i, u := range all {
		p.Changes[i] = coordinator.PastChange{ID: strconv.FormatInt(u.Seq, 10), Update: u.Update}
	}
	if next > 0 {
		p.Next = strconv.FormatInt(next, 10)
	}
	return p
}
