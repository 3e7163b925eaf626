package server

import "slices"

// Route is a row of the table of routes, for tests with real services.
type Route struct {
	Name, Method, Path, Access string
	Query                      []string
	Takes                      any
}

// Routes returns the whole table.
func Routes() (all []Route) {
	for _, r := range routes() {
		all = append(all, Route{r.name(), r.method, r.path, string(r.access), r.query, r.takes})
	}
	return all
}

// routes returns the whole table, without services behind it.
func routes() []route {
	s, err := New(Options{})
	if err != nil {
		panic(err)
	}
	return s.routes(&infoHandlers{})
}

func runRoutes() []route {
	return slices.Concat((&runHandlers{}).routes(), (&questionHandlers{}).routes(), (&changeHandlers{}).routes(), (&landingHandlers{}).routes())
}

// The maximum length of a body, and of a body with a plan, in bytes.
const (
	MaxBody = maxBody
	MaxPlan = maxPlan
)
