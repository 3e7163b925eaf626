package server

import (
	"context"
	"net/http"
	"strings"

	"gaffer/fleet"
)

const (
	maxHits     = 200
	defaultHits = 50
	maxSearches = 4 // maximum number of searches at the same time
)

// searchHandlers answers searches. A search reads many rows, so at most maxSearches run at the same
// time.
type searchHandlers struct {
	runs      Runs
	searching chan struct{} // semaphore: at most maxSearches searches run at once
}

func (h *searchHandlers) routes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/search", access: look, about: "runs and tasks whose names, prompts or results contain all words of q", query: []string{"q", "limit"}, gives: fleet.Found{}, status: http.StatusOK, moreStatuses: []int{http.StatusBadRequest}, do: h.search},
	}
}

func (h *searchHandlers) search(c *request) error {
	text := strings.TrimSpace(c.r.URL.Query().Get("q"))
	if err := checkNames("q", text); err != nil {
		return err
	}
	limit, err := c.number("limit", maxHits, defaultHits)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (fleet.Found, error) {
		select {
		case h.searching <- struct{}{}:
			defer func() { <-h.searching }()
		case <-ctx.Done():
			return fleet.Found{}, ctx.Err()
		}
		return h.runs.Search(ctx, text, limit)
	})
}
