package browser

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/testkit/testenv"
)

const (
	hands     = 40
	pile      = 2000
	changes   = 100 // minimum number of changes per second
	samplings = 6
)

// fakeWorker is a simulated worker that only reports a status.
type fakeWorker struct {
	*world
	client *coordinator.Client
	info   coordinator.WorkerInfo
	held   *coordinator.Work
	beats  int
}

func (w *world) stand(i int) *fakeWorker {
	w.Helper()
	name := fmt.Sprintf("stand-%02d", i)
	labels := []string{"project:" + filepath.Base(w.dir)}
	s := &fakeWorker{world: w, client: w.client(), info: coordinator.WorkerInfo{ID: name, Name: name, Labels: labels, Slots: 1, Version: "test", Host: name}}
	s.beat()
	return s
}

// beat sends a heartbeat with another status than the last one.
func (s *fakeWorker) beat() {
	s.beats++
	b := coordinator.WorkBeat{Worker: s.info}
	if s.held != nil {
		b.Held = []coordinator.HeldWork{{WorkKey: s.key(), Now: coordinator.WorkNow{Progress: fleet.Progress{Activity: fleet.Activity{State: "running", Doing: fmt.Sprint("step ", s.beats), Source: "control"}, Process: fleet.Process{PID: 1 + s.beats}}}}}
	}
	if _, err := s.client.Work.Heartbeat(context.Background(), b); err != nil {
		s.Errorf("%s: beat: %v", s.info.Name, err)
	}
}

// changeStatus changes the status of a protocol agent that belongs to the fake worker.
func (s *fakeWorker) changeStatus() {
	s.beats++
	status := []string{coordinator.Idle, coordinator.Running, coordinator.Waiting}[s.beats%3]
	if _, err := s.client.Agents.Heartbeat(context.Background(), coordinator.Heartbeat{AgentID: "agent-" + s.info.Name, ClaudeStatus: status}); err != nil {
		s.Errorf("%s: heartbeat: %v", s.info.Name, err)
	}
}

func (s *fakeWorker) key() coordinator.WorkKey {
	return coordinator.WorkKey{Attempt: s.held.Attempt.ID, Token: s.held.Attempt.Token}
}

// turn finishes the current attempt and claims the next task. If no task is left, it only changes the
// status of an agent.
func (s *fakeWorker) turn() {
	claim := coordinator.WorkClaim{Worker: s.info.ID, Labels: s.info.Labels, Key: fmt.Sprint(s.info.ID, "-", s.beats)}
	s.beats++
	if s.held == nil {
		claimed, err := s.client.Work.Claim(context.Background(), claim)
		if none := (*coordinator.Error)(nil); errors.As(err, &none) && none.Code == coordinator.NoTasks {
			s.changeStatus() // in two minutes, all tasks end
			return
		}
		if err != nil {
			s.Errorf("%s: claim: %v", s.info.Name, err)
			return
		}
		s.held = &claimed.Work
		return
	}
	turned, err := s.client.Work.Turn(context.Background(), coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: s.key(), Ending: fleet.Ending{Summary: "done"}}, Claim: &claim})
	if err != nil {
		s.Errorf("%s: turn: %v", s.info.Name, err)
		return
	}
	s.held = turned.Work
}

// sendLoad lets the workers send requests, evenly distributed over the duration, or as fast as
// possible if that is 0. One request in four is a turn, which causes two changes.
func sendLoad(stands []*fakeWorker, requests int, duration time.Duration) {
	began := time.Now()
	var all sync.WaitGroup
	busy := make([]sync.Mutex, len(stands))
	for i := range requests {
		time.Sleep(time.Until(began.Add(duration * time.Duration(i) / time.Duration(requests))))
		n := i % len(stands)
		all.Go(func() {
			busy[n].Lock()
			defer busy[n].Unlock()
			if i%4 == 0 {
				stands[n].turn()
			} else {
				stands[n].changeStatus()
			}
		})
	}
	all.Wait()
}

// listen is a script that makes the page record how old each change is when it arrives.
const listen = `import('/assets/core/fleet.js').then((m) => { window.ages = []; m.onChange((u) => window.ages.push(Date.now() - Date.parse(u.time))); return true; })`

