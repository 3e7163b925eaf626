package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
)

func TestSecurityAWorkerTouchingAnothersTaskByEveryRouteOfWorkers(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	key := fmt.Sprintf(`"attempt":%q,"token":%d`, h.Attempt, h.Token)
	question := w.good(credential.Worker, "POST", "/v1/work/ask", `{`+key+`,"ref":"r","text":"which?"}`).dig("question")
	w.good(credential.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"a1"}`)
	channel := w.good(credential.Admin, "POST", "/v1/channels", `{"name":"c"}`).dig("channel", "id")
	task := w.good(credential.Admin, "POST", "/v1/tasks", fmt.Sprintf(`{"title":"t","channel_id":%q}`, channel)).dig("task", "id")
	w.good(credential.Worker, "POST", "/v1/tasks/claim", fmt.Sprintf(`{"agent_id":"a1","channel_id":%q}`, channel))
	w.good(credential.Admin, "POST", "/v1/tasks/inputs", fmt.Sprintf(`{"task_id":%q,"text":"a secret"}`, task))
	aside := w.good(credential.Worker, "POST", "/v1/questions", `{"from":"a1","ref":"r","text":"a secret?","seconds":60}`).dig("question", "id")
	agentsTask := fmt.Sprintf(`{"agent_id":"a1","task_id":%q}`, task)

	theirs := map[string][]string{ // request bodies by route, or queries for a route without a body
		"POST /v1/agents/heartbeat":        {`{"agent_id":"a1","claude_status":"idle"}`},
		"PATCH /v1/agents/{id}/channels":   {`{"subscriptions":[]}`},
		"POST /v1/tasks/claim":             {fmt.Sprintf(`{"agent_id":"a1","channel_id":%q}`, channel)},
		"POST /v1/tasks/assign":            {agentsTask},
		"POST /v1/tasks/complete":          {agentsTask},
		"POST /v1/tasks/fail":              {agentsTask},
		"POST /v1/tasks/inputs/claim":      {agentsTask},
		"POST /v1/events":                  {`{"agent_id":"a1","type":"x"}`, fmt.Sprintf(`{"task_id":%q,"type":"x"}`, task)},
		"POST /v1/questions":               {`{"from":"a1","ref":"r","text":"evil?","seconds":60}`},
		"POST /v1/questions/{id}/withdraw": {`{"why":"evil"}`},
		"POST /v1/work/beat":               {`{"worker":{"id":"w1","name":"w1"}}`, `{"worker":{"id":"w1","name":"w1"},"held":[{` + key + `,"now":{"state":"running","doing":"evil"}}]}`},
		"POST /v1/work/claim":              {`{"worker":"w1","labels":["project:web"],"key":"k"}`},
		"POST /v1/work/turn":               {`{"finish":{` + key + `}}`, `{"finish":{` + key + `},"claim":{"worker":"w2","labels":[],"key":"k"}}`},
		"POST /v1/work/ask":                {`{` + key + `,"ref":"r","text":"which?"}`, `{` + key + `,"ref":"s","text":"evil?"}`},
		"POST /v1/work/release":            {`{"worker":"w1","attempts":[{` + key + `}]}`},
		"GET /v1/work/held":                {"?worker=w1"},
		"GET /v1/work/wait":                {"?worker=w1&after=-1"},
		"POST /v1/work/logs":               {fmt.Sprintf("?attempt=%s&token=%d&offset=0", h.Attempt, h.Token)},
	}
	w.good(another, "POST", "/v1/work/beat", `{"worker":{"id":"w2","name":"w2","labels":["project:web","@w2"]}}`)
	w.good(another, "POST", "/v1/agents/heartbeat", `{"agent_id":"a2"}`)
	before := w.last()
	for _, r := range server.Routes() {
		if r.Access != "work" {
			continue
		}
		if len(theirs[r.Name]) == 0 {
			t.Errorf("%s: nobody has tried", r.Name)
		}
		for _, body := range theirs[r.Name] {
			id := "a1"
			if strings.HasPrefix(r.Path, "/v1/questions/") {
				id = aside
			}
			path, query := strings.Replace(r.Path, "{id}", id, 1), ""
			if strings.HasPrefix(body, "?") {
				query, body = body, "evil"
			}
			got := w.ask(another, r.Method, path+query, body)
			if got.status != 403 || strings.Contains(got.body, "secret") {
				t.Errorf("%s %s%s: %d %s", r.Name, query, body, got.status, got.body)
			}
		}
	}
	for what, c := range map[string]struct{ path, body string }{
		"another's task by an agent of its own": {"/v1/tasks/complete", fmt.Sprintf(`{"agent_id":"a2","task_id":%q}`, task)},
		"another's input":                       {"/v1/tasks/inputs/claim", fmt.Sprintf(`{"agent_id":"a2","task_id":%q}`, task)},
		"another's name":                        {"/v1/work/beat", `{"worker":{"id":"w2","name":"w1"}}`},
		"another's place":                       {"/v1/work/claim", `{"worker":"w2","labels":["project:web","@w1"],"key":"k"}`},
		"a guessed token":                       {"/v1/work/turn", fmt.Sprintf(`{"finish":{"attempt":%q,"token":%d}}`, h.Attempt, h.Token+1)},
		"an answer for the agent":               {"/v1/questions/" + question + "/answer", `{"text":"evil"}`},
		"somebody's run":                        {"/v1/runs/" + h.run + "/cancel", `{}`},
	} {
		if got := w.ask(another, "POST", c.path, c.body); got.status < 400 || strings.Contains(got.body, "secret") {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	if after := w.last(); after != before {
		t.Errorf("%d changes were made", after-before)
	}
	w.untouched(h, key, question, task)
}

// untouched lets worker w2 claim that it runs w1's attempt. It fails if w1 loses the attempt, or w2
// gets the answer to w1's question.
func (w *whole) untouched(h held, key, question, task string) {
	w.t.Helper()
	w.good(credential.Operator, "POST", "/v1/questions/"+question+"/answer", `{"text":"a secret"}`)
	lie := `{"worker":{"id":"w2","name":"w2","labels":["project:web","@w2"]},"held":[{` + key + `,"now":{"state":"running","doing":"evil"},"asking":["` + question + `"]}]}`
	if got := w.good(another, "POST", "/v1/work/beat", lie); !strings.Contains(got.body, `"gone":true`) || strings.Contains(got.body, "secret") {
		w.t.Errorf("held by another: %s", got.body)
	}
	own := w.begin2()
	lie = fmt.Sprintf(`{"worker":{"id":"w2","name":"w2"},"held":[{"attempt":%q,"token":%d,"asking":[%q]}]}`, own.Attempt, own.Token, question)
	if got := w.good(another, "POST", "/v1/work/beat", lie); strings.Contains(got.body, "secret") {
		w.t.Errorf("the answer to another's question: %s", got.body)
	}
	_ = w.ask(another, "POST", "/v1/work/release", `{"worker":"w2","attempts":[{`+key+`}]}`) // ignore the answer: the test checks the effect
	if got := w.good(credential.Worker, "GET", "/v1/work/held?worker=w1", ""); !strings.Contains(got.body, h.Attempt) {
		w.t.Errorf("w1 has lost its task: %s", got.body)
	}
	if got := w.good(credential.Admin, "GET", "/v1/runs/"+h.run+"/tasks/api", ""); strings.Contains(got.body, "evil") || got.dig("task", "status") != "running" {
		w.t.Errorf("the task: %s", got.body)
	}
	if got := w.good(credential.Admin, "GET", "/v1/tasks/"+task, ""); got.dig("task", "status") != "in_progress" {
		w.t.Errorf("the agent's task: %s", got.body)
	}
	got := w.good(credential.Worker, "POST", "/v1/work/beat", `{"worker":{"id":"w1","name":"w1"},"held":[{`+key+`,"asking":["`+question+`"]}]}`)
	if !strings.Contains(got.body, "a secret") || strings.Contains(got.body, `"gone"`) {
		w.t.Errorf("what w1 is told: %s", got.body)
	}
}

// begin2 submits another run and lets worker w2 claim its task.
func (w *whole) begin2() coordinator.WorkKey {
	w.t.Helper()
	w.good(credential.Operator, "POST", "/v1/runs", `{"project":"web","plan":{"Name":"m","Tasks":[{"ID":"api","Prompt":"p"}]}}`)
	got := w.good(another, "POST", "/v1/work/claim", `{"worker":"w2","labels":["project:web","@w2"],"key":"k2"}`)
	var c coordinator.Claimed
	if err := json.Unmarshal([]byte(got.body), &c); err != nil {
		w.t.Fatal(err)
	}
	return coordinator.WorkKey{Attempt: c.Work.Attempt.ID, Token: c.Work.Attempt.Token}
}

// htmlIn is a text that a page would interpret as HTML.
const htmlIn = `<script>alert(1)</script>&'"<img src=x onerror=alert(1)>`

func TestSecurityHTMLInEveryStringThatComesBack(t *testing.T) {
	w := startWhole(t)
	type m = map[string]any
	noSlash := strings.ReplaceAll(htmlIn, "/", "")
	name := strings.NewReplacer(" ", "", "/", "").Replace(htmlIn) // an id may not contain spaces or slashes
	h := w.begin(htmlIn, htmlIn)
	key := m{"attempt": h.Attempt, "token": h.Token}
	ask := m{"attempt": h.Attempt, "token": h.Token, "ref": htmlIn, "text": htmlIn, "options": []string{htmlIn}, "default": htmlIn}
	question := w.good(credential.Worker, "POST", "/v1/work/ask", ask).dig("question")
	w.good(credential.Worker, "POST", "/v1/work/beat", m{
		"worker": m{"id": "w1", "name": name, "labels": []string{"project:web", noSlash}, "version": htmlIn, "host": htmlIn},
		"held":   []m{{"attempt": h.Attempt, "token": h.Token, "now": m{"state": "waiting", "doing": htmlIn, "source": htmlIn, "thread": htmlIn, "log": htmlIn}}},
	})
	w.good(credential.Worker, "POST", fmt.Sprintf("/v1/work/logs?attempt=%s&token=%d&offset=0", h.Attempt, h.Token), htmlIn)
	w.good(credential.Worker, "POST", "/v1/agents/heartbeat", m{"agent_id": name, "name": htmlIn, "claude_status": "idle", "meta": m{htmlIn: htmlIn}})
	channel := w.good(credential.Admin, "POST", "/v1/channels", m{"name": htmlIn, "description": htmlIn}).dig("channel", "id")
	w.good(credential.Admin, "POST", "/v1/chains", m{"name": htmlIn, "description": htmlIn, "channel_id": channel})
	w.good(credential.Admin, "POST", "/v1/tasks", m{"channel_id": channel, "title": htmlIn, "description": htmlIn})
	task := w.good(credential.Worker, "POST", "/v1/tasks/claim", m{"agent_id": name, "channel_id": channel}).dig("task", "id")
	w.good(credential.Admin, "POST", "/v1/tasks/inputs", m{"task_id": task, "text": htmlIn})
	w.good(credential.Worker, "POST", "/v1/events", m{"type": htmlIn, "agent_id": name, "payload": m{htmlIn: htmlIn}})
	w.good(credential.Admin, "POST", "/api/inbox", m{"type": "evolve", "content": htmlIn})
	w.good(credential.Admin, "POST", "/api/build-events", m{"kind": "chunk-started", "chunk": htmlIn})

	w.looked(h, task, "<script")
	w.good(credential.Operator, "POST", "/v1/questions/"+question+"/answer", m{"text": htmlIn})
	key["summary"], key["class"], key["answer"] = htmlIn, "crash", htmlIn
	w.good(credential.Worker, "POST", "/v1/work/turn", m{"finish": key})
	w.good(credential.Operator, "POST", "/v1/runs/"+w.begin("m", htmlIn).run+"/cancel", m{"why": htmlIn})
	w.looked(h, task, "<script")
}

// looked requests every route that returns data. It fails if a browser could interpret an answer as
// a web page.
func (w *whole) looked(h held, task, evil string) {
	w.t.Helper()
	held := 0
	for _, r := range server.Routes() {
		if r.Method != http.MethodGet || slices.Contains([]string{"/v1/stream", "/api/stream", "/ws", "/login"}, r.Path) {
			continue // other tests read the stream, the socket and the documents
		}
		id := h.run
		switch {
		case strings.HasPrefix(r.Path, "/v1/tasks/"):
			id = task
		case strings.HasPrefix(r.Path, "/v1/agents/"):
			id = "w1"
		}
		path := strings.NewReplacer("{id}", id, "{name}", "api", "{$}", "").Replace(r.Path) + "?run=" + h.run + "&ended=1&worker=w1&after=-1&task=" + h.run + "%2Fapi"
		got := w.ask(credential.Admin, "GET", path, "")
		kind := got.header.Get("Content-Type")
		if got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
			w.t.Errorf("%s: %v", r.Name, got.header)
		}
		if got.status >= 500 || got.status == 400 {
			w.t.Errorf("%s: %d %s", r.Name, got.status, got.body)
		}
		switch {
		case strings.HasPrefix(kind, "application/json") && json.Valid([]byte(got.body)):
			if strings.ContainsAny(got.body, "<>&") {
				w.t.Errorf("%s: %s", r.Name, got.body)
			}
			if strings.Contains(got.body, `\u003cscript`) {
				held++
			}
		case strings.HasPrefix(kind, "text/plain"), strings.HasPrefix(kind, "text/markdown"):
		case strings.HasPrefix(kind, "text/csv") && strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment"):
		case r.Path == "/{$}" && !strings.Contains(got.body, evil):
		default:
			w.t.Errorf("%s: %s: %.200s", r.Name, kind, got.body)
		}
	}
	if held < 15 {
		w.t.Errorf("only %d answers have HTML in them", held)
	}
	w.streamed()
}

// streamed reads the stream from the first change on, and fails if it contains HTML.
func (w *whole) streamed() {
	w.t.Helper()
	got := w.stream("?last_event_id=0", w.last())
	if got.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		w.t.Errorf("the stream: %v", got.header)
	}
	if strings.ContainsAny(got.body, "<>&") || !strings.Contains(got.body, `\u003cscript`) {
		w.t.Errorf("the stream: %.500s", got.body)
	}
}
