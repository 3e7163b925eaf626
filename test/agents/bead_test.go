package agents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
)

// record holds the fields of a run record or a result record that the tests check.
type record struct {
	Status    string `json:"status"`
	Agent     string `json:"agent"`
	Attempt   int    `json:"attempt"`
	ExitCode  *int   `json:"exit_code"`
	Session   string `json:"session_name"`
	Reason    string `json:"reason"`
	WillRetry bool   `json:"will_retry"`
}

func (p *environment) record(file string) record {
	p.Helper()
	var r record
	p.must(json.Unmarshal([]byte(p.read(file)), &r))
	return r
}

func TestABeadIsWorkedOnInATerminal(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch granted")
		bead := p.start("dispatch", "bd-7", "do the work", "--agent", agent, "--tmux", "--verify", "test -e granted")
		q := p.asks("touch granted")
		session := p.status().Tasks[0].Session
		if q.Task != "bd-7" || session != "agent-bd-7" {
			p.Errorf("task %q in session %q", q.Task, session)
		}
		p.done("answer", "bd-7", "allow")
		if o := bead.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Complete, "")
		r := p.record("state/results/bd-7.json")
		if r.Status != "done" || r.Session != session || r.ExitCode == nil || *r.ExitCode != 0 {
			p.Errorf("the result:\n%s", p.read("state/results/bd-7.json"))
		}
		if r := p.record("state/runs/bd-7.json"); r.Agent != agent || r.Attempt != 1 || r.Status != "done" {
			p.Errorf("the run:\n%s", p.read("state/runs/bd-7.json"))
		}
	})
}

func TestADeniedActionOfABeadIsNotDone(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch refused")
		bead := p.start("dispatch", "bd-8", "do the work", "--agent", agent, "--tmux")
		p.asks("touch refused")
		p.typed("agent-bd-8", "2", "Enter") // the second option is to deny
		if o := bead.wait(); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Failed, "denied")
		r := p.record("state/results/bd-8.json")
		if r.Status != "failed" || r.Reason != "denied" || r.WillRetry || p.has("refused") {
			p.Errorf("done: %v; the result:\n%s", p.has("refused"), p.read("state/results/bd-8.json"))
		}
	})
}

// The agent must keep running when the terminal of its bead is closed.
func TestABeadOutlivesItsTerminal(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("tool:" + held)
		p.write("beads.jsonl", fmt.Sprintf(`{"bead": "bd-9", "prompt": "do the work", "agent": %q, "questions": "allow"}`, agent))
		bead := p.start("dispatch", "--from", "beads.jsonl", "--tmux")
		p.until("the tool has begun", func() bool { return p.has("begun") })
		task := p.task("its terminal is known", func(t fleet.Task) bool { return t.Session != "" })
		p.inTmux("kill-session", "-t", task.Session)
		p.write("go", "")
		if o := bead.wait(); o.code != 0 || !strings.Contains(o.errors, "complete") {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Complete, "")
	})
}

// typed types keys into the tmux session that shows a bead.
func (p *environment) typed(session string, keys ...string) {
	p.Helper()
	p.until("the terminal shows the question", func() bool {
		return strings.Contains(p.inTmux("capture-pane", "-p", "-t", session), "2  deny")
	})
	p.inTmux(append([]string{"send-keys", "-t", session}, keys...)...)
}

// inTmux runs a command on the tmux server that gaffer has started.
func (p *environment) inTmux(args ...string) string {
	p.Helper()
	out, err := p.command("tmux", append([]string{"-S", p.socket()}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// socket returns the socket of the tmux server that gaffer has started.
func (p *environment) socket() string {
	p.Helper()
	found, err := filepath.Glob(filepath.Join(p.home, ".local/state/gaffer/tmux/*"))
	if err != nil || len(found) != 1 {
		p.Fatalf("sockets of tmux: %q, %v", found, err)
	}
	return found[0]
}
