package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// newChannel creates a channel, which is a named queue of tasks, and returns its id.
func (s *script) newChannel(name string) string {
	s.Helper()
	r := s.asUser("POST", "/v1/channels", object{"name": name + "-" + s.mark, "description": ""})
	return r.want(201).one("channel", channelShape)["id"].(string)
}

// newTask queues a task and returns its id. The members of the object more are added to the request
// body, or replace its default members.
func (s *script) newTask(more object) string {
	s.Helper()
	body := object{"title": "a task", "description": "to be done"}
	for k, v := range more {
		body[k] = v
	}
	return s.asUser("POST", "/v1/tasks", body).want(201).one("task", taskShape)["id"].(string)
}

// claim tries to claim a task of a channel for the agent, and returns the answer.
func (s *script) claim(agent, channel string) reply {
	s.Helper()
	return s.asWorker("POST", "/v1/tasks/claim", object{"agent_id": agent, "channel_id": channel})
}

// claims claims a task of a channel for the agent. The test ends unless the claimed task is the
// given one.
func (s *script) claims(agent, channel, task string) {
	s.Helper()
	got := s.claim(agent, channel).want(200).one("task", claimedShape)
	s.equal("the claimed task", got, object{"id": task, "status": "in_progress", "assigned_agent_id": agent})
}

// ends completes or fails a task on behalf of the agent that has claimed it. The parameter action
// is "complete" or "fail". The returned object is the task.
func (s *script) ends(action, agent, task string) object {
	s.Helper()
	body := object{"task_id": task, "agent_id": agent, "reason": "because " + s.mark}
	return s.asWorker("POST", "/v1/tasks/"+action, body).want(200).one("task", endedShape)
}

// task requests the list of tasks and returns the task with this id from it.
func (s *script) task(id string) object {
	s.Helper()
	return s.find(s.asUser("GET", "/v1/tasks", nil).want(200).list("tasks", taskShape), id)
}

var workPromises = []requirement{
	{"a task is queued and listed as it was sent", func(s *script) {
		channel := s.newChannel("given")
		body := object{"channel_id": channel, "title": "title " + s.mark, "description": "<b>&\n\"ü\"</b>", "priority": 7, "execution_mode": "interactive"}
		made := s.asUser("POST", "/v1/tasks", body).want(201).one("task", taskShape)
		want := body.with("status", "queued").with("id", made["id"])
		s.equal("the answer", made, want)
		s.equal("the list", s.task(made["id"].(string)), want)
	}},
	{"a task needs a title and an existing channel", func(s *script) {
		s.asUser("POST", "/v1/tasks", object{"channel_id": s.newChannel("untitled"), "title": ""}).refuses(400)
		s.asUser("POST", "/v1/tasks", object{"channel_id": "nothing-" + s.mark, "title": "t"}).refuses(400, 404)
		s.asUser("POST", "/v1/tasks", object{"title": "t"}).refuses(400, 404)
	}},
	{"a claim without a queued task is 404 no_tasks", func(s *script) {
		agent, channel := s.newAgent("idle"), s.newChannel("empty")
		if code := s.claim(agent, channel).refuses(404); code != "no_tasks" {
			s.Errorf("the code is %q, want no_tasks", code)
		}
	}},
	{"a claim names a channel by its id or its name", func(s *script) {
		agent, channel := s.newAgent("names"), s.newChannel("named")
		first, second := s.newTask(object{"channel_id": channel}), s.newTask(object{"channel_id": channel})
		s.claims(agent, channel, first)
		s.ends("complete", agent, first)
		got := s.asWorker("POST", "/v1/tasks/claim", object{"agent_id": agent, "channel": "named-" + s.mark}).want(200).one("task", claimedShape)
		s.equal("the task claimed by name", got, object{"id": second})
	}},
	{"a claim takes no task of another channel", func(s *script) {
		agent, mine, other := s.newAgent("mine"), s.newChannel("mine"), s.newChannel("other")
		s.newTask(object{"channel_id": other})
		s.claim(agent, mine).refuses(404)
	}},
	{"the highest priority is first, then the oldest task", func(s *script) {
		agent, channel := s.newAgent("first"), s.newChannel("first")
		low := s.newTask(object{"channel_id": channel, "priority": 1})
		high := s.newTask(object{"channel_id": channel, "priority": 9})
		later := s.newTask(object{"channel_id": channel, "priority": 1})
		for _, task := range []string{high, low, later} {
			s.claims(agent, channel, task)
			s.ends("complete", agent, task)
		}
	}},
	{"the same idempotency key gives the same task", func(s *script) {
		agent, channel := s.newAgent("key"), s.newChannel("key")
		s.newTask(object{"channel_id": channel})
		s.newTask(object{"channel_id": channel})
		body := object{"agent_id": agent, "channel_id": channel, "idempotency_key": "key-" + s.mark}
		first := s.asWorker("POST", "/v1/tasks/claim", body).want(200).one("task", claimedShape)
		again := s.asWorker("POST", "/v1/tasks/claim", body).want(200).one("task", claimedShape)
		s.equal("the second answer", again, object{"id": first["id"]})
		other := s.asWorker("POST", "/v1/tasks/claim", body.with("idempotency_key", "other-"+s.mark)).want(200).one("task", claimedShape)
		if other["id"] == first["id"] {
			s.Errorf("another key gave the same task")
		}
	}},
	{"concurrent claims get different tasks", oneEach},
	{"claiming and ending a task do not change the agent", func(s *script) {
		agent, channel := s.newAgent("untouched"), s.newChannel("untouched")
		task := s.newTask(object{"channel_id": channel})
		s.claims(agent, channel, task)
		s.equal("after the claim", s.seen(agent), object{"claude_status": "idle"})
		s.heartbeat(agent, "running", object{"current_task_id": task})
		s.ends("complete", agent, task)
		s.equal("after the end", s.seen(agent), object{"claude_status": "running"})
	}},
	{"a completed task is done, and completing it again is no error", func(s *script) { endsOnce(s, "complete", "done") }},
	{"a failed task is failed, and failing it again is no error", func(s *script) { endsOnce(s, "fail", "failed") }},
	{"an unknown task is 404", func(s *script) {
		agent := s.newAgent("lost")
		for _, how := range []string{"complete", "fail"} {
			s.asWorker("POST", "/v1/tasks/"+how, object{"task_id": "nothing-" + s.mark, "agent_id": agent}).refuses(404)
		}
	}},
	{"the tasks of a chain are claimed in order, one at a time", chainInOrder},
	{"a task without a sequence is appended to its chain", func(s *script) {
		agent, channel := s.newAgent("append"), s.newChannel("append")
		chain := s.asUser("POST", "/v1/chains", object{"name": "end-" + s.mark, "channel_id": channel}).want(201).one("chain", chainShape)["id"]
		third := s.newTask(object{"channel_id": channel, "chain_id": chain, "sequence": 3})
		last := s.newTask(object{"channel_id": channel, "chain_id": chain})
		first := s.newTask(object{"channel_id": channel, "chain_id": chain, "sequence": 1})
		s.equal("the task", s.task(last), object{"sequence": 4})
		for _, task := range []string{first, third, last} {
			s.claims(agent, channel, task)
			s.ends("complete", agent, task)
		}
	}},
}

