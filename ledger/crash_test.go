package ledger

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
)

// atEveryCrash runs fn on a new machine that crashes at step 1, then on a machine that crashes at
// step 2, and so on until fn completes. For each step the process dies in one run, and the power
// fails in others. After each crash it calls check with the restarted machine.
func atEveryCrash(t *testing.T, prepare, fn func(h host.Host) error, check func(t *testing.T, h host.Host)) {
	for _, power := range []bool{false, true} {
		for at := 1; ; at++ {
			died := false
			for seed := range map[bool]uint64{false: 1, true: 3}[power] { // only power cuts depend on the seed
				synctest.Test(t, func(t *testing.T) {
					m := hosttest.New(seed, hosttest.Fault{})
					if err := prepare(m.Process()); err != nil {
						t.Fatal(err)
					}
					before := m.Steps()
					m.SetFault(hosttest.Fault{At: before + at, Power: power})
					err := fn(m.Process())
					died = m.Steps() >= before+at
					if err != nil && !errors.Is(err, hosttest.ErrDead) {
						t.Fatalf("step %d, power cut %v: %v", at, power, err)
					}
					where := m.FaultStep()
					m.SetFault(hosttest.Fault{})
					if !died && power {
						m.PowerCut() // acknowledged work must survive a power cut
					}
					check(t, m.Process())
					if t.Failed() {
						t.Fatalf("after power cut %v at %s, seed %d", power, where, seed)
					}
				})
			}
			if !died {
				break
			}
		}
	}
}

func nothing(host.Host) error { return nil }

func at(h host.Host) *Store {
	return Open("/state", Options{Host: h, Now: func() time.Time { return noon }})
}

func TestACrashAnywhereInThreeAttemptsLosesNothing(t *testing.T) {
	testenv.Integration(t)
	ctx := context.Background()
	halves := func(s *Store, n int) (steps []func() error) {
		return []func() error{
			func() error { return s.Begin(ctx, dispatch(n)) },
			func() error { _, err := s.Finish(ctx, ended(n, Failed)); return err },
		}
	}
	whole := func(s *Store, n int) (steps []func() error) {
		return []func() error{
			func() error { return nil },
			func() error { return s.Record(ctx, dispatch(n), ended(n, Failed)) },
		}
	}
	t.Run("begun and finished", func(t *testing.T) { crashInThreeAttempts(t, true, halves) })
	t.Run("recorded at once", func(t *testing.T) { crashInThreeAttempts(t, false, whole) })
}

// crashInThreeAttempts records three attempts, with two calls for each: its start and its end. If
// begins is true, each call that returns must be on disk. If it is false, only both calls together
// must be.
func crashInThreeAttempts(t *testing.T, begins bool, attempt func(s *Store, n int) []func() error) {
	var acknowledged int
	story := func(s *Store) (steps []func() error) {
		for n := 1; n <= 3; n++ {
			steps = append(steps, attempt(s, n)...)
		}
		return steps
	}
	do := func(h host.Host) error {
		acknowledged = 0
		for i, step := range story(at(h)) {
			if err := step(); err != nil {
				return err
			}
			if i%2 == 1 || begins {
				acknowledged = i + 1
			}
		}
		return nil
	}
	atEveryCrash(t, nothing, do, func(t *testing.T, h host.Host) {
		s := at(h)
		mustHold(t, s, acknowledged)
		for i, step := range story(s) {
			if err := step(); err != nil {
				t.Fatalf("step %d again: %v", i, err)
			}
		}
		mustHold(t, s, 6)
		if n := soundLedger(t, s); n != 6 {
			t.Errorf("%d records, want 6", n)
		}
	})
}

