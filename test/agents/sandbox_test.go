package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
)

// defaultSandbox lets gaffer choose the sandboxes of tasks, as it does for users.
func (p *environment) defaultSandbox() { p.env = append(p.env, "GAFFER_SANDBOX=auto") }

// sandboxed makes a project with a commit, and keys in the home folder.
func (p *environment) sandboxed() {
	p.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		p.Fatal("bubblewrap is not installed; script/test installs it")
	}
	p.defaultSandbox()
	p.write(filepath.Join(p.home, ".ssh/id_ed25519"), "SECRET")
	p.write(filepath.Join(p.home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@example.com\n")
	p.write("README", "hello\n")
	for _, args := range [][]string{{"add", "README"}, {"commit", "-qm", "first"}} {
		if out, err := p.command("git", args...).CombinedOutput(); err != nil {
			p.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// The real programs edit, commit and run commands inside bubblewrap, and cannot read the user's keys.
func TestAnAgentInBubblewrapCommitsAndFindsNoKeys(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.sandboxed()
		p.play("text")
		p.done("run", p.plan(agent, "questions: ask")) // outside of a sandbox, the program makes files of its own
		before := len(p.turns())
		p.play("tool:cat ~/.ssh/id_ed25519 > stolen; echo work > work.txt; git add -A && git commit -qm work && echo committed as $(git log -1 --format=%an)")
		o := p.gaffer("run", p.plan(agent, "worktree: true, questions: allow, verify: git log -1 --format=%s"))
		if !strings.Contains(o.errors, "sandbox: bubblewrap") {
			p.Errorf("the run does not say its sandbox:\n%s", o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Attempt.Sandbox != "bubblewrap" {
			p.Errorf("the sandbox is %q", task.Attempt.Sandbox)
		}
		turns := p.turns()
		turns = turns[before:]
		if len(turns) != 2 || !strings.Contains(string(turns[1].Body), "committed as Ada") || strings.Contains(string(turns[1].Body), "SECRET") {
			p.Errorf("%d turns, the last is %s", len(turns), turns[len(turns)-1].Body)
		}
		out, err := p.command("git", "show", task.Branch+":stolen").CombinedOutput()
		if err != nil || strings.Contains(string(out), "SECRET") {
			p.Errorf("the stolen file: %v %s", err, out)
		}
	})
}

// A conversation that was begun in a sandbox is there for the next attempt in it.
func TestAConversationContinuesInBubblewrap(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.sandboxed()
		p.play("text")
		p.done("run", p.plan(agent, "worktree: true, questions: allow"))
		first := p.ended()
		p.came(first, fleet.Complete, "")
		p.done("send", "work", "and now this")
		p.until("the second attempt has ended", func() bool {
			t := p.status().Tasks
			return len(t) == 1 && t[0].Tries == 2 && t[0].Status == fleet.Complete
		})
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Thread != first.Attempt.Thread || task.Attempt.Sandbox != "bubblewrap" {
			p.Errorf("the second attempt:\n%s", encode(task))
		}
		if last := p.turns()[len(p.turns())-1]; !strings.Contains(string(last.Body), "do the work") || !strings.Contains(string(last.Body), "and now this") {
			p.Errorf("the model was not given the whole conversation:\n%s", last.Body)
		}
	})
}

// With a list of hosts, the program reaches its model through gaffer's proxy and nothing else.
func TestAnAgentReachesListedHostsOnly(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.sandboxed()
		host := strings.TrimPrefix(strings.SplitN(strings.TrimPrefix(model.Named(p.name), "http://"), "/", 2)[0], "http://")
		p.play("tool:env | grep -c HTTPS_PROXY")
		p.gaffer("run", p.plan(agent, `worktree: true, questions: allow, sandbox: {mode: bubblewrap, network: ["`+host+`"]}`))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		p.Logf("%d turns", len(p.turns()))
		if len(p.turns()) != 2 {
			p.Errorf("%d turns, want 2", len(p.turns()))
		}
	})
}

// The programs' own sandboxes: the agent commits, and cannot write elsewhere.
func TestAnAgentCommitsInItsProgramsOwnSandbox(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.sandboxed()
		if _, err := exec.LookPath("socat"); err != nil {
			p.Fatal("socat is not installed; script/test installs it")
		}
		outside := filepath.Join("/var/tmp", "gaffer-"+filepath.Base(filepath.Dir(p.home))) // Codex lets its agent write to all of /tmp
		p.Cleanup(func() { _ = os.Remove(outside) })
		// Claude Code puts empty files of its own into the folder, so "git add -A" would fail.
		p.play("tool:echo work > work.txt; git add work.txt && git commit -qm work && echo committed; touch " + outside)
		p.gaffer("run", p.plan(agent, "worktree: true, questions: "+map[string]string{"claude": "allow", "codex": "deny"}[agent]+", sandbox: program"))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if turns := p.turns(); len(turns) != 2 || !strings.Contains(string(turns[1].Body), "committed") {
			p.Errorf("%d turns, the last is %s", len(turns), turns[len(turns)-1].Body)
		}
		if p.has(outside) || task.Attempt.Sandbox != "program" {
			p.Errorf("it wrote outside (%t), sandbox %q", p.has(outside), task.Attempt.Sandbox)
		}
	})
}
