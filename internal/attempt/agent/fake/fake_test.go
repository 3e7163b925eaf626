package fake_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/agent/fake"
)

// asAgent is the environment variable that makes the test binary run as the fake agent.
const asAgent = "GAFFER_TEST_FAKE_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		os.Exit(fake.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// call runs the fake agent in this process and returns its exit code, stdout and stderr.
func call(prompt string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = fake.Main(args, strings.NewReader(prompt), &o, &e)
	return code, o.String(), e.String()
}

func TestAPromptWithoutStepsGetsAnAnswer(t *testing.T) {
	if code, out, _ := call("Say hello.\nAnd more."); code != 0 || out != "Done: Say hello.\n" {
		t.Errorf("code %d, %q", code, out)
	}
	if code, out, _ := call("", "Say", "hello"); code != 0 || out != "Done: Say hello.\n" {
		t.Errorf("prompt as arguments: code %d, %q", code, out)
	}
	if code, out, _ := call(""); code != 0 || out != "Done.\n" {
		t.Errorf("no prompt: code %d, %q", code, out)
	}
}

func TestAPromptCanBeInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompt")
	if err := os.WriteFile(file, []byte("fake: say from the file"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := call("", "--prompt-file", file); code != 0 || !strings.HasPrefix(out, "from the file\n") {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := call("", "--prompt-file", file+"x"); code != 2 || errs == "" {
		t.Errorf("no such file: code %d, %q", code, errs)
	}
}

func TestStepsWriteFilesAndRunCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	code, out, errs := call(`fake: write a/b.txt some text\nand more
fake: tool cat a/b.txt; exit 3`)
	if data, err := os.ReadFile("a/b.txt"); code != 0 || err != nil || string(data) != "some text\nand more\n" {
		t.Errorf("code %d, %q, %v, %s", code, data, err, errs)
	}
	if !strings.Contains(out, "$ a/b.txt\n") || !strings.Contains(out, "some text\nand more\nexit code 3\n") {
		t.Errorf("%q", out)
	}
}

func TestWorkSaysItsTextsOneAfterTheOther(t *testing.T) {
	before := time.Now()
	code, out, errs := call("fake: work 100ms I read. | I write.")
	if code != 0 || !strings.HasPrefix(out, "I read.\nI write.\n") || time.Since(before) < 100*time.Millisecond {
		t.Errorf("code %d, %q, %s after %s", code, out, errs, time.Since(before))
	}
}

func TestClaudeSaysWhatItWrites(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("prompt", []byte("fake: write a.txt hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := call("", "--protocol", "claude", "--prompt-file", "prompt")
	if !strings.Contains(out, `"input":{"content":"hello\n","file_path":"a.txt"}`) {
		t.Errorf("%s", out)
	}
}

func TestBadStepsFailAndSayWhy(t *testing.T) {
	for step, want := range map[string]string{
		"worrk 1s":         "did you mean work?",
		"frobnicate":       "want one of say, work",
		"work never":       `work: found "never", want a duration`,
		"work -1s":         "want a duration",
		"exit 256":         "want an exit code",
		"api-error 200":    "want an HTTP status",
		"flood lots":       "want a number of bytes",
		"forks 100000 1s":  "want a number of processes",
		"usage 5":          "want two numbers",
		"write":            "something missing",
		"on-attempt x say": "want the number of an attempt",
		"on-attempt 1 sya": "did you mean say?",
	} {
		t.Setenv("GAFFER_ATTEMPT_NUMBER", "1")
		if code, _, errs := call("fake: " + step); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: code %d, %q, want %q", step, code, errs, want)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	if code, _, errs := call("", "--protocol", "morse"); code != 2 || !strings.Contains(errs, "want claude, codex or plain") {
		t.Errorf("code %d, %q", code, errs)
	}
}

func TestTheHelpIsInTheManual(t *testing.T) {
	code, out, _ := call("", "--help")
	if code != 0 || out != fake.Help() {
		t.Errorf("code %d, %q", code, out)
	}
	manual, err := os.ReadFile("../../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(fake.Help()) {
		step, ok := strings.CutPrefix(strings.TrimSpace(line), "fake: ")
		if !ok {
			continue
		}
		form, doc, _ := strings.Cut(step, "  ")
		row := fmt.Sprintf("| `%s` | %s |", strings.ReplaceAll(form, "|", `\|`), strings.TrimSpace(doc))
		if !strings.Contains(string(manual), row) {
			t.Errorf("docs/agents.md lacks the row %s", row)
		}
	}
}

func TestAQuestionIsAnsweredOnALineOfStdin(t *testing.T) {
	if _, out, _ := call("Blue\n", "fake: ask Which? | Red | Blue"); !strings.Contains(out, "question: Which? [Red/Blue]\nThe answer to \"Which?\" is \"Blue\".\n") {
		t.Errorf("%q", out)
	}
	if _, out, _ := call("", "fake: ask Which?"); !strings.Contains(out, "Nobody answered: Which?") {
		t.Errorf("%q", out)
	}
	if _, out, _ := call("yes\n", "fake: permission Bash make"); !strings.Contains(out, "I was allowed to use Bash.") {
		t.Errorf("%q", out)
	}
}

func TestOutputHasTheRequestedSize(t *testing.T) {
	for step, want := range map[string]int{"flood 5MB": 5e6, "line 200KB": 200e3, "flood 10": 10} {
		_, out, _ := call("fake: " + step)
		if got := len(out) - len("\nDone.\n"); got != want {
			t.Errorf("%s: %d bytes, want %d", step, got, want)
		}
	}
	if _, out, _ := call("fake: line 200KB"); strings.Count(out, "\n") != 2 {
		t.Errorf("%d lines, want one long one and the result", strings.Count(out, "\n"))
	}
}

// program is a fake agent that runs as a process.
type program struct {
	*exec.Cmd
	stdin io.WriteCloser
	out   io.ReadCloser
}

func start(t *testing.T, prompt string, args ...string) program {
	t.Helper()
	p := program{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), asAgent+"=1")
	var err error
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if p.out, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _, _ = p.Process.Wait() })
	if _, err := io.WriteString(p.stdin, prompt); err != nil {
		t.Fatal(err)
	}
	if len(args) == 0 {
		if err := p.stdin.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// until reads stdout until it contains text. It returns what it has read.
func (p program) until(t *testing.T, text string) string {
	t.Helper()
	var all []byte
	for b := make([]byte, 1); !bytes.Contains(all, []byte(text)); {
		if _, err := p.out.Read(b); err != nil {
			t.Fatalf("%v, and no %q in %q", err, text, all)
		}
		all = append(all, b...)
	}
	return string(all)
}

// ends waits for the end of the process.
func (p program) ends(t *testing.T) *os.ProcessState {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = p.Process.Kill()
		<-ended
		t.Fatal("it does not end")
	}
	return p.ProcessState
}

func TestSuccessOnTermSaysSuccessAndExitsWithZero(t *testing.T) {
	p := start(t, "fake: success-on-term\nfake: say ready\nfake: tool sleep 600")
	p.until(t, "ready\n$ sleep 600")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until(t, "ready\n")
	if state := p.ends(t); state.ExitCode() != 0 {
		t.Errorf("%v", state)
	}
}

func TestIgnoreTermIgnoresIt(t *testing.T) {
	p := start(t, "fake: ignore-term\nfake: say ready\nfake: work 1s\nfake: say still here")
	p.until(t, "ready\n")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	p.until(t, "still here")
	if state := p.ends(t); state.ExitCode() != 0 {
		t.Errorf("%v", state)
	}
}

func TestASignalKillsTheFakeAgentByDefault(t *testing.T) {
	p := start(t, "fake: say ready\nfake: hang")
	p.until(t, "ready\n")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.ends(t).Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v", status)
	}
}