// mustHold checks that the first n steps are recorded and that every file is complete.
func mustHold(t *testing.T, s *Store, n int) {
	t.Helper()
	for step := range n {
		attempt := step/2 + 1
		run, err := s.Run("bd-1", attempt)
		if err != nil || run.PromptFull != "Fix the lock" {
			t.Errorf("run %d: %+v, %v", attempt, run, err)
		}
		if step%2 == 0 {
			continue
		}
		if result, err := s.Result("bd-1", attempt); err != nil || result.Status != Failed || run.Status != Failed {
			t.Errorf("result %d: %+v, run %s, %v", attempt, result, run.Status, err)
		}
	}
	err := s.Validate(t.Context(), ValidateOptions{}, func(c ValidatedFile) error {
		for _, f := range onlyInvalid(c.Found) {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

const legacy = `{"bead": "bd-1", "agent": "claude", "model": "sonnet", "repo": "/repo", "started_at": "2026-02-12T17:08:00Z", "attempt": 1, "prompt": "Fix it"}`

func TestACrashAnywhereInAFixLeavesTheRecordOldOrNewAndTheOldOneKept(t *testing.T) {
	const path = "/state/runs/bd-1.json"
	prepare := func(h host.Host) error {
		if err := statefile.MkdirAll(h, "/state/runs"); err != nil {
			return err
		}
		return statefile.WriteNew(h, path, []byte(legacy), 0o644)
	}
	fix := func(h host.Host) error {
		return at(h).Fix(context.Background(), func(Fix) error { return nil })
	}
	atEveryCrash(t, prepare, fix, func(t *testing.T, h host.Host) {
		for round := range 2 {
			data, err := statefile.ReadBytes(h, path)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := statefile.ReadBytes(h, path+".bak")
			if string(data) != legacy && (err != nil || string(kept) != legacy || !strings.HasPrefix(string(data), legacy[:len(legacy)-1])) {
				t.Errorf("round %d: %s, kept %s, %v", round, data, kept, err)
			}
			if err := fix(h); err != nil {
				t.Fatal(err)
			}
		}
		if data, _ := statefile.ReadBytes(h, path); string(data) == legacy {
			t.Error("not fixed in the end")
		}
		if _, err := h.Lstat("look", path+".bak-2"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a second backup: %v", err)
		}
	})
}

// In this test a process died in Begin, after it had linked the first attempt to its second name.
// Another program then wrote the end of that attempt to the record under the first name.
func TestACrashAnywhereBesideAKeptAttemptWithOtherValuesLosesNeither(t *testing.T) {
	const path, kept = "/state/runs/bd-1.json", `{"bead": "bd-1", "attempt": 1}`
	prepare := func(h host.Host) error {
		if err := statefile.MkdirAll(h, "/state/runs"); err != nil {
			return err
		}
		return errors.Join(statefile.WriteNew(h, path, []byte(legacy), 0o644), statefile.WriteNew(h, "/state/runs/bd-1.attempt-1.json", []byte(kept), 0o644))
	}
	next := func(h host.Host) error { return at(h).Begin(context.Background(), dispatch(2)) }
	atEveryCrash(t, prepare, next, func(t *testing.T, h host.Host) {
		if err := next(h); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{path + ".bak": legacy, "/state/runs/bd-1.attempt-1.json": kept} {
			if data, err := statefile.ReadBytes(h, name); err != nil || string(data) != want {
				t.Errorf("%s is %s, %v", name, data, err)
			}
		}
		if run, err := at(h).Run("bd-1", 0); err != nil || run.Attempt != 2 {
			t.Errorf("the latest attempt is %d, %v", run.Attempt, err)
		}
	})
}

func TestAStepThatFailsIsNamedAndLosesNothing(t *testing.T) {
	full := errors.New("no space left on device")
	for n, struck := 1, true; struck; n++ {
		synctest.Test(t, func(t *testing.T) {
			m := hosttest.New(1, hosttest.Fault{})
			p := m.Process()
			if err := at(p).Begin(t.Context(), dispatch(1)); err != nil {
				t.Fatal(err)
			}
			before := m.Steps()
			m.SetFault(hosttest.Fault{At: before + n, Err: full})
			_, err1 := at(p).Finish(t.Context(), ended(1, Failed))
			err2 := at(p).Begin(t.Context(), dispatch(2))
			err := errors.Join(err1, err2)
			struck = m.Steps() >= before+n
			if err != nil && !strings.Contains(err.Error(), "no space") {
				t.Errorf("%s: the error does not say why: %v", m.FaultStep(), err)
			}
			m.SetFault(hosttest.Fault{})
			begin(t, at(p), dispatch(1))
			finish(t, at(p), ended(1, Failed))
			begin(t, at(p), dispatch(2))
			mustHold(t, at(p), 3)
			if t.Failed() {
				t.Fatalf("step %d", n)
			}
		})
	}
}

func TestConcurrentProcessesThatDieKeepEveryAttempt(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			m := hosttest.New(seed, hosttest.Fault{At: int(seed%150) + 1, Power: seed%2 == 0})
			var begun, over [4]bool
			for n := 1; n <= 3; n++ {
				p := m.Process()
				m.Go(p, func() {
					begun[n] = at(p).Begin(context.Background(), dispatch(n)) == nil
					_, err := at(p).Finish(context.Background(), ended(n, Failed))
					over[n] = err == nil
				})
			}
			m.Run()
			m.SetFault(hosttest.Fault{})
			s := at(m.Process())
			for n := 1; n <= 3; n++ {
				run, err := s.Run("bd-1", n)
				if begun[n] && err != nil || over[n] && run.Status != Failed {
					t.Errorf("seed %d: run %d is %q, %v", seed, n, run.Status, err)
				}
				begin(t, s, dispatch(n))
				finish(t, s, ended(n, Failed))
			}
			if n := soundLedger(t, s); n != 6 {
				t.Errorf("seed %d: %d records, want 6", seed, n)
			}
		})
	}
}
