package engine

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// workers stores the reports of workers about themselves, and which attempts each worker holds.
type workers struct{ *txContext }

// ClientHeartbeat records a heartbeat of a client of the coordinator protocol, which is a worker
// that does not list its attempts in its heartbeats. The fields Task, Now and Left of the report
// always replace the stored values. Other fields replace them only if they are not empty, and Owner
// only if the worker is new. ClientHeartbeat also renews the leases of the attempts that
// [Tx.ClaimForClient] and [Tx.Assign] have assigned to the worker. It appends an event if a field
// other than Now, HeldAttempts and the times has changed, or if Left was set or cleared.
func (s *Tx) ClientHeartbeat(report store.Worker) (store.Worker, error) {
	return s.tx.workers.clientHeartbeat(report)
}

func (ws *workers) clientHeartbeat(report store.Worker) (store.Worker, error) {
	before, w, err := ws.applyReport(report)
	if err != nil {
		return w, err
	}
	if w.Created.IsZero() {
		w.Created = ws.now
	}
	w.Left = report.Left
	if w.HeldAttempts, err = ws.extendLeases(w); err != nil {
		return w, err
	}
	return ws.put(before, w)
}

// recordHeartbeat records a heartbeat of a worker that lists its attempts in its heartbeats. It
// appends no events for a worker without a name, because users do not see such workers.
func (ws *workers) recordHeartbeat(report store.Worker) error {
	before, w, err := ws.applyReport(report)
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

// markLeft records that the worker that works only for this run has left, because the run has
// ended: it sets the worker's field Left to the current time. It does nothing if the run has no
// such worker. Later heartbeats of the worker clear Left only if the user has continued the run.
func (ws *workers) markLeft(run store.Run) error {
	if run.OnlyWorker != run.ID {
		return nil // no worker works only for this run
	}
	before, err := ws.Worker(run.OnlyWorker)
	if errors.Is(err, store.ErrNotFound) || err == nil && before.Name == "" {
		return nil // the worker does not exist, or has no name and is not shown to users
	}
	if err != nil {
		return err
	}
	w := before
	w.Left = ws.now
	_, err = ws.put(before, w)
	return err
}

// applyReport returns the stored row of a worker, and the same row changed by the worker's report.
func (ws *workers) applyReport(report store.Worker) (before, w store.Worker, err error) {
	before, err = ws.Worker(report.ID)
	w = before
	switch {
	case errors.Is(err, store.ErrNotFound):
		w = store.Worker{ID: report.ID, Owner: report.Owner, OwnerName: report.OwnerName}
	case err != nil:
		return before, w, err
	case w.OwnerName == "" && w.Owner == report.Owner:
		w.OwnerName = report.OwnerName // an older version of gaffer has written the row without this field
	}
	w.Seen, w.Task, w.Now = ws.now, report.Task, report.Now
	w.Name, w.Version = cmp.Or(report.Name, w.Name), cmp.Or(report.Version, w.Version)
	w.Labels, w.Slots = cmp.Or(report.Labels, w.Labels), cmp.Or(report.Slots, w.Slots)
	if report.Status != "" {
		w.Status, w.StatusReported = report.Status, ws.now
	}
	if report.Meta != nil {
		w.Meta = report.Meta
	}
	return before, w, nil
}

// SetLastSeen sets the time of a worker's last heartbeat to t. If a worker has reported that it
// stops, the caller passes a time that is long enough ago. Then clients show the worker as offline
// at once.
func (s *Tx) SetLastSeen(id string, t time.Time) error {
	w, err := s.tx.Worker(id)
	if err != nil {
		return asNotFound(err, "worker", id)
	}
	w.Seen, w.Updated = t, s.tx.now
	s.tx.PutWorker(w)
	return s.tx.event(store.Event{Kind: "worker.changed", From: w.Status, To: w.Status}, w)
}

// Subscribe replaces the list of channels (of the coordinator protocol) from which a worker takes
// tasks.
func (s *Tx) Subscribe(id string, channels []string) (store.Worker, error) {
	before, err := s.tx.Worker(id)
	if err != nil {
		return before, asNotFound(err, "worker", id)
	}
	w := before
	w.Channels = channels
	return s.tx.workers.put(before, w)
}

// put stores w, the new row of a worker. If w differs from the old row before in a field that
// sameButTimes compares, put also appends an event.
func (ws *workers) put(before, w store.Worker) (store.Worker, error) {
	if sameButTimes(&before, &w) {
		ws.PutWorker(w)
		return w, nil
	}
	w.Updated = ws.now
	ws.PutWorker(w)
	return w, ws.event(store.Event{Kind: "worker.changed", From: before.Status, To: w.Status}, w)
}

// sameButTimes reports whether a and b, two versions of a worker's row, are equal except for Now,
// HeldAttempts and times. Of the times, it compares only Created, and whether Left is set.
func sameButTimes(a, b *store.Worker) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Labels == b.Labels && a.Slots == b.Slots && a.Status == b.Status && a.Task == b.Task &&
		bytes.Equal(a.Meta, b.Meta) && a.Version == b.Version && a.Owner == b.Owner && a.OwnerName == b.OwnerName && slices.Equal(a.Channels, b.Channels) &&
		a.Created.Equal(b.Created) && a.Left.IsZero() == b.Left.IsZero()
}

// extendLeases renews the leases of the attempts in w.HeldAttempts. It returns the ids of those
// that are still running.
func (ws *workers) extendLeases(w store.Worker) (held []string, err error) {
	// Look up all rows once without using them, so that a remote database loads them in one round
	// trip.
	for _, id := range w.HeldAttempts {
		_, _ = ws.Attempt(id)
	}
	for _, id := range w.HeldAttempts {
		a, err := ws.Attempt(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if a.Status != store.Running { // the attempt has ended, or its row does not exist any more
			continue
		}
		a.Lease = ws.leaseEnd(ws.now)
		ws.PutAttempt(a)
		held = append(held, id)
	}
	return held, nil
}

// addHeldAttempt adds an attempt to the list HeldAttempts of a worker. It also removes ended
// attempts from the list.
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
