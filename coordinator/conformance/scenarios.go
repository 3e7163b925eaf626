package conformance

import (
	"fmt"
	"time"
)

// The protocol's interval between heartbeats, and the time without a heartbeat after which an agent
// counts as offline.
const (
	beatEvery    = 15 * time.Second
	offlineAfter = 30 * time.Second
)

// wait lets d pass on the coordinator's clock.
func (s *script) wait(d time.Duration) {
	if s.Advance != nil {
		s.Advance(d)
		return
	}
	time.Sleep(d)
}

// watch measures the time since the last heartbeat of an agent.
type watch struct {
	s      *script
	passed time.Duration
	start  time.Time
}

func (s *script) watch() *watch { return &watch{s: s, start: time.Now()} }

// until waits until about d has passed since the heartbeat. It is not exact enough to test a time
// limit of the protocol; for that, use atLeast or justBefore.
func (w *watch) until(d time.Duration) {
	if w.s.Advance == nil {
		time.Sleep(time.Until(w.start.Add(d)))
		return
	}
	w.s.Advance(d - w.passed)
	w.passed = d
}

// atLeast waits until d has certainly passed since the coordinator received the heartbeat.
func (w *watch) atLeast(d time.Duration) {
	if w.s.Advance == nil {
		d += 2 * time.Second
	}
	w.until(d)
}

func (w *watch) justBefore(d time.Duration) {
	if w.s.Advance == nil {
		w.until(d - 2*time.Second)
		return
	}
	w.until(d - 100*time.Millisecond)
}

// shows checks that an agent has all members of the object want, with the same values. It checks
// this in the list of agents and on the dashboard.
func (s *script) shows(id string, want object) {
	s.Helper()
	s.equal("the list", s.seen(id), want)
	board := s.asUser("GET", "/v1/dashboard", nil).want(200).list("agents", listedAgentShape)
	s.equal("the dashboard", s.find(board, id), want)
}

var scenarioPromises = []requirement{
	{"scenario 1: worker running, no task", func(s *script) {
		id := s.newAgent("scenario-1")
		want := object{"worker_status": "online", "claude_status": "idle", "current_task_id": ""}
		for beat := range 3 {
			w := s.watch()
			s.heartbeat(id, "idle", object{"current_task_id": ""})
			for second := time.Duration(0); second < beatEvery; second += time.Second {
				w.until(second)
				s.shows(id, want)
			}
			w.until(beatEvery)
			s.Logf("beat %d: online for 15 s", beat)
		}
	}},
	{"scenario 2: worker running, task executing", func(s *script) {
		id, channel := s.newAgent("scenario-2"), s.newChannel("scenario-2")
		task := s.newTask(object{"channel_id": channel})
		s.claims(id, channel, task)
		s.shows(id, object{"worker_status": "online", "claude_status": "idle"})
		for range 2 {
			w := s.watch()
			s.heartbeat(id, "running", object{"current_task_id": task})
			s.shows(id, object{"worker_status": "online", "claude_status": "running", "current_task_id": task})
			w.until(beatEvery)
		}
		s.ends("complete", id, task)
		s.shows(id, object{"worker_status": "online", "claude_status": "running"})
		s.heartbeat(id, "idle", object{"current_task_id": ""})
		s.shows(id, object{"worker_status": "online", "claude_status": "idle", "current_task_id": ""})
	}},
	{"scenario 3: worker crashed", func(s *script) {
		id, task := s.held("scenario-3")
		w := s.watch()
		s.heartbeat(id, "running", object{"current_task_id": task})
		last := s.seen(id)["last_seen"]
		for second := time.Duration(0); second < offlineAfter-2*time.Second; second += time.Second {
			w.until(second)
			s.shows(id, object{"worker_status": "online", "claude_status": "running"})
		}
		w.justBefore(offlineAfter)
		s.shows(id, object{"worker_status": "online", "claude_status": "running"})
		for _, second := range []time.Duration{30, 31, 45, 60} {
			w.atLeast(second * time.Second)
			s.Logf("%d s after the last heartbeat", second)
			s.shows(id, object{"worker_status": "offline", "claude_status": "running", "current_task_id": task, "last_seen": last})
		}
		s.heartbeat(id, "idle", object{"current_task_id": ""})
		s.shows(id, object{"worker_status": "online", "claude_status": "idle"})
	}},
	{"scenario 4: interactive prompt", func(s *script) {
		id, task := s.held("scenario-4")
		at := object{"current_task_id": task}
		s.heartbeat(id, "running", at)
		s.wait(time.Second)
		question := object{"agent_id": id, "task_id": task, "type": "task.prompt", "payload": object{"kind": "yes_no", "options": []string{"y", "n"}}}
		s.asWorker("POST", "/v1/events", question).want(201)
		s.shows(id, object{"claude_status": "running"})
		s.heartbeat(id, "waiting", at)
		for second := range 5 {
			s.wait(time.Second)
			s.Logf("%d s of waiting", second+1)
			s.shows(id, at.with("worker_status", "online").with("claude_status", "waiting"))
		}
		answer := object{"task_id": task, "agent_id": id, "kind": "text", "text": "y", "send_enter": true, "idempotency_key": fmt.Sprint("answer ", s.mark)}
		s.asUser("POST", "/v1/tasks/inputs", answer).want(201)
		s.shows(id, object{"claude_status": "waiting"})
		got := s.claimInput(id, task).want(200).one("input", inputShape)
		s.equal("the answer", got, object{"text": "y", "send_enter": true})
		s.shows(id, object{"claude_status": "waiting"})
		s.heartbeat(id, "running", at)
		s.shows(id, at.with("worker_status", "online").with("claude_status", "running"))
	}},
}
