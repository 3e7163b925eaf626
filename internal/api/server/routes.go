package server

import (
	"net/http"
	"slices"
)

// route is one endpoint. The server registers the table of routes with its mux, and generates the
// OpenAPI document from it.
type route struct {
	method, path string
	access       access
	about        string
	query        []string // the names of the query parameters
	takes        any      // a value whose type is the Go type of the request's body; nil if there is no body
	gives        any      // a value whose type is the Go type of the answer; nil if the answer is not JSON
	status       int      // HTTP status of a successful answer
	moreStatuses []int    // further HTTP statuses that the OpenAPI document lists, mostly of errors
	anyHost      bool     // requests for any host name are accepted
	limited      bool     // tokens limited to certain projects or pools (labels of tasks) may use the route too
	do           func(*request) error
	label        string // the route's name in log and metrics; set when the route is registered
}

// routes returns the table of all routes. Most routes are defined next to their handlers, for
// example in the method routes of runHandlers.
func (s *Server) routes(info *infoHandlers) []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	metrics := &metricsHandlers{metrics: s.metrics, hub: s.hub, service: s.opts.Protocol, now: s.opts.Now, log: s.log}
	logins := &loginHandlers{codes: s.logins, tokens: s.opts.Tokens, access: s.access, log: s.log}
	tokens := &tokenHandlers{s.opts.Tokens}
	stream := &streamHandlers{service: s.opts.Protocol, hub: s.hub, activity: s.activity, live: s.live, now: s.opts.Now, log: s.log, replaying: make(chan struct{}, maxReplays)}
	protocol := &protocolHandlers{s.opts.Protocol}
	runs := &runHandlers{runs: s.opts.Runs, live: s.live, receiving: make(chan struct{}, maxSubmits)}
	viewer := &viewerHandlers{viewer: s.opts.Viewer, live: s.live, limiter: s.limiter}
	own := []route{
		{method: get, path: "/{$}", access: open, about: "the dashboard's page, which contains no data", status: found, do: info.dashboard},
		{method: get, path: "/assets/{path...}", access: open, about: "the files of the dashboard's page", status: found, moreStatuses: []int{missing}, do: info.dashboard},
		{method: get, path: "/health", access: open, anyHost: true, about: "whether the database answers; for load balancers, under any host", gives: health{}, status: found, moreStatuses: []int{http.StatusServiceUnavailable}, do: info.health},
		{method: get, path: "/metrics", access: look, about: "metrics for Prometheus", status: found, do: metrics.scrape},
		{method: get, path: "/openapi.json", access: open, about: "this document", gives: map[string]any{}, status: found, do: info.document},
		{method: get, path: "/login", access: open, about: "log in: exchange a one-time code for a cookie", query: []string{"code", "to"}, status: http.StatusSeeOther, do: logins.login},
		{method: post, path: "/v1/login", access: look, about: "create a one-time link that logs a browser in", gives: loginLink{}, status: made, do: logins.link},
		{method: post, path: "/v1/logout", access: look, about: "log out: end the session of a browser", gives: loggedOut{}, status: found, do: logins.logout},
		{method: get, path: "/v1/self", access: look, limited: true, about: "the version of the server, and the name and role of the token", gives: oneSelf{}, status: found, do: info.self},

		{method: get, path: "/v1/stream", access: look, about: "changes as server-sent events, replayed from Last-Event-ID", query: []string{"project", "run", "last_event_id", "seen"}, status: found, do: stream.stream},

		{method: get, path: "/v1/tokens", access: manage, about: "all tokens, without their secrets", gives: allTokens{}, status: found, do: tokens.listTokens},
		{method: post, path: "/v1/tokens", access: manage, about: "create a token; its secret is returned only once", takes: newToken{}, gives: oneToken{}, status: made, do: tokens.addToken},
		{method: http.MethodDelete, path: "/v1/tokens/{id}", access: manage, about: "revoke a token", gives: oneToken{}, status: found, moreStatuses: []int{missing, conflict}, do: tokens.revokeToken},
	}
	return slices.Concat(
		withService(s.opts.Viewer != nil, "this coordinator has no viewer", viewer.routes()),
		own, protocol.routes(),
		withService(s.opts.Runs != nil, "this coordinator has no runs", runs.routes()),
		withService(s.opts.Runs != nil, "this coordinator has no runs", runs.reviewRoutes()),
		withService(s.opts.Runs != nil, "this coordinator has no runs", (&searchHandlers{s.opts.Runs, make(chan struct{}, maxSearches)}).routes()),
		withService(s.opts.Runs != nil, "this coordinator has no runs", (&questionHandlers{s.opts.Runs}).routes()),
		withService(s.opts.Changes != nil, "this coordinator has no changes", (&changeHandlers{s.opts.Changes}).routes()),
		withService(s.opts.Landing != nil, "this coordinator merges no changes", (&landingHandlers{s.opts.Landing}).routes()),
		withService(s.opts.Terminals != nil, "this coordinator shows no terminals", (&terminalHandlers{s.opts.Terminals, s.live, s.limiter, s.log}).routes()),
		withService(s.opts.NewRuns != nil, "this coordinator starts no runs", (&newRunHandlers{s.opts.NewRuns, make(chan struct{}, maxDrafts)}).routes()),
		withService(s.opts.Schedules != nil, "this coordinator has no schedules", (&scheduleHandlers{s.opts.Schedules}).routes()),
		withService(s.opts.Work != nil, noPath, (&workHandlers{s.opts.Work, s.live.stopping}).routes()),
	)
}

// withService returns the routes of a service. If has is false, this coordinator does not have the
// service, and the routes answer with status 404 and the message.
func withService(has bool, message string, list []route) []route {
	if !has {
		for i := range list {
			list[i].do = func(*request) error { return refuse(http.StatusNotFound, "not_found", message) }
		}
	}
	return list
}

// name returns the name of a route in the log and in metrics. It is "none" for a request that
// matches no route.
func (r route) name() string {
	switch {
	case r.label != "":
		return r.label
	case r.method == "":
		return "none"
	}
	return r.method + " " + r.path
}
