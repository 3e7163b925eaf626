package browser

import (
	"context"
	"fmt"
	"path/filepath"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// machine is a simulated worker that holds many attempts.
type machine struct {
	*world
	client *coordinator.Client
	info   coordinator.WorkerInfo
	held   []coordinator.Work
	cents  func(i int) int // what the agent with this index has cost
	step   int
	turns  int
}

// sayings are what the simulated agents do, in turn.
var sayings = []string{"Bash: go test ./...", "Read: internal/store/rows.go", "I will split the parser in two, since both callers need only the header.", "Edit: web/src/checkout/total.ts", "Grep: func.*Lease"}

// machine starts a simulated worker that takes as many tasks as it has slots.
func (w *world) machine(name string, slots int) *machine {
	w.Helper()
	m := &machine{world: w, client: w.client(), info: coordinator.WorkerInfo{
		ID: name, Name: name, Labels: []string{"project:" + filepath.Base(w.dir)}, Slots: slots, Version: "test", Host: name + ".example",
	}, cents: func(int) int { return 25 }}
	m.beat()
	for range slots {
		m.claim()
	}
	m.beat()
	return m
}

// claim takes one more task, if there is one.
func (m *machine) claim() {
	m.step++
	claimed, err := m.client.Work.Claim(context.Background(), coordinator.WorkClaim{Worker: m.info.ID, Labels: m.info.Labels, Key: fmt.Sprint(m.info.ID, "-", m.step)})
	if err != nil {
		m.Errorf("%s: claim: %v", m.info.Name, err)
		return
	}
	m.held = append(m.held, claimed.Work)
}

// beat reports that each agent does something else than before.
func (m *machine) beat() {
	m.step++
	b := coordinator.WorkBeat{Worker: m.info}
	for i, held := range m.held {
		now := fleet.Progress{
			Activity: fleet.Activity{State: "running", Doing: sayings[(m.step+i)%len(sayings)], Source: "control"},
			Process:  fleet.Process{PID: 100 + i}, Spent: fleet.Amount{MicroUSD: int64(m.cents(i)) * 10_000, Tokens: int64(m.step) * 100},
			Context: fleet.Context{Tokens: int64(20_000 * (i + 1)), Window: 200_000},
		}
		b.Held = append(b.Held, coordinator.HeldWork{WorkKey: coordinator.WorkKey{Attempt: held.Attempt.ID, Token: held.Attempt.Token}, Now: coordinator.WorkNow{Progress: now}})
	}
	if _, err := m.client.Work.Heartbeat(context.Background(), b); err != nil {
		m.Errorf("%s: beat: %v", m.info.Name, err)
	}
}

// turn ends the oldest attempt and takes another task.
func (m *machine) turn() {
	m.step++
	m.turns++
	first := m.held[0]
	turned, err := m.client.Work.Turn(context.Background(), coordinator.WorkTurn{
		Finish: coordinator.WorkFinish{WorkKey: coordinator.WorkKey{Attempt: first.Attempt.ID, Token: first.Attempt.Token}, Ending: fleet.Ending{Summary: "done"}},
		Claim:  &coordinator.WorkClaim{Worker: m.info.ID, Labels: m.info.Labels, Key: fmt.Sprint(m.info.ID, "-", m.step)},
	})
	if err != nil {
		m.Errorf("%s: turn: %v", m.info.Name, err)
		return
	}
	m.held = m.held[1:]
	if turned.Work != nil {
		m.held = append(m.held, *turned.Work)
	}
}
