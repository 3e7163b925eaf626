//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/bench/figure"
)

const (
	agents = 1_000 // number of agents that send heartbeats
	// batchSize is the number of tasks in a batch: they are added to the queue, and then the same
	// number of tasks is claimed. For a single client, a batch has a tenth as many tasks.
	batchSize = 500
	channel   = "bench"
)

func agentID(i int) string { return fmt.Sprintf("agent-%04d", i) }

// beats measures heartbeats. The clients send a heartbeat for one agent after the other.
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
	// Send one heartbeat for each agent without measuring it, because the first heartbeat registers
	// the agent.
	if _, err := beat(func(i int) bool { return i >= agents }); err != nil {
		return err
	}
	until := time.Now().Add(b.each)
	r, err := beat(func(int) bool { return time.Now().After(until) })
	if err != nil {
		return err
	}
	row(fmt.Sprintf("heartbeats of %d agents", agents), r)
	return nil
}

// manyWorkers sends the heartbeats of many workers at an even rate: one heartbeat per worker every
// 15 seconds. It prints how much of one processor core the server uses.
func (b *bench) manyWorkers() error {
	const every = 15 * time.Second
	beat := func(i int) []byte {
		return b.server.request("POST", "/v1/work/beat", fmt.Sprintf(`{"worker":{"id":%q,"name":%[1]q,"slots":1}}`, workerID(i)))
	}
	send := func(r *result, count int, due func(i int) time.Time) error {
		sent := 0
		return b.load(b.clients, r, func(int) func(answer) ([]byte, *result) {
			return func(answer) ([]byte, *result) {
				if sent == count {
					return nil, nil
				}
				time.Sleep(time.Until(due(sent)))
				sent++
				return beat(sent % b.workers), r
			}
		})
	}
	var first, r result
	// Do not include the first heartbeats in the figures, because they register the workers.
	if err := send(&first, b.workers, func(int) time.Time { return time.Time{} }); err != nil {
		return err
	}
	began := time.Now()
	gap := every / time.Duration(b.workers)
	err := send(&r, int(2*b.each/gap), func(i int) time.Time { return began.Add(time.Duration(i) * gap) })
	cores := r.server.Seconds() / r.took.Seconds()
	row(fmt.Sprintf("heartbeats of %d workers, every 15 s", b.workers), r, target{fmt.Sprintf("%.2f of one core", cores), cores < 1})
	return err
}

// depth is a server with a fixed number of tasks in its queue, and the figures that were measured
// on it.
type depth struct {
	*bench
	queued  int
	channel string
	alone   claiming // claims of one client
	all     claiming // claims of all clients at once
	turns   claiming // requests that finish a task and claim the next one
}

// tasks measures claims with a short queue and with a long queue, and requests for the dashboard.
// Each queue has a separate server. Short measurements of both servers alternate, so that other
// work of the machine affects both alike.
func (b *bench) tasks() (err error) {
	depths := []*depth{{bench: b, queued: b.short}}
	if b.long > 0 {
		other, err := b.startSecond()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, other.close()) }()
		depths = append(depths, &depth{bench: other, queued: b.long})
	}
	// Prepare the server with the long queue first, because that takes long. Otherwise, the
	// connections to the server with the short queue would be idle for that time just before the
	// claims are measured.
	for _, d := range slices.Backward(depths) {
		if err := d.prepare(); err != nil {
			return err
		}
	}
	const turns = 4
	for range turns {
		for _, d := range depths {
			if err := d.turn(b.each / turns); err != nil {
				return err
			}
		}
	}
	for _, d := range depths {
		if err := d.print(depths[0]); err != nil {
			return err
		}
	}
	return nil
}

// prepare registers the clients, fills the queue and measures the dashboard.
func (d *depth) prepare() error {
	if err := d.register(); err != nil {
		return err
	}
	laid, err := d.enqueue(d.channel, d.queued)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("add tasks, up to %d", d.queued), laid)
	return d.dashboard(d.queued)
}

// register registers the clients as agents and as workers, and creates the channel.
func (d *depth) register() error {
	for i := range d.clients {
		if _, err := d.sendOne("POST", "/v1/agents/heartbeat", fmt.Sprintf(`{"agent_id":%q,"claude_status":"idle"}`, agentID(i))); err != nil {
			return err
		}
		if _, err := d.sendOne("POST", "/v1/work/beat", fmt.Sprintf(`{"worker":{"id":%q,"name":%[1]q,"slots":1}}`, workerID(i))); err != nil {
			return err
		}
	}
	made, err := d.sendOne("POST", "/v1/channels", fmt.Sprintf(`{"name":%q}`, channel))
	if err != nil {
		return err
	}
	d.channel = member([]byte(made), "id")
	return nil
}

