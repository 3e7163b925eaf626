package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/testkit/testenv"
)

// hostileLines maps each command to the command lines with which it is run in the hostile clone.
// Semicolons separate command lines. A command that does not end by itself is stopped.
var hostileLines = map[string]string{
	"plan check": "plan check plan.yaml; plan check wt.yaml; plan check secret.yaml", "run": "run plan.yaml; run secret.yaml; run wt.yaml; run claude.yaml --worktree; run plan.yaml --detach",
	"schedule add": "schedule add @daily plan.yaml --name a; schedule add @daily secret.yaml --name b; schedule add @daily wt.yaml --name c", "schedule list": "schedule list; schedule list --json",
	"schedule show": "schedule show a", "schedule run": "schedule run a; schedule run b; schedule run c", "schedule fire": "schedule fire a", "schedule pause": "schedule pause a", "schedule resume": "schedule resume a",
	"schedule export": "schedule export a --systemd; schedule export a --cron; schedule export a --serve", "schedule remove": "schedule remove b", "schedule restore": "schedule restore b",
	"resume": "resume; resume --detach", "watch": "watch", "runs": "runs --all", "status": "status; status --json", "ps": "ps --all",
	"logs": "logs held", "diff": "diff tree; diff tree --stat; diff tree --attempt 1", "answer": "answer; answer held 1", "send": "send held hello", "interrupt": "interrupt held", "fork": "fork held; fork tree --turns", "cancel": "cancel nothing", "retry": "retry held --resume", "review": "review; review tree --json; review tree --comment . x", "compare": "compare held", "pick": "pick held x",
	"rebase": "rebase tree", "merge": "merge tree --yes; merge tree --yes --squash; merge tree --undo --yes", "discard": "discard tree; discard tree --undo", "pr": "pr tree; pr tree --feedback",
	"build": "build build.md", "build resume": "build resume", "build status": "build status", "build done": "build done 1",
	"team": "team hello --detach", "team status": "team status", "team resume": "team resume", "team init": "team init hello",
	"team message send": "team message send --from pm --to developer --group g --subject s", "team message list": "team message list",
	"team message ack": "team message ack m1", "team archive": "team archive", "dispatch": "dispatch b1 hello --agent evil; dispatch --from beads.jsonl",
	"attach": "attach b1", "poll": "poll; poll --repair", "templates": "templates", "templates show": "templates show evil",
	"sources":       "sources; sources --send; sources --json",
	"worktree list": "worktree list; worktree list --json", "worktree remove": "worktree remove tree; worktree remove tree --force",
	"serve": "serve --listen 127.0.0.1:0", "open": "open --print", "demo": "demo --no-browser --for 1s", "worker": "worker --server http://127.0.0.1:1 --once",
	"workers": "workers", "accounts": "accounts; accounts --json", "token create": "token create --role viewer --name wall", "token list": "token list", "token revoke": "token revoke wall",
	"doctor": "doctor; doctor --json", "init": "init claude --dry-run", "hook": "hook", "hook claude": "hook claude", "hook codex": "hook codex",
	"hook gemini": "hook gemini", "hook post-tool-use": "hook post-tool-use", "statusline": "statusline; statusline --fleet",
	"session new": "session new --source x --source-file y --agents agents.json", "session start": "session start s a", "session complete": "session complete s a",
	"session fail": "session fail s a --error e", "session cancel": "session cancel s", "session finish": "session finish s", "session show": "session show",
	"session list": "session list", "session clean": "session clean --dry-run", "state get": "state get", "state set": "state set a=1", "state clear": "state clear",
	"state watch": "state watch", "step begin": "step begin plan", "step done": "step done plan", "step status": "step status",
	"command begin": "command begin x", "command end": "command end", "inbox add": "inbox add --type feature hello", "inbox list": "inbox list",
	"inbox take": "inbox take", "inbox done": "inbox done 1", "inbox fail": "inbox fail 1 --reason r", "inbox dismiss": "inbox dismiss 1",
	"inbox process": "inbox process", "emit": "emit note", "mcp": "mcp", "validate": "validate", "report": "report", "report morning": "report morning; report morning --json", "cost": "cost; cost --by run --csv", "schema": "schema",
	"permissions": "permissions; permissions --all --plan", "permissions grants": "permissions grants", "permissions revoke": "permissions revoke x", "permissions allow": "permissions allow Bash(x)",
	"permissions deny": "permissions deny WebFetch", "permissions ask": "permissions ask Bash(y)", "permissions remove": "permissions remove Bash(x)", "config": "config; config --json", "trust": "trust; trust --list; trust --remove", "notify test": "notify test", "notify list": "notify list",
	"prune": "prune --dry-run; prune --yes --older 1h", "backup": "backup saved.db", "restore": "restore nothing.db", "completion": "completion bash",
	"version": "version",
}

