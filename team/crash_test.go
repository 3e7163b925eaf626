package team

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"

	"gaffer/statefile/host/hosttest"
)

const crashRoot = "/project/coordination"

// crashes runs work once for each step, each time on a new machine that crashes at that step: the
// process dies, or the power fails. Then verify checks the result from another process, and again
// after one more power cut.
func crashes(t *testing.T, prepare, work func(*Store) error, verify func(s *Store, done bool) error) {
	t.Helper()
	for _, power := range []bool{false, true} {
		for seed := range map[bool]uint64{false: 1, true: 3}[power] { // only power cuts depend on the seed
			for step := 1; ; step++ {
				reached := false
				synctest.Test(t, func(t *testing.T) {
					m := hosttest.New(seed, hosttest.Fault{})
					s := Open(crashRoot, Options{Host: m.Process()})
					if err := prepare(s); err != nil {
						t.Fatal(err)
					}
					at := m.Steps() + step
					m.SetFault(hosttest.Fault{At: at, Power: power})
					err := work(s)
					reached = m.Steps() >= at
					where := fmt.Sprintf("power %t, seed %d, %s", power, seed, m.FaultStep())
					m.SetFault(hosttest.Fault{})
					for range 2 {
						if problem := verify(Open(crashRoot, Options{Host: m.Process()}), err == nil); problem != nil {
							t.Fatalf("%s: %v", where, problem)
						}
						m.PowerCut()
					}
				})
				if !reached || t.Failed() {
					break
				}
			}
		}
	}
}

func nothing(*Store) error { return nil }

// old creates a session in which every document differs from that of a new session.
func old(s *Store) error {
	if _, err := s.Init(ctx, "old"); err != nil {
		return err
	}
	if err := s.Plan(ctx, Plan{Mode: Simple, Groups: []TaskGroup{{ID: "main"}}}); err != nil {
		return err
	}
	for _, c := range channels {
		if _, err := s.Send(ctx, Draft{Group: "main", From: c.from, To: c.to, Subject: "old"}); err != nil {
			return err
		}
	}
	return nil
}

// whole checks that root contains all documents of a session with these requirements.
func whole(s *Store, root, requirements string) error {
	at := Open(root, Options{Host: s.opts.Host})
	snap, err := at.Resume(ctx)
	if err != nil {
		return err
	}
	docs, err := at.present()
	if err != nil || len(docs) != len(Documents()) {
		return errors.Join(err, fmt.Errorf("only %v is there", docs))
	}
	if snap.PM.OriginalRequirements != requirements || snap.PM.SessionID != snap.Orchestrator.SessionID {
		return fmt.Errorf("%q with sessions %s and %s", snap.PM.OriginalRequirements, snap.PM.SessionID, snap.Orchestrator.SessionID)
	}
	messages, err := at.Messages(ctx, Filter{})
	if want := map[string]int{"old": 3}[requirements]; err != nil || len(messages) != want || len(snap.Groups) != want/3 {
		return errors.Join(err, fmt.Errorf("%d messages, %d groups", len(messages), len(snap.Groups)))
	}
	return nil
}

func noPlanLeft(s *Store) error {
	if there, err := s.exists(s.changePath()); there || err != nil {
		return errors.Join(err, errors.New("the plan is still there"))
	}
	return nil
}

func TestACrashOfInitLeavesACompleteSessionOrNone(t *testing.T) {
	crashes(t, nothing,
		func(s *Store) error { _, err := s.Init(ctx, "new"); return err },
		func(s *Store, done bool) error {
			err := whole(s, crashRoot, "new")
			var none *NoSessionError
			if errors.As(err, &none) && !done {
				return nil
			}
			return errors.Join(err, noPlanLeft(s))
		})
}

func TestACrashOfInitNewLeavesTheOldOrTheNewSession(t *testing.T) {
	crashes(t, old,
		func(s *Store) error { _, _, err := s.InitNew(ctx, "new"); return err },
		func(s *Store, done bool) error {
			if err := s.finishPending(ctx); err != nil {
				return err
			}
			if whole(s, crashRoot, "old") == nil && !done {
				return noPlanLeft(s)
			}
			id := sessionInArchive(s)
			return errors.Join(whole(s, crashRoot, "new"), whole(s, filepath.Join(crashRoot, archiveFolder, id), "old"), noPlanLeft(s))
		})
}

