package caller

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets a test start this program again. Then the program prints the agents among its
// ancestors.
func TestMain(m *testing.M) {
	if text := os.Getenv("CALLER_TEST_ASK"); text != "" {
		for _, a := range Ancestors(os.Getpid()) {
			_, _ = os.Stdout.WriteString(a.Name() + " " + a.Getenv("MARKER") + "\n")
		}
		os.Exit(0)
	}
	if os.Args[len(os.Args)-1] == "stand-in" { // act as a supervisor or an agent program
		cmd := exec.Command("sh", "-c", os.Getenv("CALLER_TEST_RUN"))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if cmd.Run() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ancestorsBelow starts argv with these environment variables. That program starts a child without
// them, which prints the agents among its ancestors. ancestorsBelow returns this output.
func ancestorsBelow(t *testing.T, argv []string, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ask := "env -i setsid -w env CALLER_TEST_ASK=1 " + self + "; true"
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), append(env, "CALLER_TEST_RUN="+ask)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestSecurityTheAttemptOfAProcessIsFoundWithoutItsEnvironmentAndSession(t *testing.T) {
	out := ancestorsBelow(t, []string{"sh", "-c", `sh -c "$CALLER_TEST_RUN"; true`}, AttemptVar+"=a1", RunVar+"=r1", TaskVar+"=api", "MARKER=here")
	if !strings.HasPrefix(out, "agent r1/api here\n") {
		t.Errorf("found %q", out)
	}
}

// linked returns a symbolic link with this name to the test program, so that the process gets that
// name.
func linked(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecurityAnAgentProgramIsFoundInEveryMode(t *testing.T) {
	for _, program := range []string{"claude", "codex", "gemini", "opencode"} {
		out := ancestorsBelow(t, []string{linked(t, program), "-p", "stand-in"})
		if !strings.HasPrefix(out, "agent "+program+"-") {
			t.Errorf("%s: found %q", program, out)
		}
	}
}

func TestSecurityAProcessThatASupervisorHasAdoptedBelongsToItsAttempt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := ancestorsBelow(t, []string{self, "supervise", "stand-in"}, RunVar+"=r1", TaskVar+"=api")
	if !strings.HasPrefix(out, "agent r1/api") {
		t.Errorf("found %q", out)
	}
}

func TestSecurityAnOrphanBelongsToTheAttemptOfItsControlGroup(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^\S+ \S+ \S+ / (\S+) .* - cgroup2 `).FindStringSubmatch(string(mounts))
	if at == nil {
		t.Fatal("this test needs control groups of version 2 that are mounted as a whole")
	}
	dir := filepath.Join(at[1], fmt.Sprintf("gaffer-0123456789ab-1a2b3c-%d.7", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	out := ancestorsBelow(t, []string{"sh", "-c", `echo $$ > ` + dir + `/cgroup.procs; sh -c "$CALLER_TEST_RUN"; true`})
	if before := Ancestors(os.Getpid()); len(before) == 0 && out != "agent of attempt 1a2b3c \n" {
		t.Errorf("found %q", out)
	}
}

func TestAProcessWithoutAgentAncestorsHasNoAgent(t *testing.T) {
	before := len(Ancestors(os.Getpid()))
	out := ancestorsBelow(t, []string{"sh", "-c", `sh -c "$CALLER_TEST_RUN"; true`})
	if n := strings.Count(out, "\n"); n != before {
		t.Errorf("found %s more than above this test: %q", strconv.Itoa(n-before), out)
	}
}
