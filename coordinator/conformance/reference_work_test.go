package conformance

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// keyed calls create, but only once for each idempotency key. If the key was used before, it
// returns the earlier row, and repeated is true.
func (r *reference) keyed(b object, kind string, create func() object) (row object, repeated bool) {
	key := text(b, "idempotency_key")
	if key == "" || r.is("no keys for "+kind) {
		return create(), false
	}
	name := kind + " " + text(b, "agent_id") + " " + key
	if old, ok := r.keys[name]; ok {
		return old, true
	}
	row = create()
	if row != nil {
		r.keys[name] = row
	}
	return row, false
}

func (r *reference) claim(b object) (int, any) {
	task, _ := r.keyed(b, "claims", func() object { return r.take(b) })
	if task == nil {
		if r.is("nothing waiting is 200") {
			return 200, object{"task": nil}
		}
		return 404, fault{404, "no_tasks", "nothing is waiting"}
	}
	return 200, object{"task": task}
}

func (r *reference) take(b object) object {
	channel := text(b, "channel_id")
	if c := r.find(r.rows["channels"], "name", text(b, "channel")); c != nil && !r.is("no channel names in claims") {
		channel = text(c, "id")
	}
	var ready []object
	for _, t := range r.rows["tasks"] {
		if t["status"] == "queued" && (t["channel_id"] == channel || r.is("any channel's tasks")) && r.isNext(t) && r.mayHave(t, text(b, "agent_id")) {
			ready = append(ready, t)
		}
	}
	slices.SortStableFunc(ready, func(a, b object) int {
		if r.is("first come") {
			return 0
		}
		return cmp.Compare(b["priority"].(float64), a["priority"].(float64))
	})
	if len(ready) == 0 {
		return nil
	}
	t := ready[0]
	if !r.is("claims leave tasks queued") {
		t["status"] = "in_progress"
	}
	t["assigned_agent_id"], t["claimed_at"], t["updated_at"] = text(b, "agent_id"), r.stamp(), r.stamp()
	if a := r.find(r.agents, "id", text(b, "agent_id")); a != nil && r.is("claim sets running") {
		a["claude_status"] = "running"
	}
	r.publish("tasks", t)
	return t
}

// isNext reports whether all tasks before t in its chain are done.
func (r *reference) isNext(t object) bool {
	chain := text(t, "chain_id")
	if chain == "" || r.is("chains by priority") {
		return true
	}
	return !slices.ContainsFunc(r.rows["tasks"], func(o object) bool {
		earlier := o["chain_id"] == chain && o["sequence"].(float64) < t["sequence"].(float64)
		open := o["status"] == "queued" || o["status"] == "in_progress" && !r.is("chains side by side")
		return earlier && open
	})
}

func (r *reference) end(b object, status string) (int, any) {
	t := r.find(r.rows["tasks"], "id", text(b, "task_id"))
	if t == nil {
		return r.one("task", nil)
	}
	if t["assigned_agent_id"] != text(b, "agent_id") && !r.is("anyone ends a task") {
		return 409, fault{409, "conflict", "another agent holds the task"}
	}
	if t["status"] != "in_progress" {
		if r.is("ending again is refused") {
			return 409, fault{409, "conflict", "the task has ended"}
		}
		return 200, object{"task": t}
	}
	if r.is("failed is done") {
		status = "done"
	}
	t["status"], t["done_at"], t["updated_at"] = status, r.stamp(), r.stamp()
	if a := r.find(r.agents, "id", text(b, "agent_id")); a != nil && r.is("the end sets idle") {
		a["claude_status"] = "idle"
	}
	r.publish("tasks", t)
	return 200, object{"task": t}
}

func (r *reference) addInput(b object) (int, any) {
	if r.find(r.rows["tasks"], "id", text(b, "task_id")) == nil {
		return r.one("task", nil)
	}
	if kind := text(b, "kind"); kind != "text" && kind != "keys" && !r.is("any kind of input") {
		return 400, fault{400, "invalid_request", "the kind is text or keys"}
	}
	if a := r.find(r.agents, "id", text(b, "agent_id")); a != nil && r.is("an answer sets running") {
		a["claude_status"] = "running"
	}
	enter, _ := b["send_enter"].(bool)
	input, _ := r.keyed(b, "inputs", func() object {
		return r.add("inputs", object{
			"task_id": text(b, "task_id"), "agent_id": text(b, "agent_id"), "kind": text(b, "kind"), "text": text(b, "text"), "send_enter": enter,
		})
	})
	if r.is("inputs are 200") {
		return 200, object{"input": input}
	}
	return 201, object{"input": input}
}

