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

// landRun merges the changes of a run and opens pull requests, as its plan says, and
// reports what became of each.
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

// LandingService merges and discards changes in this machine's repositories for the users
// of a server. A merge goes on after its request: checks may take longer than a request.
type LandingService struct {
	app  *App
	ctx  context.Context // ends with the server
	stop context.CancelFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	running map[string]chan struct{} // by run: closed when its merge has ended
}

func newLandingService(a *App) *LandingService {
	s := &LandingService{app: a, running: map[string]chan struct{}{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// close ends merges that go on. Their branches stay as they are.
func (s *LandingService) close() {
	s.stop()
	s.all.Wait()
}

// mergeWait is how long a request waits for its merge.
const mergeWait = 20 * time.Second

// Merge implements [server.Landing].
func (s *LandingService) Merge(ctx context.Context, by credential.Identity, m fleet.MergeRequest) ([]fleet.MergeResult, error) {
	goesOn := []fleet.MergeResult{{Run: m.Run, Task: m.Task, Into: m.Into, State: fleet.MergeRunning, Why: "the checks take long"}}
	s.mu.Lock()
	if _, busy := s.running[m.Run]; busy {
		s.mu.Unlock()
		goesOn[0].Why = "another merge of this run is not finished"
		return goesOn, nil
	}
	ended := make(chan struct{})
	s.running[m.Run] = ended
	s.mu.Unlock()
	var results []fleet.MergeResult
	var failed error
	s.all.Go(func() {
		defer func() {
			s.mu.Lock()
			delete(s.running, m.Run)
			s.mu.Unlock()
			close(ended)
		}()
		results, failed = s.app.Landing.As(cmp.Or(by.Name, by.ID)).Merge(s.ctx, m)
		for _, r := range results {
			if r.State == fleet.MergeSent && failed == nil {
				failed = s.app.Background.EnsureProcess(s.ctx, m.Run)
			}
		}
		if failed != nil && ctx.Err() != nil {
			s.app.opts.Notice(fmt.Sprintf("merge changes of run %s: %v", m.Run, failed))
		}
	})
	wait := time.NewTimer(mergeWait)
	defer wait.Stop()
	select {
	case <-ended:
		return results, failed
	case <-wait.C:
	case <-ctx.Done():
	}
	return goesOn, nil
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
