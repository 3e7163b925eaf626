package verify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/quick"
	"time"

	"gaffer/internal/attempt/verify"
	"gaffer/internal/testkit/testenv"
	"gaffer/workflow"
)

// withoutDelay is a RetryAfter that makes the second try of a check start immediately.
const withoutDelay = verify.Duration(time.Millisecond)

func run(t *testing.T, r verify.Request, tools verify.Tools) verify.Outcome {
	t.Helper()
	if r.Dir == "" {
		r.Dir = t.TempDir()
	}
	if r.RetryAfter == 0 {
		r.RetryAfter = withoutDelay
	}
	return verify.Run(t.Context(), r, tools)
}

func results(o verify.Outcome) string {
	var all []string
	for _, c := range o.Checks {
		all = append(all, c.Result)
	}
	return strings.Join(all, " ")
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// noProcess waits until no running process has text in its command line.
func noProcess(t *testing.T, text string) {
	t.Helper()
	testenv.Wait(t, "the end of all processes with "+text, func() error {
		if list := running(t, text); len(list) > 0 {
			return fmt.Errorf("there are %q", list)
		}
		return nil
	})
}

// running lists the command lines of running processes that contain all the texts.
func running(t *testing.T, texts ...string) (list []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatalf("list processes: %v", err)
	}
	for _, file := range lines {
		data, _ := os.ReadFile(file) // fails if the process has ended
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(string(data), text) }) {
			list = append(list, file+" "+string(data))
		}
	}
	return list
}

// awaitFile waits until dir contains a file, which the running check writes.
func awaitFile(t *testing.T, dir string) {
	t.Helper()
	testenv.Wait(t, "a file of the check", func() error {
		if list(t, dir) == "" {
			return errors.New("the folder is empty")
		}
		return nil
	})
}

func TestACommandPassesByItsExitCode(t *testing.T) {
	dir := t.TempDir()
	o := run(t, verify.Request{Dir: dir, Checks: []verify.Check{
		{Command: "pwd; read line; echo \"end of input $?\""},
		{Command: "echo out; echo err >&2; exit 3"},
		{Command: "kill -9 $$"},
		{Command: "no-such-program-anywhere"},
	}}, verify.Tools{})
	if results(o) != "pass fail fail fail" || o.Summary != "1/4 checks passed" || o.Passed || o.Mode != workflow.Full {
		t.Errorf("%+v", o)
	}
	for i, want := range []string{dir + "\nend of input 1", "out\nerr\nexit status 3", "signal: killed", "not found"} {
		if !strings.Contains(o.Details[i].Output, want) {
			t.Errorf("output %d is %q, want %q", i, o.Details[i].Output, want)
		}
	}
}

func TestACommandThatPassesTheSecondTimeIsRetried(t *testing.T) {
	o := run(t, verify.Request{Checks: []verify.Check{
		{Command: "test -e seen || { touch seen; false; }"},
		{Command: "echo x >> tries; false"},
		{Command: `test "$(cat tries)" = "x
x"`},
	}}, verify.Tools{})
	if results(o) != "pass fail pass" || !o.Checks[0].Retried || o.Checks[1].Retried || o.Checks[2].Retried {
		t.Errorf("%+v", o)
	}
}

func TestACommandPastItsTimeoutIsEndedWithItsProcesses(t *testing.T) {
	testenv.Integration(t)
	mark := fmt.Sprintf("98765.%d", os.Getpid())
	for name, command := range map[string]string{
		"it ignores being asked":           "trap '' TERM; (trap '' TERM; sleep %[1]s) & while :; do sleep %[1]s; done",
		"its child holds the output":       "sleep %[1]s & wait",
		"it ended and left a child":        "sleep %[1]s & echo left; sleep 0.1",
		"it ended and left a stubborn one": "(trap '' TERM HUP; while :; do sleep %[1]s; done) & echo left",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			o := run(t, verify.Request{Checks: []verify.Check{{Command: fmt.Sprintf(command, mark), Timeout: verify.Duration(time.Second)}}}, verify.Tools{})
			if o.Passed != strings.HasPrefix(name, "it ended") {
				t.Errorf("%+v", o)
			}
			if took := time.Since(began); took > testenv.Patience {
				t.Errorf("took %s", took)
			}
			noProcess(t, mark)
		})
	}
}

