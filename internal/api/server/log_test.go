package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

func TestSecurityATokenIsNeverInALogNorInAnError(t *testing.T) {
	w := start(t, nil)
	secret := w.tokens[credential.Admin]
	quoted, _ := json.Marshal(secret)
	w.service.fall(fmt.Errorf("connect with password %s: refused", secret))
	var told []string
	try := func(method, path, body string) {
		for _, role := range []credential.Role{credential.Admin, ""} {
			if got := w.ask(role, method, path, body); got.status >= 400 {
				told = append(told, got.body)
			}
		}
	}
	try("GET", "/v1/agents?token="+secret, "")
	try("GET", "/v1/agents/"+secret+"?token="+secret, "")
	try("GET", "/"+secret, "")
	try("GET", "/"+secret+"/../x", "")
	try("PUT", "/v1/tasks?token="+secret, "")
	try("POST", "/v1/tasks", secret)
	try("POST", "/v1/agents/heartbeat", `{"agent_id":`+string(quoted)+`,"name":"`+secret+`\n"}`)
	try("DELETE", "/v1/tokens/"+secret, "")
	try("GET", "/login?code="+secret, "")
	w.service.fall(nil)
	try("POST", "/v1/agents/heartbeat", `{"agent_id":`+string(quoted)+`}`)
	try("POST", "/v1/tasks/complete", `{"task_id":`+string(quoted)+`,"agent_id":`+string(quoted)+`}`)
	try("PATCH", "/v1/agents/"+secret+"/channels", `{"subscriptions":[]}`)
	q := w.request("GET", "/health", "")
	q.Host = secret
	told = append(told, w.do(q).body)
	made := w.ask(credential.Admin, "POST", "/v1/tokens", `{"name":"n","role":"viewer"}`)
	link := w.ask(credential.Admin, "POST", "/v1/login", "")
	path, _ := link.field("path").(string)
	login := w.ask("", "GET", path, "")
	_, session, _ := strings.Cut(login.header.Get("Set-Cookie"), "=")
	session, _, _ = strings.Cut(session, ";")
	_, code, _ := strings.Cut(path, "code=")
	rawStatus(t, w, "GET /v1/agents?token="+secret+" HTTP/9.9\r\n\r\n")

	log := w.log.String()
	secretOf := func(text string) string { return strings.TrimPrefix(text, "gft_") }
	made2, _ := made.field("token", "secret").(string)
	for name, text := range map[string]string{"a token": secret, "a new token": made2, "a session": session, "a code": code} {
		if len(text) < 40 {
			t.Fatalf("%s: %q is none", name, text)
		}
		if strings.Contains(log, secretOf(text)) {
			t.Errorf("%s is in the log:\n%s", name, log)
		}
	}
	for _, text := range told {
		if strings.Contains(text, secretOf(secret)) {
			t.Errorf("an error tells the token: %s", text)
		}
	}
	if !strings.Contains(log, "gft_…") {
		t.Errorf("nothing was taken out, so nothing was tried:\n%s", log)
	}
}

// breaking is a service whose methods panic.
type breaking struct{ *standIn }

func (breaking) Agents(context.Context) ([]coordinator.Agent, error) { panic("a bug") }

func TestAPanicIsOneFailedRequest(t *testing.T) {
	w := start(t, func(o *Options) { o.Protocol = breaking{o.Protocol.(*standIn)} })
	w.wants("panic", w.ask(credential.Admin, "GET", "/v1/agents", ""), 500, "internal")
	if got := w.ask(credential.Admin, "GET", "/v1/tasks", ""); got.status != 200 || !strings.Contains(w.log.String(), "a bug") {
		t.Errorf("%d", got.status)
	}
}

func TestEveryChangeIsInTheLogWithWhoMadeIt(t *testing.T) {
	w := start(t, nil)
	w.ask(credential.Operator, "POST", "/v1/tasks", `{"title":"x"}`)
	w.ask(credential.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"a"}`)
	w.ask(credential.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"a"}`)
	w.ask(credential.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"a"}`) // refused: there is no task left
	w.ask(credential.Worker, "POST", "/v1/tasks/complete", `{"agent_id":"a","task_id":"t1"}`)
	w.ask(credential.Viewer, "POST", "/v1/tasks", `{}`) // refused: viewers may not add tasks
	got := testenv.WaitFor(t, "four lines about changes", func() (got []string) {
		for _, line := range strings.Split(strings.TrimSpace(w.log.String()), "\n") {
			var l struct{ Level, Msg, Route, Name, About string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg != "request" {
				got = append(got, l.Level+" "+l.Msg+", "+l.Name+": "+l.Route+" "+l.About)
			}
		}
		return got
	}, func(got []string) bool { return len(got) >= 4 })
	want := []string{
		"INFO changed, the operator: POST /v1/tasks task t1",
		"DEBUG changed, the worker: POST /v1/tasks/claim task t1 by agent a",
		"DEBUG changed, the worker: POST /v1/tasks/complete task t1 by agent a",
		"WARN request refused, the viewer: POST /v1/tasks ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
