package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// routes is the protocol's table of routes. The tests replace {id} by an id that does not exist.
var routes = []struct{ method, path string }{
	{"POST", "/v1/agents/heartbeat"},
	{"GET", "/v1/agents"},
	{"GET", "/v1/agents/{id}"},
	{"GET", "/v1/agents/{id}/current-task"},
	{"PATCH", "/v1/agents/{id}/channels"},
	{"GET", "/v1/channels"},
	{"POST", "/v1/channels"},
	{"GET", "/v1/channels/by-name/{id}"},
	{"GET", "/v1/chains"},
	{"POST", "/v1/chains"},
	{"GET", "/v1/tasks"},
	{"POST", "/v1/tasks"},
	{"POST", "/v1/tasks/claim"},
	{"POST", "/v1/tasks/complete"},
	{"POST", "/v1/tasks/fail"},
	{"POST", "/v1/tasks/inputs"},
	{"POST", "/v1/tasks/inputs/claim"},
	{"GET", "/v1/events"},
	{"POST", "/v1/events"},
	{"GET", "/v1/dashboard"},
	{"GET", "/v1/stream"},
}

var accessPromises = []requirement{
	{"health needs no token", func(s *script) {
		s.send("", "GET", "/health", nil).want(200)
	}},
	{"a request without a token is refused", func(s *script) {
		for _, r := range slices.Concat(routes, newerRoutes) {
			s.send("", r.method, filled(r.path), emptyBody(r.method)).refuses(401)
		}
	}},
	{"a request with a wrong token is refused", func(s *script) {
		for _, r := range slices.Concat(routes, newerRoutes) {
			s.send("wrong-"+s.mark, r.method, filled(r.path), emptyBody(r.method)).refuses(401)
		}
	}},
	{"a token in the address is enough to read", func(s *script) {
		s.send("", "GET", "/v1/agents?token="+url.QueryEscape(s.Token), nil).list("agents", listedAgentShape)
		s.send("", "GET", "/v1/agents?token=wrong-"+s.mark, nil).refuses(401)
	}},
	{"a token in the address is not enough to change anything", func(s *script) {
		body := object{"name": "address-" + s.mark}
		s.send("", "POST", "/v1/channels?token="+url.QueryEscape(s.Token), body).refuses(401)
		s.asUser("GET", "/v1/channels/by-name/address-"+s.mark, nil).refuses(404)
	}},
	{"a token is accepted as an API key too", func(s *script) {
		s.sendWith(http.Header{"X-Api-Key": {s.Token}}, "GET", "/v1/agents", nil).list("agents", listedAgentShape)
		s.sendWith(http.Header{"X-Api-Key": {s.Token}}, "POST", "/v1/channels", object{"name": "key-" + s.mark}).want(201)
		s.sendWith(http.Header{"X-Api-Key": {"wrong-" + s.mark}}, "GET", "/v1/agents", nil).refuses(401)
		s.send("", "GET", "/v1/agents?api_key="+url.QueryEscape(s.Token), nil).list("agents", listedAgentShape)
		s.send("", "POST", "/v1/channels?api_key="+url.QueryEscape(s.Token), object{"name": "address-" + s.mark}).refuses(401)
	}},
	{"an error never holds the token", func(s *script) {
		raw := s.asUser("GET", "/v1/nothing-"+s.mark+"?token="+url.QueryEscape(s.Token), nil).raw
		if strings.Contains(string(raw), s.Token) {
			s.Errorf("the answer %.200s holds the token", raw)
		}
	}},
	{"an unknown route is 404 in the format of all errors", func(s *script) {
		s.asUser("GET", "/v1/nothing-"+s.mark, nil).refuses(404)
		s.asUser("POST", "/v1/nothing-"+s.mark, object{}).refuses(404)
		s.asUser("GET", "/v1/tasks/inputs/nothing/"+s.mark, nil).refuses(404)
	}},
	{"a wrong method is 405", func(s *script) {
		for _, r := range routes {
			s.asUser("DELETE", filled(r.path), nil).refuses(405)
		}
		s.asUser("PUT", "/v1/tasks", object{}).refuses(405)
		s.asUser("POST", "/v1/dashboard", object{}).refuses(405)
	}},
	{"a body that is not JSON is 400", func(s *script) {
		for _, r := range routes {
			if r.method == "GET" {
				continue
			}
			for _, body := range []string{"", "{", "[]", `"text"`, `{"agent_id":7,"name":7,"title":7,"type":7,"task_id":7,"subscriptions":7}`} {
				s.asUser(r.method, filled(r.path), body).refuses(400)
			}
		}
	}},
}

func filled(path string) string { return strings.ReplaceAll(path, "{id}", "nobody") }

func emptyBody(method string) any {
	if method == http.MethodGet {
		return nil
	}
	return object{}
}