// clone is a project cloned from a stranger. It contains everything that git copies.
type clone struct {
	*testing.T
	dir, program, trace string
	env                 []string
}

func newClone(t *testing.T) *clone {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &clone{T: t, dir: filepath.Join(top, "clone"), program: filepath.Join(top, "planted"), trace: filepath.Join(top, "trace")}
	bin, mark := filepath.Join(top, "bin"), "CLONE_TEST="+top
	c.write(filepath.Join(bin, "claude"), "#!/bin/sh\nexit 1\n")
	c.write(c.program, "#!/bin/sh\necho \"$@\" >>"+c.trace+"\ncase \"$1\" in clean|smudge) cat;; esac\n")
	c.env = []string{
		"HOME=" + filepath.Join(top, "home"), "PATH=" + bin + ":" + os.Getenv("PATH"), "GAFFER_PROJECT=" + c.dir, mark,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	t.Cleanup(func() {
		testenv.Wait(t, "the processes of the test end", func() error {
			left := testenv.ProcessesWith(mark)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
			}
			if len(left) > 0 {
				return fmt.Errorf("%v are left", left)
			}
			return nil
		})
	})
	return c
}

func (c *clone) write(path, text string) {
	c.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.Fatal(err)
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		c.Fatal(err)
	}
}

// run runs a program in the clone. A program that does not end gets SIGTERM and is then killed.
func (c *clone) run(program string, args ...string) (string, error) {
	c.Helper()
	return c.runWithin(6*time.Second, program, args...)
}

