package main

import (
	"fmt"
	"time"
)

const (
	agents  = 1_000 // that send heartbeats
	bite    = 2_000 // tasks that are claimed before the queue is filled up again
	channel = "bench"
)

func agentID(i int) string { return fmt.Sprintf("agent-%04d", i) }

// beats has all agents say what they do, by turns.
func (b *bench) beats() error {
	requests := make([][]byte, agents)
	for i := range requests {
		requests[i] = b.server.request("POST", "/v1/agents/heartbeat", fmt.Sprintf(`{"agent_id":%q,"claude_status":"idle"}`, agentID(i)))
	}
	beat := func(end func(i int) bool) (r result, err error) {
		err = b.load(b.clients, &r, func(first int) func(answer) ([]byte, *result) {
			i := first - b.clients
			return func(answer) ([]byte, *result) {
				if i += b.clients; end(i) {
					return nil, nil
				}
				return requests[i%agents], &r
			}
		})
		return r, err
	}
	if _, err := beat(func(i int) bool { return i >= agents }); err != nil { // so that all are known
		return err
	}
	until := time.Now().Add(b.each)
	r, err := beat(func(int) bool { return time.Now().After(until) })
	if err != nil {
		return err
	}
	row(fmt.Sprintf("heartbeats of %d agents", agents), r, atLeast(r.perSecond(), 5_000), below(r.quantile(.99), 20*time.Millisecond))
	return nil
}

// tasks measures claims with a short queue and with a long one, and the
// dashboard.
func (b *bench) tasks() error {
	for i := range b.clients {
		if _, err := b.one("POST", "/v1/agents/heartbeat", fmt.Sprintf(`{"agent_id":%q,"claude_status":"idle"}`, agentID(i))); err != nil {
			return err
		}
	}
	made, err := b.one("POST", "/v1/channels", fmt.Sprintf(`{"name":%q}`, channel))
	if err != nil {
		return err
	}
	id := member([]byte(made), "id")
	if err := b.depth(id, b.short, b.short); err != nil {
		return err
	}
	if b.long <= b.short {
		return nil
	}
	if err := b.server.memory("then"); err != nil {
		return err
	}
	return b.depth(id, b.long, b.long-b.short)
}

// depth lays tasks up and measures what depends on how many there are.
func (b *bench) depth(channel string, queued, more int) error {
	laid, err := b.lay(channel, more)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("add tasks, up to %d", queued), laid)
	if err := b.dashboard(queued); err != nil {
		return err
	}
	alone, err := b.claims(channel, 1)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("claim, 1 client, %d queued", queued), alone.claim)
	all, err := b.claims(channel, b.clients)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("claim, %d clients, %d queued", b.clients, queued), all.claim, below(all.claim.quantile(.99), 20*time.Millisecond))
	row("  finish", all.finish, below(all.finish.quantile(.99), 20*time.Millisecond))
	row("  claim + finish", all.pair, atLeast(all.pair.perSecond(), 5_000))
	return nil
}

// lay adds tasks.
func (b *bench) lay(channel string, n int) (r result, err error) {
	request := b.server.request("POST", "/v1/tasks",
		fmt.Sprintf(`{"channel_id":%q,"title":"a task","description":"Read the file and say what it is about."}`, channel))
	err = b.load(b.clients, &r, func(int) func(answer) ([]byte, *result) {
		return func(answer) ([]byte, *result) {
			if n--; n < 0 {
				return nil, nil
			}
			return request, &r
		}
	})
	return r, err
}

// claiming is the times of claims, of ends, and of both together.
type claiming struct{ claim, finish, pair result }

// claims has clients claim and finish, and fills the queue up again after every
// bite, so that it stays as long as it is.
func (b *bench) claims(channel string, clients int) (all claiming, err error) {
	n := bite
	if clients == 1 {
		n = bite / 10
	}
	for until := time.Now().Add(b.each); time.Now().Before(until) || len(all.claim.waits) == 0; {
		if _, err := b.lay(channel, n); err != nil {
			return all, err
		}
		var did result
		left := n
		err := b.load(clients, &did, func(i int) func(answer) ([]byte, *result) {
			return b.claimer(agentID(i), &left, &all)
		})
		if err != nil {
			return all, err
		}
		all.pair.add(did)
	}
	all.pair.waits = all.finish.waits // one for each pair
	all.claim.took, all.finish.took = all.pair.took, all.pair.took
	return all, nil
}

// claimer claims and finishes by turns.
func (b *bench) claimer(agent string, left *int, all *claiming) func(answer) ([]byte, *result) {
	claim := b.server.request("POST", "/v1/tasks/claim", fmt.Sprintf(`{"agent_id":%q,"channel":%q}`, agent, channel))
	held := false
	return func(last answer) ([]byte, *result) {
		if held = !held; !held {
			body := fmt.Sprintf(`{"agent_id":%q,"task_id":%q}`, agent, member(last.body, "id"))
			return b.server.request("POST", "/v1/tasks/complete", body), &all.finish
		}
		if *left--; *left < 0 {
			return nil, nil
		}
		return claim, &all.claim
	}
}

// dashboard asks for everything at a glance.
func (b *bench) dashboard(queued int) error {
	var r result
	request := b.server.request("GET", "/v1/dashboard", "")
	until, least := time.Now().Add(min(b.each, 2*time.Second)), 5
	err := b.load(1, &r, func(int) func(answer) ([]byte, *result) {
		return func(answer) ([]byte, *result) {
			if least--; least < 0 && time.Now().After(until) {
				return nil, nil
			}
			return request, &r
		}
	})
	row(fmt.Sprintf("dashboard, %d tasks, %s", queued, bytesOf(r.size)), r)
	return err
}
