package server

// Route is a row of the table of routes, for the tests that have real services behind
// it.
type Route struct {
	Name, Method, Path, Access string
	Query                      []string
	Takes                      any
}

// Routes is the whole table.
func Routes() (all []Route) {
	for _, r := range routes() {
		all = append(all, Route{r.name(), r.method, r.path, string(r.access), r.query, r.takes})
	}
	return all
}

// The most bytes that a body may have, and one with a plan.
const (
	MaxBody = maxBody
	MaxPlan = maxPlan
)