func (c *clone) runWithin(limit time.Duration, program string, args ...string) (string, error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 3 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *clone) must(program string, args ...string) {
	c.Helper()
	if out, err := c.runWithin(2*time.Minute, program, args...); err != nil {
		c.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

func (c *clone) traces() string {
	data, _ := os.ReadFile(c.trace) // the file is missing if no poisoned program ran
	return string(data)
}

// poison adds a program that leaves a trace wherever a project can name a program.
func (c *clone) poison() {
	c.write("gaffer.yaml", fmt.Sprintf(`agents:
  evil: {argv: [%[1]s, agent]}
  secretive: {like: claude, env: {KEY: {from: command, argv: [%[1]s, reference]}}}
  claude: {argv: [%[1]s, claude]}
  codex: {env: {PATH: %[2]s}}
team: {tests: ["%[1]s tests"]}
`, c.program, filepath.Dir(c.program)))
	for key, value := range map[string]string{
		"core.fsmonitor": c.program + " fsmonitor", "core.pager": c.program + " pager", "core.editor": c.program + " editor",
		"core.sshCommand": c.program + " ssh", "core.askPass": c.program, "credential.helper": "!" + c.program + " credential",
		"diff.external": c.program + " diff", "diff.evil.command": c.program + " driver", "diff.evil.textconv": c.program + " textconv",
		"filter.evil.clean": c.program + " clean", "filter.evil.smudge": c.program + " smudge", "merge.evil.driver": c.program + " merge",
		"gpg.program": c.program, "log.showSignature": "true", "commit.gpgSign": "true", "hook.evil.command": c.program + " hook",
		"init.templateDir": filepath.Join(c.dir, "template"), "sequence.editor": c.program + " sequence", "alias.status": "!" + c.program + " alias",
	} {
		c.must("git", "config", key, value)
	}
	for _, folder := range []string{".git/hooks", "template/hooks"} {
		for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "post-merge", "reference-transaction", "post-index-change", "pre-push"} {
			c.write(filepath.Join(folder, hook), "#!/bin/sh\n"+c.program+" hook-"+hook+"\n")
		}
	}
}

func TestSecurityNoCommandRunsAProgramThatAHostileCloneNames(t *testing.T) {
	testenv.Integration(t)
	gaffer := testenv.Program(t)
	c := newClone(t)
	c.write("plan.yaml", "tasks:\n  - {id: one, agent: evil, prompt: hello}\n")
	c.write("secret.yaml", "tasks:\n  - {id: one, agent: secretive, prompt: hello}\n")
	c.write("claude.yaml", "tasks:\n  - {id: held, agent: claude, prompt: hello}\n")
	c.write("wt.yaml", "tasks:\n  - {id: tree, agent: fake, worktree: true, prompt: \"fake: write a.txt x\"}\n")
	c.write("build.md", "# Build\n\n## Chunk 1: one\n\nagent: evil\n")
	c.write("beads.jsonl", `{"bead":"b2","agent":"evil","prompt":"hello"}`+"\n")
	c.write("agents.json", `[{"id":"001","name":"a"}]`)
	c.write("templates/evil.md", "hello $("+c.program+" template)\n")
	c.write("a.txt", "1\n")
	c.write(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
	c.must("git", "init", "-q", "-b", "main")
	c.must("git", "add", "-A")
	c.must("git", "commit", "-q", "-m", "first")
	// Before the project becomes hostile, create a worktree and a failed task in it.
	c.must(gaffer, "run", "wt.yaml")
	if out, err := c.run(gaffer, "run", "claude.yaml"); err == nil {
		t.Fatalf("the stub of claude is done:\n%s", out)
	}
	c.poison()
	trees, err := filepath.Glob(filepath.Join(filepath.Dir(c.dir), "home/.local/state/gaffer/*/*/*/a.txt"))
	for _, file := range trees {
		c.write(file, "changed\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range runnable(newRoot(&env.Env{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Getenv: func(string) string { return "" }})) {
		lines, ok := hostileLines[path]
		if !ok {
			t.Errorf("'gaffer %s' is new: say in hostileLines how it is run in a hostile clone", path)
			continue
		}
		for line := range strings.SplitSeq(lines, ";") {
			out, err := c.run(gaffer, strings.Fields(line)...)
			if got := c.traces(); got != "" {
				t.Fatalf("'gaffer %s' (%v) ran what the clone names: %s\n%s", strings.TrimSpace(line), err, got, out)
			}
		}
	}

	out, err := c.run(gaffer, "run", "plan.yaml")
	if err == nil || !strings.Contains(out, "names programs that you have not trusted: agents.evil") || !strings.Contains(out, "gaffer trust --project") {
		t.Errorf("%v: %s", err, out)
	}
	c.must(gaffer, "trust", "--yes")
	if out, err := c.run(gaffer, "run", "plan.yaml"); c.traces() != "agent\n" {
		t.Errorf("once it is trusted there ran %q: %v\n%s", c.traces(), err, out)
	}
}

// runnable returns the paths of the commands that can run, without the program's name.
func runnable(cmd *cobra.Command) (paths []string) {
	if cmd.Runnable() && cmd.HasParent() && cmd.Name() != "help" {
		paths = append(paths, strings.TrimPrefix(cmd.CommandPath(), "gaffer "))
	}
	for _, sub := range cmd.Commands() {
		paths = append(paths, runnable(sub)...)
	}
	return paths
}
