package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// isWritten waits until gaffer has written a message to the agent's stdin.
func (p *environment) isWritten() {
	p.Helper()
	p.until("the message is written", func() bool {
		found := false
		_ = filepath.WalkDir(p.home, func(path string, d os.DirEntry, _ error) error {
			found = found || d != nil && d.Name() == "messages"
			return nil
		})
		return found
	})
}

// talk starts a run and waits until its agent is in a tool call and can take messages.
func (p *environment) talk(agent, more string) (*process, fleet.Task) {
	p.Helper()
	p.play("tool:"+held, "text:second", "text:third", "text:fourth")
	run := p.start("run", p.plan(agent, "questions: ask"+more))
	if agent == "claude" {
		p.asks("begun")
		p.done("answer", "work", "allow")
	}
	p.until("the tool has begun", func() bool { return p.has("begun") })
	return run, p.task("it is seen to run", func(t fleet.Task) bool { return t.Attempt.PID > 0 && t.Attempt.Thread != "" })
}

// send sends a message with 'gaffer send' and returns the message that gaffer prints.
func (p *environment) send(args ...string) fleet.Message {
	p.Helper()
	var sent struct {
		Message fleet.Message `json:"message"`
	}
	p.must(json.Unmarshal([]byte(p.done(append([]string{"send", "work", "--json"}, args...)...)), &sent))
	return sent.Message
}

func TestAMessageReachesTheModelDuringATurn(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.talk(agent, "")
		p.send("mind the gap")
		p.isWritten()
		p.write("go", "")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || task.Attempt.Thread != before.Attempt.Thread {
			p.Errorf("%d tries", task.Tries)
		}
		if last := p.turns()[len(p.turns())-1]; strings.Count(string(last.Body), "mind the gap") != 1 {
			p.Errorf("the model has the message %d times:\n%s", strings.Count(string(last.Body), "mind the gap"), last.Body)
		}
		if log := p.done("logs", "work"); !strings.Contains(log, "> mind the gap") {
			p.Errorf("the log does not show the message:\n%s", log)
		}
	})
}

// gaffer is killed after it has written the message to the agent, but before the agent has read it.
func TestAMessageIsTakenOnceThoughGafferIsKilled(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, _ := p.talk(agent, "")
		p.send("mind the gap")
		p.isWritten()
		run.kill()
		resumed := p.start("resume")
		p.until("it is looked after again", func() bool { return p.status().Owner.PID == resumed.cmd.Process.Pid })
		p.write("go", "")
		if o := resumed.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		last := p.turns()[len(p.turns())-1]
		if n := strings.Count(string(last.Body), "mind the gap"); task.Tries != 1 || n != 1 {
			p.Errorf("%d tries; the model has the message %d times:\n%s", task.Tries, n, last.Body)
		}
	})
}

func TestAMessageInTheQueueOfAKilledAgentIsSentAgain(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.talk(agent, "")
		p.send("mind the gap")
		p.isWritten()
		testenv.Signal(p, before.Attempt.PID, syscall.SIGKILL)
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		last := p.turns()[len(p.turns())-1]
		if task.Tries != 2 || task.Attempt.Thread != before.Attempt.Thread || !strings.Contains(string(last.Body), "mind the gap") {
			p.Errorf("want two tries in conversation %q:\n%s\n%s", before.Attempt.Thread, encode(task), last.Body)
		}
	})
}

// Interrupting ends the agent's shell command together with its turn. The conversation must
// continue.
func TestAnInterruptedConversationContinuesWithAMessage(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.talk(agent, "")
		p.done("interrupt", "work")
		if o := run.wait(); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Cancelled, "interrupted")
		m := p.send("mind the gap", "--wait")
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Thread != before.Attempt.Thread || task.Attempt.Summary != "second" || m.Delivered.IsZero() {
			p.Errorf("want the same conversation %q, the message delivered:\n%s\n%s", before.Attempt.Thread, encode(task), encode(m))
		}
		last := string(p.turns()[len(p.turns())-1].Body)
		if !strings.Contains(last, "begun") || strings.Count(last, "do the work") != 1 || !strings.Contains(last, "mind the gap") {
			p.Errorf("the model does not see the conversation and the message alone:\n%s", last)
		}
	})
}

func TestAMessageToATaskThatIsDoneContinuesItsConversation(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("text:first", "text:second")
		p.done("run", p.plan(agent, "questions: deny")) // with this setting Codex takes no messages while it runs
		before := p.ended()
		m := p.send("mind the gap", "--wait")
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Thread != before.Attempt.Thread || task.Attempt.Summary != "second" || m.Delivered.IsZero() {
			p.Errorf("want the same conversation %q:\n%s", before.Attempt.Thread, encode(task))
		}
	})
}
