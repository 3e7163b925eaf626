package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/attempt/verify"
	"gaffer/workflow"
)

func TestMain(m *testing.M) {
	if os.Getenv("VERIFY_AS_SERVER") != "" {
		serveForever()
	}
	if os.Getenv("VERIFY_AS_PROGRAM") != "" {
		os.Exit(verify.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// endByFile ends the process whose pid is written in the file at path.
func endByFile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 2 {
		t.Fatalf("%s has %q", path, data)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func call(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = verify.Main(args, &out, &errs)
	return code, out.String(), errs.String()
}

func request(t *testing.T, r verify.Request) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "checks.json")
	write(t, path, string(data))
	return path
}

func outcome(t *testing.T, path string) verify.Outcome {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var o verify.Outcome
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheExitCodeAndTheFileOfEachAttemptShowTheOutcome(t *testing.T) {
	path := request(t, verify.Request{Dir: t.TempDir(), RetryAfter: withoutDelay, Checks: []verify.Check{{Name: "fresh", Command: "echo all good"}, {Name: "counted", Command: "echo x >> n; echo only $(wc -l < n); test $(wc -l < n) -gt 2"}}})
	t.Setenv(verify.AttemptVariable, "4")
	code, stdout, stderr := call(path)
	if code != 1 || stderr != "" || stdout != "failed: counted\n  only 2\n  exit status 1\n1/2 checks passed\n" {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	t.Setenv(verify.AttemptVariable, "5")
	if code, stdout, _ := call(path); code != 0 || stdout != "2/2 checks passed\n" {
		t.Errorf("exit %d, %q", code, stdout)
	}
	if code, _, _ := call(path); code != 0 { // verify the same attempt again
		t.Errorf("exit %d", code)
	}
	if names := list(t, filepath.Dir(path)); names != "checks.attempt-4.json checks.attempt-5.json checks.json" {
		t.Errorf("the folder has %s", names)
	}
	if o := outcome(t, verify.OutcomePath(path, 4)); results(o) != "pass fail" || o.Passed {
		t.Errorf("%+v", o)
	}
	if o := outcome(t, verify.OutcomePath(path, 5)); results(o) != "pass pass" || !o.Passed || o.Mode != workflow.Full {
		t.Errorf("%+v", o)
	}
}

func TestMainRefusesInvalidRequests(t *testing.T) {
	good := `{"checks":[{"command":"true"}]}`
	for name, c := range map[string]struct{ text, attempt, want string }{
		"not JSON":             {`{"checks":`, "1", "unexpected EOF"},
		"two documents":        {good + good, "1", "more than one"},
		"a misspelt field":     {`{"checks":[{"comand":"true"}]}`, "1", `unknown field "comand"`},
		"no checks":            {`{"checks":[]}`, "1", "no checks"},
		"an unknown mode":      {`{"mode":"lax","checks":[{"command":"true"}]}`, "1", `mode is "lax"`},
		"a time without unit":  {`{"checks":[{"command":"true","timeout":"30"}]}`, "1", "want such as 30s"},
		"a time as a number":   {`{"checks":[{"command":"true","timeout":30}]}`, "1", "timeout"},
		"nowhere for pictures": {`{"checks":[{"url":"http://127.0.0.1/","screenshot":true}]}`, "1", "names no file"},
		"an attempt in words":  {good, "../1", verify.AttemptVariable},
		"attempt zero":         {good, "0", verify.AttemptVariable},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "checks.json")
			write(t, path, c.text)
			t.Setenv(verify.AttemptVariable, c.attempt)
			code, stdout, stderr := call(path)
			if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, %q, %q, want %q", code, stdout, stderr, c.want)
			}
			if names := list(t, filepath.Dir(path)); names != "checks.json" {
				t.Errorf("the folder has %s", names)
			}
		})
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"a", "b"}, {filepath.Join(dir, "absent")}, {dir}, {fifo}} {
		if code, _, stderr := call(args...); code != 2 || stderr == "" {
			t.Errorf("%q: exit %d, %q", args, code, stderr)
		}
	}
}

func TestASymbolicLinkAtTheOutcomesPathIsReplaced(t *testing.T) {
	path := request(t, verify.Request{Checks: []verify.Check{{Command: "true"}}})
	precious := filepath.Join(t.TempDir(), "precious")
	write(t, precious, "keep me")
	t.Setenv(verify.AttemptVariable, "")
	if err := os.Symlink(precious, verify.OutcomePath(path, 1)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call(path); code != 0 {
		t.Fatal(stderr)
	}
	if data, err := os.ReadFile(precious); string(data) != "keep me" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	if !outcome(t, verify.OutcomePath(path, 1)).Passed {
		t.Error("not written")
	}
}

func TestAnOutcomeThatCannotBeWrittenIsNotPassed(t *testing.T) {
	path := request(t, verify.Request{Checks: []verify.Check{{Command: "true"}}})
	t.Setenv(verify.AttemptVariable, "1")
	if err := os.MkdirAll(filepath.Join(verify.OutcomePath(path, 1), "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := call(path); code != 1 || stdout != "" || !strings.Contains(stderr, "rename") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	if names := list(t, filepath.Dir(path)); names != "checks.attempt-1.json checks.json" {
		t.Errorf("the folder has %s", names)
	}
}

// The agent's next attempt receives only the last 2,000 bytes of the report, so everything
// important must be within them.
func TestTheReportNamesAllFailedChecksWithinItsLimit(t *testing.T) {
	for _, failing := range []int{1, 3, 12, 200} {
		r := verify.Request{Mode: workflow.Minimal, RetryAfter: withoutDelay}
		for i := range failing {
			r.Checks = append(r.Checks, verify.Check{Name: fmt.Sprintf("check %d", i), Command: "printf '%5000s' | tr ' ' ä; echo; echo last words; exit 1"})
		}
		_, stdout, _ := call(request(t, r))
		if len(stdout) > 2000 || !strings.HasSuffix(stdout, fmt.Sprintf("0/%d checks passed (minimal: exit codes alone)\n", failing)) {
			t.Errorf("%d failing: %d bytes: %s", failing, len(stdout), stdout)
		}
		if n := strings.Count(stdout, "last words"); failing < 20 && (n != failing || strings.Count(stdout, "failed: ") != failing) {
			t.Errorf("%d failing: %d outputs in %s", failing, n, stdout)
		}
	}
}

func TestAStoppedMainEndsItsCheckAndWritesNothing(t *testing.T) {
	dir := t.TempDir()
	mark := fmt.Sprintf("76543.%d", os.Getpid())
	path := request(t, verify.Request{Dir: dir, Checks: []verify.Check{{Command: "touch begun; sleep " + mark}}})
	process, err := os.StartProcess(os.Args[0], []string{os.Args[0], path}, &os.ProcAttr{Env: append(os.Environ(), "VERIFY_AS_PROGRAM=1")})
	if err != nil {
		t.Fatal(err)
	}
	awaitFile(t, dir)
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	state, err := process.Wait()
	if err != nil || state.ExitCode() != 1 {
		t.Errorf("%v %v", state, err)
	}
	noProcess(t, mark)
	if names := list(t, filepath.Dir(path)); names != "checks.json" {
		t.Errorf("the folder has %s", names)
	}
}