// endsOnce checks that only the agent that has claimed a task can end it, and that ending it twice
// is not an error. The parameter how is "complete" or "fail", and status is the status that the
// task must have afterwards.
func endsOnce(s *script, how, status string) {
	owner, other, channel := s.newAgent("owner"), s.newAgent("other"), s.newChannel("ends")
	task := s.newTask(object{"channel_id": channel})
	s.claims(owner, channel, task)
	theirs := object{"task_id": task, "agent_id": other}
	s.asWorker("POST", "/v1/tasks/"+how, theirs).refuses(409)
	s.equal("after another's word", s.task(task), object{"status": "in_progress", "assigned_agent_id": owner})

	want := object{"id": task, "status": status, "assigned_agent_id": owner}
	ended := s.ends(how, owner, task)
	s.equal("the answer", ended, want)
	s.equal("the answer to saying it again", s.ends(how, owner, task), want.with("done_at", ended["done_at"]))
	s.asWorker("POST", "/v1/tasks/"+how, theirs).refuses(409)
	s.equal("the task in the end", s.task(task), want)
	s.claim(owner, channel).refuses(404)
}

// oneEach lets several agents claim tasks at the same time, with fewer tasks than agents. It checks
// that each task is claimed exactly once.
func oneEach(s *script) {
	const tasks, asking = 4, 8
	channel := s.newChannel("race")
	var want []string
	for range tasks {
		want = append(want, s.newTask(object{"channel_id": channel}))
	}
	var ids []string
	for i := range asking {
		ids = append(ids, s.newAgent(fmt.Sprintf("racer-%d", i)))
	}
	replies, errs := make([]reply, asking), make([]error, asking)
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			body := object{"agent_id": id, "channel_id": channel}
			replies[i], errs[i] = s.exchange(s.WorkerToken, "POST", "/v1/tasks/claim", body)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	var got []string
	for _, r := range replies {
		if r.want(200, 404).status == 200 {
			got = append(got, r.one("task", claimedShape)["id"].(string))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Errorf("claimed were %q, want each once of %q", got, want)
	}
}

// chainInOrder checks that the tasks of a chain are claimed one at a time, in the order of their
// sequence numbers. The task with the highest number must be claimed last, although it was queued
// first and has the highest priority.
func chainInOrder(s *script) {
	agent, other, channel := s.newAgent("chained"), s.newAgent("unchained"), s.newChannel("chained")
	made := s.asUser("POST", "/v1/chains", object{"name": "row-" + s.mark, "channel_id": channel}).want(201).one("chain", chainShape)
	tasks := map[int]string{}
	for _, sequence := range []int{3, 1, 2} {
		tasks[sequence] = s.newTask(object{"channel_id": channel, "chain_id": made["id"], "sequence": sequence, "priority": sequence})
		s.equal("the task", s.task(tasks[sequence]), object{"chain_id": made["id"], "sequence": sequence})
	}
	for sequence := 1; sequence <= 3; sequence++ {
		s.claims(agent, channel, tasks[sequence])
		if code := s.claim(other, channel).refuses(404); code != "no_tasks" {
			s.Errorf("while task %d is in progress the code is %q, want no_tasks", sequence, code)
		}
		s.ends("complete", agent, tasks[sequence])
	}
}
