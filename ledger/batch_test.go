package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/statefile/host"
)

// finishedAttempts returns finished attempts. Each is the first attempt of its task, except for
// the last one, which is a second attempt.
func finishedAttempts() (list []FinishedAttempt) {
	for i, status := range []Status{Done, Failed, TimedOut, Done} {
		run := NewRun(Dispatch{Bead: fmt.Sprintf("bd-%d", i+1), Agent: "claude", Model: "m", Repo: "/r", Prompt: "p", MaxRetries: 2}, noon)
		code, said := i%3, "said"
		result := Result{
			Bead: run.Bead, Attempt: 1, Status: status, Reason: "because", ExitCode: &code,
			FinishedAt: noon.Add(time.Minute).Format(time.RFC3339), OutputSummary: &said,
		}
		if i > 1 {
			result.OutputSummary, result.Verification = nil, &Verification{Overall: "pass"}
		}
		list = append(list, FinishedAttempt{run, result})
	}
	again := list[1]
	again.Run.Attempt, again.Result.Attempt = 2, 2
	return append(list, again)
}

func TestRecordNewEqualsBeginAndFinish(t *testing.T) {
	halves, together := Open(t.TempDir(), Options{Name: "state"}), Open(t.TempDir(), Options{Name: "state"})
	list := finishedAttempts()
	for _, w := range list[:4] {
		must(t, halves.Begin(t.Context(), w.Run))
		_, err := halves.Finish(t.Context(), w.Result)
		must(t, err)
	}
	recorded, err := together.RecordNew(t.Context(), list)
	must(t, err)
	if got := fmt.Sprint(recorded); got != "[true true true true false]" {
		t.Errorf("recorded %s", got)
	}
	for _, kind := range Kinds() {
		same(t, halves.Dir(kind), together.Dir(kind), 4)
	}
	if recorded, err = together.RecordNew(t.Context(), list); err != nil || fmt.Sprint(recorded) != "[false false false false false]" {
		t.Errorf("the second time %v, %v", recorded, err)
	}
}

func TestRecordNewSkipsInvalidAttempts(t *testing.T) {
	s := testStore(t)
	list := finishedAttempts()[:4]
	list[0].Run.Bead = "../escape"
	list[1].Result.Status = Running
	list[2].Run.Agent = ""
	recorded, err := s.RecordNew(t.Context(), list)
	if err != nil || fmt.Sprint(recorded) != "[false false false true]" {
		t.Errorf("%v, %v", recorded, err)
	}
	if n := soundLedger(t, s); n != 2 {
		t.Errorf("%d records", n)
	}
}

// foreignWriter is a host on which a program that takes no lock creates a run record at the last
// moment.
type foreignWriter struct {
	host.Host
	path string
}

func (f foreignWriter) RenameNew(op host.Op, from, to string) error {
	if to == f.path {
		if err := os.WriteFile(to, []byte(`{"bead": "bd-2"}`), 0o600); err != nil {
			return err
		}
	}
	return f.Host.RenameNew(op, from, to)
}

func TestAnAttemptWhoseRecordAnotherProgramCreatesMeanwhileIsNotReportedAsRecorded(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, Options{Host: foreignWriter{host.OS(), filepath.Join(dir, "runs", "bd-2.json")}})
	recorded, err := s.RecordNew(t.Context(), finishedAttempts()[:3])
	if err != nil || fmt.Sprint(recorded) != "[true false true]" {
		t.Errorf("%v, %v", recorded, err)
	}
}

func TestACrashWhileAttemptsAreRecordedTogetherLosesNoneThatWasAcknowledged(t *testing.T) {
	var acknowledged []bool
	do := func(h host.Host) (err error) {
		if acknowledged, err = at(h).RecordNew(context.Background(), finishedAttempts()); err != nil {
			acknowledged = make([]bool, len(finishedAttempts()))
		}
		return err
	}
	atEveryCrash(t, nothing, do, func(t *testing.T, h host.Host) {
		s := at(h)
		for i, w := range finishedAttempts()[:4] {
			run, err := s.Run(w.Run.Bead, 1)
			if acknowledged[i] && (err != nil || run.Status != w.Result.Status) {
				t.Errorf("run %s: %+v, %v", w.Run.Bead, run, err)
			}
			result, resultErr := s.Result(w.Run.Bead, 1)
			if err == nil && (resultErr != nil || result.Status != w.Result.Status || run.Status != w.Result.Status) {
				t.Errorf("run %s is there as %s, its result %+v, %v", w.Run.Bead, run.Status, result, resultErr)
			}
		}
		for _, w := range finishedAttempts() {
			if err := s.Record(t.Context(), w.Run, w.Result); err != nil {
				t.Fatalf("%s again: %v", w.Run.Bead, err)
			}
		}
		if n := soundLedger(t, s); n != 10 {
			t.Errorf("%d records, want 10", n)
		}
	})
}
