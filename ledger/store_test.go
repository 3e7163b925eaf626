package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile"
)

func dispatch(attempt int) Run {
	return NewRun(Dispatch{
		Bead: "bd-1", Agent: "claude", Model: "sonnet", Repo: "/repo",
		Prompt: "Fix the lock", Template: "bug-fix", Attempt: attempt,
	}, noon.Add(time.Duration(attempt)*time.Hour))
}

func ended(attempt int, status Status) Result {
	code := 0
	if status != Done {
		code = 1
	}
	return Result{
		Bead: "bd-1", Attempt: attempt, Status: status, Reason: "because", ExitCode: &code,
		FinishedAt: noon.Add(time.Duration(attempt)*time.Hour + 90*time.Second).Format(time.RFC3339),
	}
}

func begin(t *testing.T, s *Store, run Run) {
	t.Helper()
	if err := s.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, s *Store, r Result) Result {
	t.Helper()
	r, err := s.Finish(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunIsWrittenAtDispatchAndCompletedOnce(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	run, err := s.Run("bd-1", 0)
	if err != nil || run.Status != Running || run.FinishedAt != nil || run.ResultFile != "state/results/bd-1.json" {
		t.Fatalf("at dispatch: %+v, %v", run, err)
	}
	finish(t, s, ended(1, Failed))
	run, err = s.Run("bd-1", 1)
	if err != nil || run.Status != Failed || *run.DurationSeconds != 90 || *run.ExitCode != 1 || *run.FailureReason != "because" {
		t.Fatalf("at the end: %+v, %v", run, err)
	}
	if valid := soundLedger(t, s); valid != 2 {
		t.Errorf("%d valid records, want 2", valid)
	}
}

// soundLedger fails the test if validation finds anything. It returns the number of records.
func soundLedger(t *testing.T, s *Store) int {
	t.Helper()
	count := 0
	err := s.Validate(t.Context(), ValidateOptions{Strict: true}, func(c ValidatedFile) error {
		count++
		for _, f := range c.Found {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func TestAResultTakesWhatItLeavesEmptyFromItsRunAndTheClock(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	now := noon.Add(time.Hour + time.Minute)
	s.opts.Now = func() time.Time { return now }
	got := finish(t, s, Result{Bead: "bd-1", Attempt: 1, Status: Done})
	minute := 60
	want := Result{
		SchemaVersion: 1, Bead: "bd-1", Agent: "claude", Status: Done, Reason: "done",
		StartedAt: "2026-02-12T13:00:00Z", FinishedAt: "2026-02-12T13:01:00Z", DurationSeconds: &minute,
		Attempt: 1, MaxRetries: 2, SessionName: "agent-bd-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	now = now.Add(time.Hour)
	if again := finish(t, s, Result{Bead: "bd-1", Attempt: 1, Status: Done}); again.FinishedAt != want.FinishedAt {
		t.Errorf("the second time it ended at %s", again.FinishedAt)
	}
}

// Records in the minimal form lack a start time, or have it in another format.
func TestARunOfAnyFormCanEnd(t *testing.T) {
	const end = "2026-02-12T17:10:00Z"
	for at, want := range map[string]struct {
		start   string
		seconds int // expected duration in seconds; -1 if unknown
	}{
		"'$START'":                  {end, -1},
		"":                          {end, -1},
		"2026-02-12 17:08:00":       {"2026-02-12T17:08:00Z", 120},
		"2026-02-12T17:08:00+0000":  {"2026-02-12T17:08:00Z", 120},
		"2026-02-12T18:08:00+01:00": {"2026-02-12T18:08:00+01:00", 120},
	} {
		s := testStore(t)
		put(t, s, RunKind, "bd-1", `{"bead":"bd-1","agent":"claude","model":"sonnet","repo":"/r","started_at":%q,"attempt":1,"prompt":"x"}`, at)
		for range 2 {
			r := finish(t, s, Result{Bead: "bd-1", Attempt: 1, Status: Failed, Reason: "lost", FinishedAt: end})
			if r.StartedAt != want.start || (want.seconds < 0) != (r.DurationSeconds == nil) || r.DurationSeconds != nil && *r.DurationSeconds != want.seconds {
				t.Errorf("%q: began at %s, took %v", at, r.StartedAt, r.DurationSeconds)
			}
		}
		if run, err := s.Run("bd-1", 0); err != nil || run.Status != Failed || run.StartedAt != at {
			t.Errorf("%q: %+v, %v", at, run, err)
		}
		for _, a := range attemptsOf(t, s) {
			if (want.seconds < 0) != (a.DurationSeconds == nil) {
				t.Errorf("%q: a report says that it took %v", at, *a.DurationSeconds)
			}
		}
	}
}

func TestAReportTakesTheStartThatIsATime(t *testing.T) {
	s := testStore(t)
	put(t, s, RunKind, "bd-1", `{"bead":"bd-1","agent":"claude","model":"sonnet","repo":"/r","started_at":"'$START'","attempt":1,"prompt":"x"}`)
	put(t, s, ResultKind, "bd-1", `{"bead":"bd-1","status":"done","started_at":"2026-02-12T17:06:00Z","finished_at":"2026-02-12T17:08:00Z","attempt":1}`)
	for _, a := range attemptsOf(t, s) {
		if a.StartedAt != "2026-02-12T17:06:00Z" || a.DurationSeconds == nil || *a.DurationSeconds != 120 {
			t.Errorf("%+v", a)
		}
	}
}

func attemptsOf(t *testing.T, s *Store) []Attempt {
	t.Helper()
	var all []Attempt
	if _, err := s.Report(t.Context(), Query{}, func(a Attempt) error { all = append(all, a); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryAttemptIsKept(t *testing.T) {
	s := testStore(t)
	for n := 1; n <= 3; n++ {
		begin(t, s, dispatch(n))
		finish(t, s, ended(n, []Status{Failed, TimedOut, Done}[n-1]))
	}
	for n, want := range []Status{Failed, TimedOut, Done} {
		run, err1 := s.Run("bd-1", n+1)
		result, err2 := s.Result("bd-1", n+1)
		if err1 != nil || err2 != nil || run.Status != want || result.Status != want || run.Attempt != n+1 {
			t.Errorf("attempt %d: %v %v, %v %v", n+1, run.Status, err1, result.Status, err2)
		}
	}
	if n := soundLedger(t, s); n != 6 {
		t.Errorf("%d records, want 6", n)
	}
}

func TestRepeatingAnAttemptSucceedsOnlyWithTheSameValues(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	begin(t, s, dispatch(1))
	finish(t, s, ended(1, Done))
	finish(t, s, ended(1, Done))
	begin(t, s, dispatch(1)) // the same call again, as after a crash
	before := readFile(t, s.path(RunKind, "bd-1")) + readFile(t, s.path(ResultKind, "bd-1"))

	other := dispatch(1)
	other.Model = "opus"
	later := ended(1, Done)
	later.FinishedAt = "2026-02-12T20:00:00Z"
	_, err1 := s.Finish(t.Context(), later)
	_, err2 := s.Finish(t.Context(), ended(1, Failed))
	for _, err := range []error{s.Begin(t.Context(), other), err1, err2} {
		var conflict interface{ Conflict() bool }
		if !errors.As(err, &conflict) || !conflict.Conflict() {
			t.Errorf("got %v, want a conflict", err)
		}
	}
	if after := readFile(t, s.path(RunKind, "bd-1")) + readFile(t, s.path(ResultKind, "bd-1")); after != before {
		t.Errorf("something changed:\n%s", after)
	}
}

func TestAnEarlierAttemptMayEndAfterALaterOneBegan(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	begin(t, s, dispatch(2))
	finish(t, s, ended(2, Done))
	finish(t, s, ended(1, Failed))
	run, err := s.Run("bd-1", 1)
	if err != nil || run.Status != Failed {
		t.Errorf("attempt 1: %v, %v", run.Status, err)
	}
	if n := soundLedger(t, s); n != 4 {
		t.Errorf("%d records, want 4", n)
	}
}

func TestAKeptAttemptWithOtherValuesIsNeverReplaced(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	kept := s.keptPath(RunKind, "bd-1", 1)
	writeFile(t, kept, []byte(`{"bead": "bd-1", "attempt": 1}`))
	before := readFile(t, s.path(RunKind, "bd-1"))
	begin(t, s, dispatch(2))
	if got := readFile(t, kept); got != `{"bead": "bd-1", "attempt": 1}` {
		t.Errorf("the kept attempt became %s", got)
	}
	if got := readFile(t, s.path(RunKind, "bd-1")+".bak"); got != before {
		t.Errorf("the latest attempt was not kept: %s", got)
	}
	if run, err := s.Run("bd-1", 0); err != nil || run.Attempt != 2 {
		t.Errorf("the latest attempt is %d, %v", run.Attempt, err)
	}
}

// Another program has overwritten the latest record and counts attempts from 1 again.
func TestAttemptNumbersContinueAfterTheHighestOne(t *testing.T) {
	s := testStore(t)
	for n := 1; n <= 3; n++ {
		begin(t, s, dispatch(n))
		finish(t, s, ended(n, Failed))
	}
	put(t, s, RunKind, "bd-1", `{"bead":"bd-1","agent":"codex","model":"m","repo":"/r","started_at":"2026-03-12T17:08:00Z","attempt":1,"prompt":"x"}`)
	for want := 3; want <= 5; want++ {
		n, err := s.Latest("bd-1")
		if err != nil || n != want {
			t.Fatalf("the greatest is %d, %v, want %d", n, err, want)
		}
		begin(t, s, dispatch(n+1))
		finish(t, s, ended(n+1, Failed))
	}
	if got := readFile(t, s.path(RunKind, "bd-1")+".bak"); !strings.Contains(got, "codex") {
		t.Errorf("kept %s", got)
	}
	must(t, os.Remove(s.path(ResultKind, "bd-1")))
	put(t, s, RunKind, "bd-1", `{"bead":"bd-1","attempt":1}`)
	if n, err := s.Latest("bd-1"); err != nil || n != 5 {
		t.Errorf("with kept attempts alone it is %d, %v", n, err)
	}
}

func TestCompletingARunChangesOnlyWhatItsEndSays(t *testing.T) {
	s := testStore(t)
	path := s.path(RunKind, "bd-xyz")
	minimal := strings.Replace(readFile(t, "testdata/seed/run-minimal.json"), "\n}", ",\n  \"mine\": 1e2\n}", 1)
	writeFile(t, path, []byte(minimal))
	finish(t, s, Result{Bead: "bd-xyz", Attempt: 1, Status: Done, FinishedAt: "2026-02-12T17:10:00Z"})
	want := strings.Replace(minimal, "1e2\n}", `1e2,
  "finished_at": "2026-02-12T17:10:00Z",
  "duration_seconds": 120,
  "status": "done",
  "exit_code": null
}`, 1)
	if diff := cmp.Diff(want, readFile(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestAnInvalidRecordIsRefusedAndNothingIsWritten(t *testing.T) {
	for name, spoil := range map[string]func(*Run){
		"a slash":         func(r *Run) { r.Bead = "../x" },
		"a kept name":     func(r *Run) { r.Bead = "bd-1.attempt-2" },
		"a NUL":           func(r *Run) { r.Bead = "bd\x00" },
		"300 characters":  func(r *Run) { r.Bead = strings.Repeat("b", 300) },
		"no model":        func(r *Run) { r.Model = "" },
		"attempt zero":    func(r *Run) { r.Attempt = 0 },
		"already done":    func(r *Run) { r.Status = Done },
		"no start":        func(r *Run) { r.StartedAt = "'$START'" },
		"negative limits": func(r *Run) { r.MaxRetries = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := testStore(t)
			run := dispatch(1)
			spoil(&run)
			if err := s.Begin(t.Context(), run); err == nil {
				t.Error("it was accepted")
			}
			if _, err := os.Stat(s.root); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}

func TestAnAttemptThatNeverBeganCannotEnd(t *testing.T) {
	s := testStore(t)
	_, err := s.Finish(t.Context(), ended(1, Done))
	var missing *NoRunError
	if !errors.As(err, &missing) || !missing.NotFound() {
		t.Errorf("got %v", err)
	}
	begin(t, s, dispatch(1))
	if _, err := s.Finish(t.Context(), ended(1, Running)); err == nil || !strings.Contains(err.Error(), "done, failed, timeout") {
		t.Errorf("got %v", err)
	}
}

func TestABrokenRecordIsNeverReplaced(t *testing.T) {
	for name, data := range map[string]string{"broken": `{"bead": "bd-1", "att`, "without a number": `{"bead": "bd-1"}`, "a list": `[]`} {
		t.Run(name, func(t *testing.T) {
			s := testStore(t)
			path := s.path(RunKind, "bd-1")
			writeFile(t, path, []byte(data))
			old := time.Now().Add(-time.Hour) // so old that no program can still be writing the file
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			err := s.Begin(t.Context(), dispatch(2))
			var invalid interface{ Invalid() bool }
			if !errors.As(err, &invalid) || !invalid.Invalid() {
				t.Errorf("got %v, want an invalid document", err)
			}
			if got := readFile(t, path); got != data {
				t.Errorf("it became %s", got)
			}
		})
	}
}

func TestALockTimeoutIsReported(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	unlock, err := s.lock(t.Context(), s.Dir(RunKind))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	s.opts.LockTimeout = 10 * time.Millisecond
	var locked *statefile.LockError
	if err := s.Begin(t.Context(), dispatch(2)); !errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Begin(ctx, dispatch(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestManyWritersOfOneTaskKeepEveryAttempt(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	const attempts = 20
	var all sync.WaitGroup
	for n := 1; n <= attempts; n++ {
		all.Go(func() {
			s := Open(root, Options{}) // a new store, as in another process
			if err := s.Begin(context.Background(), dispatch(n)); err != nil {
				t.Error(err)
			}
			if _, err := s.Finish(context.Background(), ended(n, Done)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := Open(root, Options{})
	for n := 1; n <= attempts; n++ {
		run, err := s.Run("bd-1", n)
		if err != nil || run.Attempt != n || run.Status != Done {
			t.Errorf("attempt %d: %+v, %v", n, run, err)
		}
	}
	if n := soundLedger(t, s); n != 2*attempts {
		t.Errorf("%d records, want %d", n, 2*attempts)
	}
}

func TestPermissionsSurviveARetry(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	path := s.path(RunKind, "bd-1")
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	finish(t, s, ended(1, Failed))
	begin(t, s, dispatch(2))
	for _, p := range []string{path, s.keptPath(RunKind, "bd-1", 1)} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o660 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

func TestPromptsAndOutputsAreCutAtCharacters(t *testing.T) {
	long := strings.Repeat("é", 700)
	for _, c := range []struct{ name, got, want string }{
		{"a long prompt", Excerpt(long), strings.Repeat("é", 200)},
		{"a short prompt", Excerpt("é"), "é"},
		{"a prompt of 200", Excerpt(long[:400]), long[:400]},
		{"a long output", Summary(long), strings.Repeat("é", 500)},
		{"a short output", Summary("x"), "x"},
		{"no output", Summary(""), ""},
		{"the hash of nothing", Hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q", c.name, c.got)
		}
	}
}

func TestAnAttemptThatTookLessThanASecondTookOne(t *testing.T) {
	for end, want := range map[string]int{
		"2026-02-12T13:00:00Z": 1, "2026-02-12T13:00:00.4Z": 1, "2026-02-12T13:00:01Z": 1, "2026-02-12T13:00:02Z": 2,
		"2026-02-12T12:59:00Z": 0, // the clock was set back
	} {
		s := testStore(t)
		begin(t, s, dispatch(1))
		r := ended(1, Failed)
		r.FinishedAt = end
		finish(t, s, r)
		run, err := s.Run("bd-1", 0)
		result, err2 := s.Result("bd-1", 0)
		if err != nil || err2 != nil || *run.DurationSeconds != want || *result.DurationSeconds != want {
			t.Errorf("from %s to %s it took %d and %d s, want %d (%v, %v)", run.StartedAt, end, *run.DurationSeconds, *result.DurationSeconds, want, err, err2)
		}
		if want > 0 {
			soundLedger(t, s)
		}
	}
}

func TestAReportCountsAnAttemptOfLessThanASecond(t *testing.T) {
	s := testStore(t)
	writeFile(t, s.path(RunKind, "bd-1"), []byte(`{"bead":"bd-1","agent":"claude","model":"m","repo":"/r","prompt":"p","started_at":"2026-02-12T12:00:00Z","attempt":1}`))
	writeFile(t, s.path(ResultKind, "bd-1"), []byte(`{"bead":"bd-1","status":"done","finished_at":"2026-02-12T12:00:00Z","attempt":1}`))
	_, err := s.Report(t.Context(), Query{}, func(a Attempt) error {
		if a.DurationSeconds == nil || *a.DurationSeconds != 1 {
			t.Errorf("it took %v", a.DurationSeconds)
		}
		return nil
	})
	must(t, err)
}
