package review

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/testkit/testenv"
)

const mark = "REVIEW_TEST"

// fixture is a git project with a finished task of a fake agent, and a tmux server.
type fixture struct {
	t                *testing.T
	program, dir, at string // program is gaffer; dir contains all files of the test; at is the project
}

const plan = `name: shop
defaults: {agent: fake, worktree: true}
tasks:
  - {id: api, verify: "test -s list.txt", prompt: "fake: tool printf 'one\\nTWO\\nthree\\nFOUR\\n' >list.txt\nfake: say the list is better"}
  - {id: page, prompt: "fake: write page.txt hello\nfake: say the page is there"}
`

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir, err := os.MkdirTemp("", "review-") // not t.TempDir: its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	d := &fixture{t, testenv.Program(t), dir, filepath.Join(dir, "shop")}
	t.Cleanup(func() {
		d.kill(func([]string) bool { return true })
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(d.at, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plan.yaml": plan, "list.txt": "one\ntwo\nthree\nfour\n"} {
		if err := os.WriteFile(filepath.Join(d.at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.run("git", "init", "-q", "-b", "main")
	d.run("git", "config", "user.email", "t@example.com")
	d.run("git", "config", "user.name", "t")
	d.run("git", "add", "-A")
	d.run("git", "commit", "-q", "-m", "start")
	d.run(d.program, "run", "plan.yaml")
	return d
}

func (d *fixture) run(argv ...string) string {
	d.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.at, []string{
		"HOME=" + d.dir, "PATH=" + filepath.Dir(d.program) + ":" + os.Getenv("PATH"), "XDG_STATE_HOME=" + filepath.Join(d.dir, "state"),
		"GAFFER_PROJECT=" + d.at, "LANG=C.UTF-8", "TZ=UTC", mark + "=" + d.dir,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// kill sends SIGKILL to the fixture's processes for whose arguments matches returns true. It
// returns the number of these processes.
func (d *fixture) kill(matches func(argv []string) bool) (n int) {
	d.t.Helper()
	testenv.Wait(d.t, "the end of processes", func() error {
		left := d.processes(matches)
		for _, pid := range left {
			n++
			_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
		}
		if len(left) > 0 {
			return fmt.Errorf("processes %v", left)
		}
		return nil
	})
	return n
}

// processes returns the ids of the fixture's processes for whose arguments matches returns true.
func (d *fixture) processes(matches func(argv []string) bool) (pids []int) {
	for _, pid := range testenv.ProcessesWith(mark + "=" + d.dir) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && matches(strings.Split(string(text), "\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (d *fixture) tmux(args ...string) string {
	d.t.Helper()
	return d.run(append([]string{"tmux", "-S", filepath.Join(d.dir, "tmux"), "-f", os.DevNull}, args...)...)
}

// open starts 'gaffer review api' in tmux.
func (d *fixture) open() {
	d.t.Helper()
	d.tmux("new-session", "-d", "-x", "100", "-y", "30", d.program, "review", "api")
}

// sees waits until the screen contains all of the texts.
func (d *fixture) sees(texts ...string) {
	d.t.Helper()
	testenv.Wait(d.t, fmt.Sprintf("%q on the screen", texts), func() error {
		screen := d.tmux("capture-pane", "-p")
		if slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) }) {
			return fmt.Errorf("\n%s", screen)
		}
		return nil
	})
}

func (d *fixture) press(keys ...string) {
	d.t.Helper()
	d.tmux(append([]string{"send-keys"}, keys...)...)
}

// The test comments on two lines, sends the change back, waits for the agent's answer in the same
// conversation, approves and merges. It kills gaffer in between and checks that nothing is lost.
func TestAChangeIsCommentedSentBackApprovedAndMerged(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	d := newFixture(t)
	review := func(argv []string) bool { return slices.Contains(argv, "review") }
	d.open()
	d.sees("○ to review", "list.txt", "+2 −2", "the list is better", "1 check passed")
	d.press("]")
	d.sees("2     - two")
	d.press("n", "j", "c")
	d.sees("comment on list.txt, line 2")
	d.press("-l", "fake: tool sleep 2; sed -i s/TWO/2/ list.txt")
	d.press("Enter")
	d.sees("c1 · ", "draft", "✎ 1 comment")

	// Kill the screen. Both draft comments must still exist.
	if d.kill(review) == 0 {
		t.Fatal("no screen was killed")
	}
	d.run(d.program, "review", "api", "--comment", "list.txt:4", `fake: say I looked at it.\nc1: fixed\nc2: not fixed: four is right`)
	d.open()
	d.sees("✎ 2 comments", "2 comments")
	d.press("]")
	d.sees("c1 · ", "c2 · ", "2 + TWO")

	// Kill the gaffer process that continues the agent while the agent works. The agent keeps
	// running, and the next gaffer process takes it over.
	d.press("s")
	d.sees("↻ sent back", "sent in round 1")
	testenv.Wait(t, "the background process", func() error {
		if len(d.processes(func(argv []string) bool { return slices.Contains(argv, "resume") })) == 0 {
			return errors.New("it has not started yet")
		}
		return nil
	})
	d.kill(func(argv []string) bool { return slices.Contains(argv, "resume") })
	d.run(d.program, "resume")
	d.sees("○ to review", "agent: ✓ fixed", "agent: ✗ not fixed: four is right", "outdated", "was: TWO", "2 + 2")

	// Show only the part of the change that is new since the last review.
	d.press("Tab")
	d.sees("only what is new since your last review", "list.txt", "+1 −1")
	d.press("]")
	d.sees("2     - TWO", "2 + 2")
	d.press("Tab")
	d.sees("+2 −2")
	d.press("a")
	d.sees("✓ approved")
	d.press("m")
	d.sees("Merge the change of api", "y merges")
	d.press("y")
	d.sees("● merged")
	if got := d.run("git", "show", "main:list.txt"); got != "one\n2\nthree\nFOUR\n" {
		t.Errorf("main has %q", got)
	}
	// Check that the second attempt has continued the conversation of the first.
	if got := d.run("sh", "-c", `gaffer review api --json | jq -r '.review.round, (.review.comments | length)'`); got != "1\n2\n" {
		t.Errorf("rounds and comments: %q", got)
	}
	d.press("N")
	d.sees("page.txt", "○ to review")
}