func (r *reference) claimInput(b object) (int, any) {
	t := r.find(r.rows["tasks"], "id", text(b, "task_id"))
	if t == nil {
		return r.one("task", nil)
	}
	if t["assigned_agent_id"] != text(b, "agent_id") && !r.is("inputs for anyone") {
		return 409, fault{409, "conflict", "another agent holds the task"}
	}
	inputs := some(r.rows["inputs"])
	if r.is("last input first") {
		slices.Reverse(inputs)
	}
	for _, i := range inputs {
		if i["task_id"] == t["id"] && i["claimed_at"] == nil {
			if !r.is("inputs again and again") {
				i["claimed_at"] = r.stamp()
			}
			r.publish("inputs", i)
			return 200, object{"input": i}
		}
	}
	if r.is("another word for no inputs") {
		return 404, fault{404, "not_found", "there is no input"}
	}
	return 404, fault{404, "no_inputs", "there is no input"}
}

func (r *reference) addEvent(b object) (int, any) {
	if text(b, "type") == "" && !r.is("events without type") {
		return 400, fault{400, "invalid_request", "an event has a type"}
	}
	if text(b, "type") == "agent.automation.session_request.completed" {
		if status, refused := r.sessionStarted(b); refused != nil {
			return status, refused
		}
	}
	row := object{"agent_id": text(b, "agent_id"), "task_id": text(b, "task_id"), "type": text(b, "type")}
	if payload, ok := b["payload"]; ok && !r.is("dropped payload") {
		row["payload"] = payload
	}
	if a := r.find(r.agents, "id", text(b, "agent_id")); a != nil && r.is("a question sets waiting") {
		a["claude_status"] = "waiting"
	}
	made, again := r.keyed(b, "events", func() object { return r.add("events", row) })
	if !again {
		return 201, object{"event": made}
	}
	if r.is("deduped is 201") {
		return 201, object{"deduped": true}
	}
	return 200, object{"deduped": true}
}

func (r *reference) dashboard(object) (int, any) {
	board := object{"agents": r.shown(true)}
	for _, kind := range []string{"channels", "chains", "tasks", "events"} {
		board[kind] = r.listed(kind)
	}
	if r.is("dashboard without chains") {
		delete(board, "chains")
	}
	return 200, board
}

func (r *reference) stream(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	last := q.Header.Get("Last-Event-ID")
	if last == "" && !r.is("no last id in the address") {
		last = q.URL.Query().Get("last_event_id")
	}
	at, pinged, deaf := r.begin(last)
	if !r.is("no hello") {
		fmt.Fprintf(w, "id: %d\nevent: hello\ndata: {}\n\n", r.position(last))
	}
	for {
		r.mu.Lock()
		history, now, moved := r.history, r.now, r.moved
		r.mu.Unlock()
		for ; at < len(history) && !deaf; at++ {
			r.write(w, history[at])
		}
		for ; now.Sub(pinged) >= beatEvery; pinged = pinged.Add(beatEvery) {
			if !r.is("no ping") {
				fmt.Fprint(w, ": ping\n\n")
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-moved:
		case <-q.Context().Done():
			return
		}
	}
}

// position returns the number of the change after which a stream continues. lastID is the id that
// the client sent.
func (r *reference) position(lastID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := strconv.Atoi(lastID)
	if err != nil || r.is("hello skips") {
		return r.last
	}
	return id
}

// begin returns the index in the history at which a stream starts. If deaf is true, the stream
// sends nothing: this is the second stream of a mutant that serves only the first.
func (r *reference) begin(last string) (at int, now time.Time, deaf bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams++
	deaf = r.streams > 1 && r.is("one listener only")
	id, err := strconv.Atoi(last)
	if err != nil || r.is("no replay") {
		return len(r.history), r.now, deaf
	}
	if r.is("replay repeats") {
		id--
	}
	at, _ = slices.BinarySearchFunc(r.history, id+1, func(n note, id int) int { return n.id - id })
	return at, r.now, deaf
}

func (r *reference) write(w http.ResponseWriter, n note) {
	if !r.is("no ids on the stream") {
		fmt.Fprintf(w, "id: %d\n", n.id)
	}
	fmt.Fprintf(w, "event: update\ndata: %s\n\n", n.data)
}