func TestAProcessThatLeavesTheGroupDoesNotDelayACheck(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	o := run(t, verify.Request{Dir: dir, Checks: []verify.Check{{Command: "setsid sh -c 'echo $$ > pid; exec sleep 600' & while ! test -s pid; do sleep 0.01; done"}}}, verify.Tools{})
	t.Cleanup(func() { endByFile(t, filepath.Join(dir, "pid")) })
	if took := time.Since(began); !o.Passed || took > testenv.Patience {
		t.Errorf("took %s: %+v", took, o)
	}
}

func TestAStoppedVerificationEndsItsChecks(t *testing.T) {
	mark := fmt.Sprintf("87654.%d", os.Getpid())
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan verify.Outcome, 1)
	go func() {
		ended <- verify.Run(ctx, verify.Request{Dir: dir, Checks: []verify.Check{{Command: "touch begun; sleep " + mark}, {Command: "touch second"}}}, verify.Tools{})
	}()
	awaitFile(t, dir)
	cancel()
	o := <-ended
	if results(o) != "fail fail" || list(t, dir) != "begun" || o.Checks[0].Retried {
		t.Errorf("%+v, folder: %s", o, list(t, dir))
	}
	noProcess(t, mark)
}

func TestOnlyTheEndOfALongOutputIsKept(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := run(t, verify.Request{Checks: []verify.Check{{Command: "yes äöü | head -c 104857606; echo the end"}}}, verify.Tools{})
	runtime.ReadMemStats(&after)
	output := o.Details[0].Output
	if !o.Passed || len([]rune(output)) != 2000 || !strings.HasSuffix(output, "the end") || strings.Contains(output, "\ufffd") {
		t.Errorf("%d characters: …%q", len([]rune(output)), output[max(0, len(output)-40):])
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes of memory for it", grown)
	}
}

func TestAFileIsLookedForInTheWorkFolder(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "x")
	write(t, filepath.Join(dir, "app", "[id]", "page.tsx"), "x")
	write(t, filepath.Join(dir, "dist", "app.3f2a.js"), "x")
	for link, to := range map[string]string{"link": outside, "gone.css": "nowhere", "same.js": "dist/app.3f2a.js", "dist/app.0.js": outside} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"dist/app.3f2a.js": workflow.Pass, "dist": workflow.Pass, "dist/app.*.js": workflow.Pass, "*/*/page.tsx": workflow.Pass,
		"app/[id]/page.tsx": workflow.Pass, "./dist/../dist": workflow.Pass,
		"dist/*.css": workflow.Fail, "absent": workflow.Fail, "[": workflow.Fail, "link": workflow.Fail,
		"li*": workflow.Fail, "*.css": workflow.Fail, "gone.css": workflow.Fail, "dist/app.0*": workflow.Fail, "same.*": workflow.Pass,
	} {
		if o := run(t, verify.Request{Dir: dir, Checks: []verify.Check{{File: name}}}, verify.Tools{}); results(o) != want {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := run(t, verify.Request{Dir: filepath.Join(dir, "gone"), Checks: []verify.Check{{File: "x"}, {Command: "true"}}}, verify.Tools{}); results(o) != "fail fail" {
		t.Errorf("no folder: %+v", o)
	}
}

func TestAPageThatComesUpLateIsRetried(t *testing.T) {
	var asked atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer site.Close()
	o := run(t, verify.Request{Checks: []verify.Check{{URL: site.URL}, {URL: site.URL, Status: 404}}}, verify.Tools{})
	if results(o) != "pass fail" || !o.Checks[0].Retried || o.Mode != workflow.Full {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(o.Details[1].Output, "answered 200, want 404") {
		t.Errorf("%q", o.Details[1].Output)
	}
}

func TestRedirectsAreFollowedFiveTimes(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var left int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &left); err == nil && left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
		}
	}))
	defer site.Close()
	o := run(t, verify.Request{Checks: []verify.Check{{URL: site.URL + "/5"}, {URL: site.URL + "/6"}}}, verify.Tools{})
	if results(o) != "pass fail" || !strings.Contains(o.Details[1].Output, "more than 5 redirects") {
		t.Errorf("%+v", o)
	}
}