func sessionInArchive(s *Store) string {
	entries, err := s.opts.Host.ReadDir("test", filepath.Join(crashRoot, archiveFolder))
	if err != nil || len(entries) != 1 {
		return fmt.Sprintf("%d entries (%v)", len(entries), err)
	}
	return entries[0].Name()
}

func TestACrashOfArchiveMovesAllDocumentsOrNone(t *testing.T) {
	crashes(t, old,
		func(s *Store) error { _, err := s.Archive(ctx); return err },
		func(s *Store, done bool) error {
			if err := s.finishPending(ctx); err != nil {
				return err
			}
			if whole(s, crashRoot, "old") == nil && !done {
				return noPlanLeft(s)
			}
			docs, err := s.present()
			if err != nil || len(docs) > 0 {
				return errors.Join(err, fmt.Errorf("left over: %v", docs))
			}
			return errors.Join(whole(s, filepath.Join(crashRoot, archiveFolder, sessionInArchive(s)), "old"), noPlanLeft(s))
		})
}

func TestAStartRepeatedAfterACrashIsCountedOnce(t *testing.T) {
	crashes(t, old,
		func(s *Store) error { return s.Start(ctx, Developer, "main", "go") },
		func(s *Store, done bool) error {
			err := s.Start(ctx, Developer, "main", "go")
			var running *StartError
			if err != nil && !errors.As(err, &running) {
				return err
			}
			snap, err := s.Resume(ctx)
			if err != nil {
				return err
			}
			g := snap.Groups[0]
			if g.Status != DevWorking || g.Iterations.Developer != 1 || len(snap.Orchestrator.ActiveAgents) != 1 || snap.Orchestrator.TotalSpawns != 1 {
				return fmt.Errorf("%+v, %+v", g, snap.Orchestrator)
			}
			return nil
		})
}

func TestAStartThatKeepsTheStatusCanBeRepeatedAfterACrash(t *testing.T) {
	blocked := func(s *Store) error {
		err := errors.Join(old(s), s.Start(ctx, Developer, "main", "go"))
		_, answerErr := s.Answer(ctx, Developer, "main", Answer{Status: WordBlocked, Summary: []string{"so"}})
		return errors.Join(err, answerErr)
	}
	crashes(t, blocked,
		func(s *Store) error { return s.Start(ctx, TechLead, "main", "help") },
		func(s *Store, done bool) error {
			err := s.Start(ctx, TechLead, "main", "help")
			var running *StartError
			if err != nil && !errors.As(err, &running) || err == nil && done {
				return fmt.Errorf("done %t: %w", done, err)
			}
			snap, err := s.Resume(ctx)
			if err != nil {
				return err
			}
			if g := snap.Groups[0]; g.CurrentAgent != TechLead || len(snap.Orchestrator.ActiveAgents) != 1 || snap.Orchestrator.TotalSpawns != 2 {
				return fmt.Errorf("%+v, %+v", g, snap.Orchestrator)
			}
			return nil
		})
}

func TestACrashOfSendLeavesTheMessageOrNone(t *testing.T) {
	crashes(t, old,
		func(s *Store) error {
			_, err := s.Send(ctx, Draft{Group: "main", From: Developer, To: QAExpert, Subject: "again"})
			return err
		},
		func(s *Store, done bool) error {
			all, err := s.Messages(ctx, Filter{To: QAExpert})
			if err != nil || len(all) > 2 || len(all) < 1 || (done && len(all) != 2) {
				return errors.Join(err, fmt.Errorf("%d messages", len(all)))
			}
			return nil
		})
}

func TestAFailedStepIsReportedAndTheChangeIsCompletedLater(t *testing.T) {
	broken := errors.New("disk full")
	for step := 1; ; step++ {
		reached := false
		synctest.Test(t, func(t *testing.T) {
			m := hosttest.New(1, hosttest.Fault{})
			s := Open(crashRoot, Options{Host: m.Process()})
			if err := old(s); err != nil {
				t.Fatal(err)
			}
			at := m.Steps() + step
			m.SetFault(hosttest.Fault{At: at, Err: broken})
			_, _, err := s.InitNew(ctx, "new")
			reached = m.Steps() >= at
			m.SetFault(hosttest.Fault{})
			if err == nil && whole(s, crashRoot, "new") != nil {
				t.Fatalf("done, but it is not: %s", m.FaultStep())
			}
			if err := s.finishPending(ctx); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			if whole(s, crashRoot, "old") != nil && whole(s, crashRoot, "new") != nil {
				t.Fatalf("step %d: neither the old session nor the new one", step)
			}
		})
		if !reached || t.Failed() {
			break
		}
	}
}
