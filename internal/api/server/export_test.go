package server

import "slices"

// Route is a row of the table of routes. It is exported to tests outside this package.
type Route struct {
	Name, Method, Path, Access string
	Query                      []string
	Takes                      any
}

// Routes returns the whole table of routes.
func Routes() (all []Route) {
	for _, r := range routes() {
		all = append(all, Route{r.name(), r.method, r.path, string(r.access), r.query, r.takes})
	}
	return all
}

// routes returns the whole table of routes of a server that has no services.
func routes() []route {
	s, err := New(Options{})
	if err != nil {
		panic(err)
	}
	return s.routes(&infoHandlers{})
}

func runRoutes() []route {
	return slices.Concat((&runHandlers{}).routes(), (&questionHandlers{}).routes(), (&changeHandlers{}).routes(), (&landingHandlers{}).routes(), (&newRunHandlers{}).routes(), (&searchHandlers{}).routes())
}

// The maximum length in bytes of an ordinary request body, and of a body with a plan.
const (
	MaxBody = maxBody
	MaxPlan = maxPlan
	// MaxDraft is the maximum length of a body with a draft of a run.
	MaxDraft = maxDraft
)