func TestSlowAndEndlessAnswersAreCheckedWithinTheTimeout(t *testing.T) {
	testenv.Integration(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.URL.Path == "/endless" && r.Context().Err() == nil {
			if _, err := w.Write([]byte("more ")); err != nil {
				return
			}
		}
		<-r.Context().Done()
	}))
	defer site.Close()
	second := verify.Duration(time.Second)
	o := run(t, verify.Request{Mode: workflow.Reduced, Checks: []verify.Check{
		{URL: site.URL, Timeout: second},
		{URL: site.URL + "/endless", Timeout: second},
		{URL: site.URL + "/endless", Contains: "less", Timeout: second},
		{URL: "http://127.0.0.1:1/", Timeout: second},
	}}, verify.Tools{})
	if results(o) != "fail pass fail fail" {
		t.Errorf("%+v", o)
	}
}

func TestTheMinimalModeRunsOnlyCommands(t *testing.T) {
	o := run(t, verify.Request{Mode: workflow.Minimal, Checks: []verify.Check{{Command: "true"}, {File: "absent"}, {URL: "http://127.0.0.1:1/"}}}, verify.Tools{})
	if !o.Passed || o.Summary != "1/1 checks passed (minimal: exit codes alone, 2 of 3 checks not made)" || len(o.Details) != 1 {
		t.Errorf("%+v", o)
	}
}

func TestAnOutcomeWithoutChecksIsNotAPass(t *testing.T) {
	for _, r := range []verify.Request{
		{Mode: workflow.Minimal, Checks: []verify.Check{{File: "."}, {URL: "http://127.0.0.1:1/"}}},
		{},
	} {
		if o := run(t, r, verify.Tools{}); o.Passed || len(o.Checks) > 0 {
			t.Errorf("%+v", o)
		}
	}
}

func TestTheModeFollowsFromTheAvailablePrograms(t *testing.T) {
	// No real browser is needed: the test covers only the choice of the mode.
	page := verify.Check{URL: "http://127.0.0.1:1/", Contains: "x"}
	for _, c := range []struct {
		check   verify.Check
		forced  string
		missing string
		want    string
	}{
		{verify.Check{Command: "true"}, "", "", "full: no check needs a browser"},
		{verify.Check{URL: page.URL}, "", "", "full: no check needs a browser"},
		{page, "", "", "reduced: no browser found"},
		{page, "", "GAFFER_BROWSER is not a program", "reduced: GAFFER_BROWSER is not a program"},
		{page, workflow.Reduced, "", "reduced: as asked for"},
		{page, workflow.Full, "", "full: as asked for"},
	} {
		o := run(t, verify.Request{Mode: c.forced, Checks: []verify.Check{c.check}}, verify.Tools{Missing: c.missing})
		if got := o.Mode + ": " + o.Why; got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

func TestAnInvalidRequestFailsAllItsChecks(t *testing.T) {
	o := run(t, verify.Request{Checks: []verify.Check{{Command: "true"}, {File: "../x"}}}, verify.Tools{})
	if results(o) != "fail fail" || o.Passed || !strings.Contains(o.Details[0].Output, "within the work folder") {
		t.Errorf("%+v", o)
	}
}

// However the checks end: the summary must count them, the event must agree with the summary, and
// each check must have a detail.
func TestTheSummaryCountsTheResults(t *testing.T) {
	check := func(kinds []uint8, minimal bool) bool {
		all := []verify.Check{{Command: "true"}, {Command: "false"}, {File: "."}, {File: "absent"}}
		r := verify.Request{Dir: t.TempDir(), RetryAfter: withoutDelay, Checks: []verify.Check{all[0]}}
		for _, k := range kinds[:min(len(kinds), 8)] {
			r.Checks = append(r.Checks, all[int(k)%len(all)])
		}
		if minimal {
			r.Mode = workflow.Minimal
		}
		o := verify.Run(t.Context(), r, verify.Tools{})
		passed := strings.Count(results(o), workflow.Pass)
		kind := workflow.Verified("c", o.Summary, o.Checks, o.Mode, o.Screenshot).Kind
		return strings.HasPrefix(o.Summary, fmt.Sprintf("%d/%d checks passed", passed, len(o.Checks))) &&
			o.Passed == (passed == len(o.Checks)) && o.Passed == (kind == workflow.ChunkVerified) && len(o.Details) == len(o.Checks)
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 30}); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