// growth measures claims and finishes at each number of queued tasks in b.depths, from the smallest
// to the largest.
func (b *bench) growth() error {
	d := &depth{bench: b}
	if err := d.register(); err != nil {
		return err
	}
	for _, n := range slices.Sorted(slices.Values(b.depths)) {
		if _, err := d.enqueue(d.channel, n-d.queued); err != nil {
			return err
		}
		d.queued, d.alone, d.all, d.turns = n, claiming{}, claiming{}, claiming{}
		if err := d.turn(b.each / 2); err != nil {
			return err
		}
		if err := d.turn(b.each / 2); err != nil {
			return err
		}
		if err := d.print(d); err != nil {
			return err
		}
		pairs, turns := d.all.pairs(), d.turns.both
		turns.waits = d.turns.finish.waits
		if err := figure.Append(b.figures,
			figure.Figure{Measure: b.measure, Program: "gaffer, one request for a task", Kind: figure.Gaffer, Size: n, Value: turns.perSecond()},
			figure.Figure{Measure: b.measure, Program: "gaffer, two requests for a task", Kind: figure.Gaffer, Size: n, Value: pairs.perSecond()}); err != nil {
			return err
		}
	}
	return nil
}

func (d *depth) turn(each time.Duration) error {
	claimer := func(of *claiming) func(int, *int) func(answer) ([]byte, *result) {
		return func(i int, left *int) func(answer) ([]byte, *result) { return d.agentRequests(agentID(i), left, of) }
	}
	if err := d.claims(&d.alone, 1, each, claimer(&d.alone)); err != nil {
		return err
	}
	if err := d.claims(&d.all, d.clients, each, claimer(&d.all)); err != nil {
		return err
	}
	return d.claims(&d.turns, d.clients, each, func(i int, left *int) func(answer) ([]byte, *result) {
		return d.workerRequests(workerID(i), d.channel, left, &d.turns)
	})
}

// print prints the figures of d, and the ratio of d's claim times to those of the parameter other.
func (d *depth) print(other *depth) error {
	flat := func(mine, theirs result) target {
		ratio := float64(mine.quantile(.5)) / float64(theirs.quantile(.5))
		return target{fmt.Sprintf("flat (p50 × %.2f)", ratio), ratio < 1.5}
	}
	queued := fmt.Sprintf("%d queued, ", d.queued)
	row(queued+"claim, 1 client", d.alone.claim, flat(d.alone.claim, other.alone.claim))
	row(fmt.Sprintf("%sclaim, %d clients", queued, d.clients), d.all.claim,
		flat(d.all.claim, other.all.claim))
	row(queued+"finish", d.all.finish)
	pairs := d.all.pairs()
	least := 1_500.0
	if d.db == "postgres" {
		least = 1_000
	}
	row(queued+"claim + finish, 2 requests", pairs, atLeast(pairs.perSecond(), least))
	turns := d.turns.both
	turns.waits = d.turns.finish.waits
	row(queued+"claim + finish, 1 request (a worker)", turns, atLeast(turns.perSecond(), least))
	return d.server.memory(fmt.Sprintf("%d queued", d.queued))
}

// enqueue adds n tasks to a channel.
func (b *bench) enqueue(channel string, n int) (r result, err error) {
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

// claiming holds the figures of claims, of finishes, and of both together.
type claiming struct{ claim, finish, both result }

// pairs returns the figures for tasks that were claimed and finished. The waits of the result are
// all zero, because the time of a pair of requests is not measured. Only the number of waits is
// used.
func (c *claiming) pairs() result {
	r := c.both
	r.waits = make([]time.Duration, len(c.finish.waits))
	return r
}

// claims measures claims and finishes of several clients. Before every batch of claims, it adds as
// many tasks to the queue, so that the queue keeps its length.
func (d *depth) claims(all *claiming, clients int, each time.Duration, newClient func(i int, left *int) func(answer) ([]byte, *result)) error {
	n := batchSize
	if clients == 1 {
		n = batchSize / 10
	}
	for until := time.Now().Add(each); ; {
		if _, err := d.enqueue(d.channel, n); err != nil {
			return err
		}
		left := n
		err := d.load(clients, &all.both, func(i int) func(answer) ([]byte, *result) { return newClient(i, &left) })
		if err != nil {
			return err
		}
		if time.Now().After(until) {
			break
		}
	}
	all.claim.took, all.finish.took = all.both.took, all.both.took
	return nil
}

// agentRequests returns a function that returns an agent's next request. The agent claims and
// finishes tasks alternately. left is the number of claims that the agents together may still send.
func (b *bench) agentRequests(agent string, left *int, all *claiming) func(answer) ([]byte, *result) {
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

// dashboard measures requests for the data of the dashboard.
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
