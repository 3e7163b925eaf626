package app

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine/store"
)

// landRun merges the changes of a run, or opens pull requests for them, as the run's plan requests.
// It prints the changes that were merged, those that were not and why, and the addresses of the
// pull requests.
func (a *App) landRun(ctx context.Context, run store.Run) error {
	results, err := a.Landing.WithProgress(a.opts.Notice).Auto(ctx, run.ID)
	for _, m := range results {
		switch m.State {
		case fleet.MergeDone:
			a.opts.Notice(fmt.Sprintf("%s: merged into %s as %.9s", m.Task, m.Into, m.Landing.After))
		case fleet.MergeSent:
			a.opts.Notice(fmt.Sprintf("%s: not merged into %s yet: %s; its agent works on it", m.Task, m.Into, m.Why))
		case fleet.MergeConflict, fleet.MergeFailed, fleet.MergeBlocked, fleet.MergeSkipped:
			a.opts.Notice(fmt.Sprintf("%s: not merged into %s: %s; 'gaffer merge %s/%s' says what to do", m.Task, m.Into, m.Why, m.Run, m.Task))
		}
	}
	if err != nil {
		return err
	}
	opened, err := a.Landing.WithProgress(a.opts.Notice).AutoPR(ctx, run.ID)
	for _, p := range opened {
		a.opts.Notice(fmt.Sprintf("%s: the pull request is %s", p.Task, p.URL))
	}
	return err
}

// LandingService implements [server.Landing] for the repositories on this machine. A merge
// continues after the HTTP request that started it has ended, because the checks of a merge may
// take longer than a request.
type LandingService struct {
	app  *App
	ctx  context.Context // ends when the server stops
	stop context.CancelFunc
	all  sync.WaitGroup

	mu sync.Mutex
	// last contains the merge in progress of each run, by run id. A merge that has ended stays in
	// the map until a request has returned its result, or until a new merge of the run starts.
	last map[string]*runMerge
}

// runMerge is a merge that may take longer than the HTTP request that started it.
type runMerge struct {
	request fleet.MergeRequest
	ended   chan struct{} // closed when the merge has ended and the fields below are set
	results []fleet.MergeResult
	failed  error
	at      time.Time
}

func newLandingService(a *App) *LandingService {
	s := &LandingService{app: a, last: map[string]*runMerge{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// close cancels the merges in progress and waits until they have stopped. Changes that are already
// merged stay merged.
func (s *LandingService) close() {
	s.stop()
	s.all.Wait()
}

const (
	mergeWait  = 20 * time.Second // the longest time that an HTTP request waits for its merge
	resultTime = time.Minute      // how long after the end of a merge a repeated request still gets its result
)

// Merge implements [server.Landing]. A run has only one merge at a time. If a different merge of
// the run is in progress, Merge waits until that merge has ended. Then it starts the requested
// merge and waits for it. If all this takes longer than mergeWait, the result has the state
// [fleet.MergeRunning], and the merge in progress continues. A requested merge that has not started
// by then is not started later.
//
// The client can then repeat the request. While the requested merge is in progress, a repeated
// request waits for it and gets its result. If the merge ends while no request waits, the first
// repeated request within resultTime gets the result.
func (s *LandingService) Merge(ctx context.Context, by credential.Identity, m fleet.MergeRequest) ([]fleet.MergeResult, error) {
	wait := time.NewTimer(mergeWait)
	defer wait.Stop()
	for {
		s.mu.Lock()
		merge := s.last[m.Run]
		if merge == nil || merge.hasEnded() && (merge.request != m || time.Since(merge.at) > resultTime) {
			merge = &runMerge{request: m, ended: make(chan struct{})}
			s.last[m.Run] = merge
			s.all.Go(func() { s.merge(ctx, by, merge) })
		}
		s.mu.Unlock()
		why := "the checks take long"
		if merge.request != m {
			why = "another merge of this run is not finished"
		}
		select {
		case <-merge.ended:
			if merge.request != m {
				continue
			}
			s.mu.Lock()
			if s.last[m.Run] == merge {
				delete(s.last, m.Run)
			}
			s.mu.Unlock()
			return merge.results, merge.failed
		case <-wait.C:
		case <-ctx.Done():
		}
		return []fleet.MergeResult{{Run: m.Run, Task: m.Task, Into: m.Into, State: fleet.MergeRunning, Why: why}}, nil
	}
}

func (m *runMerge) hasEnded() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// merge performs a merge and stores its result in m. If a change was not merged but sent back to
// its agent, merge makes sure that a process works on the run. The parameter request is the context
// of the HTTP request that started the merge. If that HTTP request has ended when the merge fails,
// its client may never see the error. So merge also prints the error for the user.
func (s *LandingService) merge(request context.Context, by credential.Identity, m *runMerge) {
	defer close(m.ended)
	m.results, m.failed = s.app.Landing.As(cmp.Or(by.Name, by.ID)).Merge(s.ctx, m.request)
	for _, r := range m.results {
		if r.State == fleet.MergeSent && m.failed == nil {
			m.failed = s.app.Background.EnsureProcess(s.ctx, m.request.Run)
		}
	}
	m.at = time.Now()
	if m.failed != nil && request.Err() != nil {
		s.app.opts.Notice(fmt.Sprintf("merge changes of run %s: %v", m.request.Run, m.failed))
	}
}

// UndoMerge implements [server.Landing].
func (s *LandingService) UndoMerge(ctx context.Context, by credential.Identity, m fleet.MergeRequest) (fleet.MergeResult, error) {
	return s.app.Landing.As(cmp.Or(by.Name, by.ID)).Undo(ctx, m)
}

// Discard implements [server.Landing].
func (s *LandingService) Discard(ctx context.Context, by credential.Identity, run, task string, undo bool) (fleet.Review, error) {
	l := s.app.Landing.As(cmp.Or(by.Name, by.ID))
	if undo {
		return l.Restore(ctx, run, task)
	}
	return l.Discard(ctx, run, task)
}
