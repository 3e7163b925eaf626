package engine

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// workers records what is known about workers.
type workers struct{ *txContext }

// ClientHeartbeat records that a worker is alive, by the engine's clock, and the data that it
// reports about itself: Name, Status, Task, Meta and Version. Empty fields keep their
// value, except Task. Heartbeat renews the leases of the attempts that [Step.Claim]
// gave to the worker. A new worker gets the Owner of the report. A worker that has left
// comes back, unless Left is set in the report. An event is appended if anything except
// a time has changed.
func (s *Tx) ClientHeartbeat(said store.Worker) (store.Worker, error) {
	return s.tx.workers.clientHeartbeat(said)
}

func (ws *workers) clientHeartbeat(said store.Worker) (store.Worker, error) {
	before, w, err := ws.applyReport(said)
	if err != nil {
		return w, err
	}
	if w.Created.IsZero() {
		w.Created = ws.now
	}
	w.Left = said.Left
	if w.HeldAttempts, err = ws.extendLeases(w); err != nil {
		return w, err
	}
	return ws.put(before, w)
}

// recordHeartbeat records that a worker is alive which lists its attempts in each heartbeat. A
// worker without a name is not shown as an agent, so its changes are not events.
func (ws *workers) recordHeartbeat(said store.Worker) error {
	before, w, err := ws.applyReport(said)
	if err != nil {
		return err
	}
	if w.Name == "" {
		ws.PutWorker(w)
		return nil
	}
	if w.Created.IsZero() {
		w.Created = ws.now
	}
	if !w.Left.IsZero() && ws.isOpenRun(w.ID) {
		w.Left = time.Time{}
	}
	_, err = ws.put(before, w)
	return err
}

// isOpenRun reports whether a run exists and has not ended.
func (ws *workers) isOpenRun(run string) bool {
	row, err := ws.Run(run)
	return err == nil && !row.Status.Final()
}

// markLeft records that the worker of an ended run has left, if it worked for this run
// only. The worker may still send a last report.
func (ws *workers) markLeft(run store.Run) error {
	if run.OnlyWorker != run.ID {
		return nil // the run's tasks were not bound to a worker of its own
	}
	before, err := ws.Worker(run.OnlyWorker)
	if errors.Is(err, store.ErrNotFound) || before.Name == "" {
		return nil // the worker never reported a name
	}
	if err != nil {
		return err
	}
	w := before
	w.Left = ws.now
	_, err = ws.put(before, w)
	return err
}

// applyReport returns a worker before and after applying its report.
func (ws *workers) applyReport(said store.Worker) (before, w store.Worker, err error) {
	before, err = ws.Worker(said.ID)
	w = before
	switch {
	case errors.Is(err, store.ErrNotFound):
		w = store.Worker{ID: said.ID, Owner: said.Owner, OwnerName: said.OwnerName}
	case err != nil:
		return before, w, err
	case w.OwnerName == "" && w.Owner == said.Owner:
		w.OwnerName = said.OwnerName // the row was written before this field existed
	}
	w.Seen, w.Task = ws.now, said.Task
	w.Name, w.Version = cmp.Or(said.Name, w.Name), cmp.Or(said.Version, w.Version)
	w.Labels, w.Slots = cmp.Or(said.Labels, w.Labels), cmp.Or(said.Slots, w.Slots)
	if said.Status != "" {
		w.Status, w.StatusReported = said.Status, ws.now
	}
	if said.Meta != nil {
		w.Meta = said.Meta
	}
	return before, w, nil
}

// SetLastSeen sets back the time of a worker's last heartbeat, because the worker reports
// that it stops. All displays, including those of other programs, compute from that
// time alone whether a worker is online.
func (s *Tx) SetLastSeen(id string, seen time.Time) error {
	w, err := s.tx.Worker(id)
	if err != nil {
		return asNotFound(err, "worker", id)
	}
	w.Seen, w.Updated = seen, s.tx.now
	s.tx.PutWorker(w)
	return s.tx.event(store.Event{Kind: "worker.changed", From: w.Status, To: w.Status}, w)
}

// Subscribe sets the channels that a worker takes tasks from.
func (s *Tx) Subscribe(id string, channels []string) (store.Worker, error) {
	before, err := s.tx.Worker(id)
	if err != nil {
		return before, asNotFound(err, "worker", id)
	}
	w := before
	w.Channels = channels
	return s.tx.workers.put(before, w)
}

// putWorker stores a worker, and appends an event if anything except a time has
// changed.
func (ws *workers) put(before, w store.Worker) (store.Worker, error) {
	if sameButTimes(&before, &w) {
		ws.PutWorker(w)
		return w, nil
	}
	w.Updated = ws.now
	ws.PutWorker(w)
	return w, ws.event(store.Event{Kind: "worker.changed", From: before.Status, To: w.Status}, w)
}

// sameButTimes reports whether two versions of a worker differ only in times and in
// Holds.
func sameButTimes(a, b *store.Worker) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Labels == b.Labels && a.Slots == b.Slots && a.Status == b.Status && a.Task == b.Task &&
		bytes.Equal(a.Meta, b.Meta) && a.Version == b.Version && a.Owner == b.Owner && a.OwnerName == b.OwnerName && slices.Equal(a.Channels, b.Channels) &&
		a.Created.Equal(b.Created) && a.Left.IsZero() == b.Left.IsZero()
}

// extendLeases renews the leases of the worker's running attempts and returns their
// ids. It leaves out attempts that have ended since they were assigned.
func (ws *workers) extendLeases(w store.Worker) (held []string, err error) {
	for _, id := range w.HeldAttempts { // a remote database loads all of them together
		_, _ = ws.Attempt(id)
	}
	for _, id := range w.HeldAttempts {
		a, err := ws.Attempt(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if a.Status != store.Running { // ended, or already deleted
			continue
		}
		a.Lease = ws.leaseEnd(ws.now)
		ws.PutAttempt(a)
		held = append(held, id)
	}
	return held, nil
}

// addHeldAttempt adds an attempt to those that a worker holds. It does not change the data that
// the worker reports about itself.
func (ws *workers) addHeldAttempt(worker, attempt string) error {
	w, err := ws.Worker(worker)
	if err != nil {
		return asNotFound(err, "worker", worker)
	}
	holds := []string{}
	for _, id := range w.HeldAttempts {
		a, err := ws.Attempt(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if a.Status == store.Running {
			holds = append(holds, id)
		}
	}
	w.HeldAttempts = append(holds, attempt)
	ws.PutWorker(w)
	return nil
}