func TestResultThenHangContinuesAfterTheEndOfStdin(t *testing.T) {
	p := start(t, `{"type":"user","message":{"role":"user","content":"fake: result-then-hang\nfake: fail never"}}`+"\n", "--protocol", "claude")
	if out := p.until(t, `"idle"`); !strings.Contains(out, `"is_error":false`) {
		t.Errorf("%s", out)
	}
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

func TestAfterItsResultItWaitsForTheEndOfStdin(t *testing.T) {
	p := start(t, `{"type":"user","message":{"role":"user","content":"hello"}}`+"\n", "--protocol", "claude")
	p.until(t, `"idle"`)
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if state := p.ends(t); state.ExitCode() != 0 {
		t.Errorf("%v", state)
	}
}

func TestLoopRetriesWithoutEnd(t *testing.T) {
	p := start(t, "fake: loop", "--protocol", "codex")
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	p.until(t, "Reconnecting... 3/5")
}

func TestAFileOfScriptsHasAPartForEachTask(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scripts")
	text := "# roles\n== pm-1\nsay planned\n\n== A-*\n# any of A\nsay worked\nsay and more\n== A-qa-1\nsay never\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for task, want := range map[string]string{"pm-1": "planned\n", "A-qa-1": "worked\nand more\n"} {
		t.Setenv("GAFFER_TASK", task)
		if code, out, errs := call("fake: say not this", "--scripts", file); code != 0 || !strings.HasPrefix(out, want) || strings.Contains(out, "not this") {
			t.Errorf("%s: code %d, %q, %q", task, code, out, errs)
		}
	}
	t.Setenv("GAFFER_TASK", "B-1")
	if code, out, errs := call("", "--scripts", file); code == 0 || !strings.Contains(out+errs, `no script for task "B-1"`) {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
}