// sample holds the page's heap after garbage collection, in MB, and how old changes were on arrival
// since the last sample: the median and the 99th percentile.
type sample struct {
	MB     float64   `json:"mb"`
	Ages   []float64 `json:"ages"`
	Rows   int       `json:"rows"`
	median float64
	late   float64
}

func (p *page) sample() sample {
	p.Helper()
	s := eval[sample](p, `(() => { gc(); const ages = window.ages.splice(0); return { mb: performance.memory.usedJSHeapSize / 1e6, ages, rows: document.querySelectorAll('*').length }; })()`)
	slices.Sort(s.Ages)
	if n := len(s.Ages); n > 0 {
		s.median, s.late = s.Ages[n/2], s.Ages[n*99/100]
	}
	return s
}

// loadTime returns how long the workers send changes.
func loadTime() time.Duration { return time.Duration(testenv.Count(15, 15, 120)) * time.Second }

func TestUnderManyChangesPagesNeitherGrowNorFallBehind(t *testing.T) {
	w := newWorld(t, "--rate", "0")
	var plan strings.Builder
	fmt.Fprintf(&plan, "name: load\ndefaults: {agent: fake}\nparallel: %d\ntasks:\n", hands)
	for i := range pile + hands {
		fmt.Fprintf(&plan, "  - {id: task-%04d, name: Task %d, prompt: hello}\n", i, i)
	}
	run := w.submit(plan.String())
	var stands []*fakeWorker
	for i := range hands {
		stands = append(stands, w.stand(i))
	}
	pages := map[string]*watched{"run": {page: w.open("#/runs/" + run)}, "graph": {page: w.open("#/runs/" + run + "?view=graph")}, "fleet": {page: w.open("#/")}}
	pages["run"].Sees("task-0000")
	pages["fleet"].Sees("load")
	pages["graph"].Sees("boxes")
	for _, p := range pages {
		eval[bool](p.page, listen)
	}
	for i := range samplings + 1 {
		sendLoad(stands, changes*int(loadTime().Seconds())/samplings, loadTime()/samplings)
		for name, p := range pages {
			s := p.sample()
			t.Logf("%d: %s: %d changes, %.1f MB, %d nodes, changes %.0f ms old, the latest of a hundred %.0f ms", i, name, len(s.Ages), s.MB, s.Rows, s.median, s.late)
			p.samples = append(p.samples, s)
		}
	}
	// Allow this page to grow: it keeps a line for each attempt, and a turn ends an attempt.
	pages["run"].neitherGrewNorFellBehind(1 + 0.002*changes/4*loadTime().Seconds())
	pages["graph"].neitherGrewNorFellBehind(1 + 0.002*changes/4*loadTime().Seconds())
	pages["fleet"].neitherGrewNorFellBehind(1)
	pages["run"].matches(run)
}

// watched is a page with the samples that were taken of it. The first sample is not compared.
type watched struct {
	*page
	samples []sample
}

func (p *watched) neitherGrewNorFellBehind(mayGrow float64) {
	p.Helper()
	first, last := p.samples[1], p.samples[len(p.samples)-1]
	received := 0
	for _, s := range p.samples[1:] {
		received += len(s.Ages)
	}
	if want := int(loadTime().Seconds()) * changes; received < want {
		p.Errorf("the page received %d changes, want %d at least", received, want)
	}
	if last.MB > first.MB+mayGrow {
		p.Errorf("the page grew from %.1f to %.1f MB", first.MB, last.MB)
	}
	if last.Rows > first.Rows*3/2+200 {
		p.Errorf("the page grew from %d to %d nodes", first.Rows, last.Rows)
	}
	if last.median > 3*first.median+5000 {
		p.Errorf("changes were %.0f ms old at first and %.0f at last", first.median, last.median)
	}
}

// matches checks that the page shows the same status for every task of the run as the server.
func (p *page) matches(run string) {
	p.Helper()
	p.Wait("the page knows what the server knows", fmt.Sprintf(`Promise.all([import('/assets/core/fleet.js'), fetch('/v1/runs/%s').then((r) => r.json())]).then(([m, { run }]) => {
		const d = m.watchRun(run.id); const same = run.tasks.every((t) => d.tasks.rows.get(t.id)?.status === t.status); m.releaseRun(d); return same && run.tasks.some((t) => t.status === 'complete'); })`, run))
}
