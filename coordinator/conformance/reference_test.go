package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	adminToken  = "reference-admin-token"
	workerToken = "reference-worker-token"
)

// reference is a minimal coordinator that meets every requirement, unless a mutant is set that
// breaks one.
type reference struct {
	broken string // name of the mutant, which breaks one requirement; see mutants; empty for none

	mu      sync.Mutex
	now     time.Time
	moved   chan struct{} // closed and replaced after every change of a row
	last    int
	keys    map[string]object
	agents  []object
	rows    map[string][]object // the stored objects by kind: channels, chains, tasks, inputs, events
	history []note
	streams int
}

type note struct {
	id   int
	data string
}

func newReference(t *testing.T, broken string) Target {
	r := &reference{
		broken: broken, now: time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC), moved: make(chan struct{}),
		keys: map[string]object{}, rows: map[string][]object{},
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return Target{URL: server.URL, Token: adminToken, WorkerToken: workerToken, Advance: r.advance}
}

func (r *reference) is(word string) bool { return r.broken == word }

func (r *reference) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
	r.wake()
}

func (r *reference) wake() {
	close(r.moved)
	r.moved = make(chan struct{})
}

// fault is an error answer.
type fault struct {
	status  int
	code    string
	message string
}

func (r *reference) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	status, body := r.answer(w, q)
	if status == 0 {
		return // the handler of the stream has already answered
	}
	if f, ok := body.(fault); ok {
		status, body = f.status, object{"error": object{"code": f.code, "message": f.message}}
		if r.is("echoes the token") {
			body.(object)["error"].(object)["message"] = q.URL.String()
		}
		if r.is("plain 404") && status == 404 && f.code == "no_route" {
			http.NotFound(w, q)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // ignore the error: the client may be gone
}

func (r *reference) answer(w http.ResponseWriter, q *http.Request) (int, any) {
	if q.URL.Path == "/health" && !r.is("health needs a token") {
		return 200, object{"status": "ok"}
	}
	if !r.admitted(q) {
		return 401, fault{401, "unauthorized", "a token is needed"}
	}
	if q.URL.Path == "/v1/stream" && q.Method == http.MethodGet {
		r.stream(w, q)
		return 0, nil
	}
	handle, f := r.route(q.Method, strings.Split(strings.TrimPrefix(q.URL.Path, "/v1/"), "/"))
	if f.status != 0 {
		return f.status, f
	}
	body := object{}
	if q.Method != http.MethodGet && q.Method != http.MethodDelete && !r.decode(q, body) {
		return 400, fault{400, "bad_json", "the body is not what it should be"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	status, answer := handle(body)
	if _, ok := answer.(fault); ok {
		return status, answer
	}
	data, err := json.Marshal(answer) // while the lock is held: the rows may change afterwards
	if err != nil {
		return 500, fault{500, "internal", err.Error()}
	}
	return status, json.RawMessage(data)
}

func (r *reference) admitted(q *http.Request) bool {
	token, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	if token == "" && !r.is("no API keys") {
		token = q.Header.Get("X-Api-Key")
		if token == "" && (q.Method == http.MethodGet || r.is("writes by address")) {
			token = q.URL.Query().Get("api_key")
		}
	}
	if token == "" && (q.Method == http.MethodGet && !r.is("no token in the address") || r.is("writes by address")) {
		token = q.URL.Query().Get("token")
	}
	return token == adminToken || token == workerToken || r.is("no tokens") || token != "" && r.is("any token")
}

func (r *reference) decode(q *http.Request, into object) bool {
	data, _ := io.ReadAll(q.Body) // ignore the error: a truncated body is not valid JSON and is refused
	if json.Unmarshal(data, &into) != nil {
		return r.is("lenient JSON")
	}
	for member, value := range into {
		_, number := value.(float64)
		if number != (member == "priority" || member == "sequence") && number {
			return r.is("lenient JSON")
		}
	}
	return true
}

type handler func(body object) (int, any)

func (r *reference) route(method string, path []string) (handler, fault) {
	id := ""
	if len(path) > 1 && path[0] == "agents" && path[1] != "heartbeat" && path[1] != "request-session" || len(path) > 1 && path[0] == "chains" {
		id, path[1] = path[1], "{id}"
	}
	if len(path) == 3 && path[0] == "tasks" && path[2] == "status" {
		id, path[1] = path[1], "{id}"
	}
	if len(path) == 3 && path[1] == "by-name" {
		id, path[2] = path[2], "{id}"
	}
	found, ok := r.handlers(id)[strings.Join(path, "/")]
	if path[0] == "stream" {
		ok = true
	}
	switch {
	case !ok, r.is("wrong method is 404") && found[method] == nil:
		return nil, fault{404, "no_route", "there is no such route"}
	case found[method] == nil:
		return nil, fault{405, "method_not_allowed", "not with this method"}
	}
	return found[method], fault{}
}

func (r *reference) handlers(id string) map[string]map[string]handler {
	list := func(kind string) handler {
		if r.is("unlisted " + kind) {
			return func(object) (int, any) { return 200, object{kind: []object{}} }
		}
		return func(object) (int, any) { return 200, object{kind: r.listed(kind)} }
	}
	return map[string]map[string]handler{
		"agents/heartbeat":         {"POST": r.heartbeat},
		"agents":                   {"GET": func(object) (int, any) { return 200, object{"agents": r.shown(false)} }},
		"agents/{id}":              {"GET": func(object) (int, any) { return r.one("agent", r.find(r.agents, "id", id)) }},
		"agents/{id}/current-task": {"GET": func(object) (int, any) { return r.current(id) }},
		"agents/{id}/channels":     {"PATCH": func(b object) (int, any) { return r.subscribe(id, b) }},
		"channels":                 {"GET": list("channels"), "POST": r.addChannel},
		"channels/by-name/{id}":    {"GET": func(object) (int, any) { return r.byName(id) }},
		"chains":                   {"GET": list("chains"), "POST": r.addChain},
		"tasks":                    {"GET": list("tasks"), "POST": r.addTask},
		"tasks/claim":              {"POST": r.claim},
		"tasks/complete":           {"POST": func(b object) (int, any) { return r.end(b, "done") }},
		"tasks/fail":               {"POST": func(b object) (int, any) { return r.end(b, "failed") }},
		"tasks/inputs":             {"POST": r.addInput},
		"tasks/inputs/claim":       {"POST": r.claimInput},
		"events":                   {"GET": list("events"), "POST": r.addEvent},
		"dashboard":                {"GET": r.dashboard},
		"agents/request-session":   {"POST": r.requestSession},
		"tasks/assign":             {"POST": r.assign},
		"tasks/{id}/status":        {"POST": func(b object) (int, any) { return r.setStatus(id, b) }},
		"chains/{id}": {
			"GET":    func(object) (int, any) { return r.one("chain", r.find(r.rows["chains"], "id", id)) },
			"PUT":    func(b object) (int, any) { return r.changeChain(id, b) },
			"DELETE": func(object) (int, any) { return r.dropChain(id) },
		},
		"chains/{id}/assign-agent": {"POST": func(b object) (int, any) { return r.changeChain(id, object{"owner_agent_id": b["agent_id"]}) }},
		"chains/{id}/detach":       {"POST": func(b object) (int, any) { return r.detach(id, b) }},
		"notifications":            {"GET": r.notifications},
		"notifications/dismiss":    {"POST": r.dismiss},
	}
}

func some(list []object) []object { return append([]object{}, list...) }

func (r *reference) stamp() any {
	if r.is("times are numbers") {
		return r.now.Unix()
	}
	return r.now.Format(time.RFC3339Nano)
}

func (r *reference) find(list []object, member, value string) object {
	i := slices.IndexFunc(list, func(o object) bool { return o[member] == value })
	if i < 0 {
		return nil
	}
	return list[i]
}

func (r *reference) one(member string, o object) (int, any) {
	if o == nil && r.is("missing is 400") {
		return 400, fault{400, "invalid_request", "there is no such " + member}
	}
	if o == nil {
		return 404, fault{404, "not_found", "there is no such " + member}
	}
	return 200, object{member: o}
}

func (r *reference) number() int {
	r.last++
	return r.last
}

// publish sends the change of a row to all readers of the stream.
func (r *reference) publish(kind string, row object) {
	update := object{"type": kind, "time": r.stamp(), "change": row}
	if r.is("no change on the stream") {
		delete(update, "change")
	}
	if r.is("inputs are not streamed") && kind == "inputs" {
		return
	}
	data, _ := json.Marshal(update) // cannot fail: maps and strings can always be encoded
	r.history = append(r.history, note{r.number(), string(data)})
	r.wake()
}

// add stores a new row and returns it.
func (r *reference) add(kind string, row object) object {
	row["id"], row["created_at"] = fmt.Sprintf("%s-%d", kind, r.number()), r.stamp()
	r.rows[kind] = append(r.rows[kind], row)
	r.publish(kind, row)
	return row
}

func text(body object, member string) string {
	value, _ := body[member].(string)
	return value
}

func (r *reference) heartbeat(b object) (int, any) {
	id := text(b, "agent_id")
	if id == "" {
		id = fmt.Sprintf("agent-%d", r.number())
		if r.is("one id for all") {
			id = "agent-1"
		}
	}
	status := cmp.Or(text(b, "claude_status"), text(b, "status"))
	if !slices.Contains([]string{"", "idle", "running", "waiting"}, status) && !r.is("any claude status") {
		return 400, fault{400, "invalid_request", "the claude status is idle, running or waiting"}
	}
	a := r.find(r.agents, "id", id)
	if a == nil || r.is("every heartbeat is new") {
		a = object{"id": id, "created_at": r.stamp(), "last_seen": r.stamp(), "seen": r.now}
		r.agents = append(r.agents, a)
	}
	if r.is("status is ignored") {
		status = text(b, "claude_status")
	}
	if r.is("status first") {
		status = cmp.Or(text(b, "status"), text(b, "claude_status"))
	}
	a["name"], a["status"], a["claude_status"], a["current_task_id"] = text(b, "name"), status, status, text(b, "current_task_id")
	if meta, ok := b["meta"]; ok && !r.is("meta is dropped") {
		a["meta"] = meta
	}
	if !r.is("seen once") {
		a["last_seen"], a["seen"] = r.stamp(), r.now
	}
	a["updated_at"] = r.stamp()
	r.publish("agents", a)
	return 200, object{"agent": a}
}

// shown returns the agents, with the members that are computed at every read. board is true for the
// dashboard.
func (r *reference) shown(board bool) []object {
	list := []object{}
	for _, a := range r.agents {
		a = maps.Clone(a)
		age := r.now.Sub(a["seen"].(time.Time))
		delete(a, "seen")
		limit := offlineAfter
		switch {
		case r.is("online at 30 s"):
			limit += time.Millisecond
		case r.is("offline at 29 s"):
			limit -= time.Second
		case r.is("always online on the dashboard") && board:
			limit = time.Hour
		}
		a["worker_status"] = "online"
		if age >= limit {
			a["worker_status"] = "offline"
			if r.is("offline is idle") {
				a["claude_status"] = "idle"
			}
		}
		if r.is("no worker status") {
			delete(a, "worker_status")
		}
		list = append(list, a)
	}
	return list
}

func (r *reference) current(agent string) (int, any) {
	a := r.find(r.agents, "id", agent)
	if a == nil {
		return r.one("agent", nil)
	}
	task := r.find(r.rows["tasks"], "id", text(a, "current_task_id"))
	if task == nil && r.is("empty current task") {
		return 200, object{"task": nil}
	}
	return r.one("task", task)
}

func (r *reference) subscribe(id string, b object) (int, any) {
	a := r.find(r.agents, "id", id)
	if a == nil {
		return r.one("agent", nil)
	}
	list, _ := b["subscriptions"].([]any)
	if old, ok := a["subscriptions"].([]any); ok && r.is("channels are added") {
		list = append(old, list...)
	}
	a["subscriptions"] = list
	r.publish("agents", a)
	return 200, object{"agent": a}
}

func (r *reference) byName(name string) (int, any) {
	c := r.find(r.rows["channels"], "name", name)
	if c == nil && r.is("any channel by name") {
		c = object{"id": "x", "name": name}
	}
	return r.one("channel", c)
}

func (r *reference) addChannel(b object) (int, any) {
	name := text(b, "name")
	if name == "" {
		return 400, fault{400, "invalid_request", "a channel has a name"}
	}
	if old := r.find(r.rows["channels"], "name", name); old != nil && !r.is("names taken twice") {
		return 200, object{"channel": old}
	}
	return 201, object{"channel": r.add("channels", object{"name": name, "description": text(b, "description")})}
}

func (r *reference) addChain(b object) (int, any) {
	if text(b, "name") == "" {
		return 400, fault{400, "invalid_request", "a chain has a name"}
	}
	row := object{"name": text(b, "name"), "description": text(b, "description"), "channel_id": text(b, "channel_id"), "status": "queued"}
	return 201, object{"chain": r.add("chains", row)}
}

func (r *reference) addTask(b object) (int, any) {
	if text(b, "title") == "" && !r.is("untitled tasks") || r.find(r.rows["channels"], "id", text(b, "channel_id")) == nil {
		return 400, fault{400, "invalid_request", "a task has a title and a channel"}
	}
	row := object{"status": "queued", "priority": 0.0, "updated_at": r.stamp(), "description": ""}
	for _, member := range []string{"channel_id", "chain_id", "sequence", "title", "description", "priority", "execution_mode"} {
		if value, ok := b[member]; ok && !r.is("dropped "+member) {
			row[member] = value
		}
	}
	if chain := text(row, "chain_id"); chain != "" && row["sequence"] == nil {
		last := 0.0
		for _, t := range r.rows["tasks"] {
			if before, _ := t["sequence"].(float64); t["chain_id"] == chain && !r.is("no sequence by itself") {
				last = max(last, before)
			}
		}
		row["sequence"] = last + 1
	}
	return 201, object{"task": r.add("tasks", row)}
}
