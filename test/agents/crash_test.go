package agents

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// held is a shell command for a tool call. It writes to the file begun when it starts, and
// continues when the file go exists, or after two minutes. Codex waits half a minute for it and
// then continues without it, so tests have less time than that.
const held = "echo $$ >> begun; for i in $(seq 1200); do test -e go && break; sleep 0.1; done; test -e go && echo x >> ended"

// midTool starts a run and waits until its agent is in a tool call.
func (p *environment) midTool(agent, more string) (*process, fleet.Task) {
	p.Helper()
	p.play("tool:" + held)
	run := p.start("run", p.plan(agent, "questions: allow, "+more))
	p.until("the tool has begun", func() bool { return p.has("begun") })
	return run, p.inTool()
}

// inTool waits until gaffer shows that the agent is in the tool call, and returns the task.
func (p *environment) inTool() fleet.Task {
	p.Helper()
	return p.task("it is seen to run", func(t fleet.Task) bool {
		return t.Attempt.PID > 0 && t.Attempt.State == "running" && strings.Contains(t.Attempt.Doing, "begun")
	})
}

// times returns the number of lines of a file: how often the tool call has written to it.
func (p *environment) times(file string) int {
	p.Helper()
	return strings.Count(p.read(file), "\n")
}

func TestCancelDuringAToolCallLeavesNothing(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, _ := p.midTool(agent, "retries: 2")
		p.done("cancel", "work")
		if o := run.wait(); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Cancelled, "cancelled")
		if task.Tries != 1 || p.has("ended") {
			p.Errorf("%d tries; the tool came to its end: %v", task.Tries, p.has("ended"))
		}
	})
}

// On a busy machine an agent may need longer until its first tool call than the time limit allows.
// Then the run proves nothing, and the test repeats it with twice the time.
func TestATimeoutDuringAToolCallIsNoSuccess(t *testing.T) {
	each(t, func(p *environment, agent string) {
		var run *process
		for limit := 25 * time.Second; !p.has("begun"); limit *= 2 {
			if limit > 4*time.Minute {
				p.Fatal("the tool never began")
			}
			p.play("tool:" + held)
			run = p.start("run", p.plan(agent, fmt.Sprintf("questions: allow, timeout: %s", limit)))
			p.until("the tool has begun or the run has ended", func() bool { return p.has("begun") || run.isOver() })
		}
		if o := run.wait(); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Failed, "timeout")
		if p.has("ended") {
			p.Error("the tool came to its end")
		}
	})
}

// If another process than gaffer sends SIGTERM, gaffer must treat that as an end of the agent's
// program.
func TestASignalOfAnotherProcessDuringAToolCallIsNoSuccess(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(fmt.Sprint(int(sig)), func(t *testing.T) {
			each(t, func(p *environment, agent string) {
				run, task := p.midTool(agent, "")
				testenv.Signal(p, task.Attempt.PID, sig)
				if o := run.wait(); o.code != 1 {
					p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
				}
				p.came(p.ended(), fleet.Failed, "failed")
				if p.has("ended") {
					p.Error("the tool came to its end")
				}
			})
		})
	}
}

func TestAnAgentOutlivesAKilledGafferAndIsAdopted(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.midTool(agent, "verify: test -s ended")
		run.kill()
		resumed := p.start("resume")
		after := p.task("it is looked after again", func(t fleet.Task) bool {
			return t.Attempt.PID == before.Attempt.PID && p.status().Owner.PID == resumed.cmd.Process.Pid
		})
		if after.Attempt.ID != before.Attempt.ID {
			p.Errorf("attempt %s became %s", before.Attempt.ID, after.Attempt.ID)
		}
		p.write("go", "")
		if o := resumed.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || p.times("begun") != 1 || p.times("ended") != 1 || len(p.turns()) != 2 {
			p.Errorf("%d tries, %d begun, %d ended, %d turns", task.Tries, p.times("begun"), p.times("ended"), len(p.turns()))
		}
	})
}

func TestWorkThatEndsWithoutGafferIsFoundComplete(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.midTool(agent, "")
		run.kill()
		p.write("go", "")
		p.until("the last word is in the log", func() bool {
			log := p.read(before.Attempt.Log)
			return strings.Contains(log, `"type":"result"`) || strings.Contains(log, "turn.completed")
		})
		p.done("resume")
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || p.times("begun") != 1 || p.times("ended") != 1 {
			p.Errorf("%d tries, %d begun, %d ended", task.Tries, p.times("begun"), p.times("ended"))
		}
	})
}

func TestAKilledAgentIsFollowedByAFreshOne(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.midTool(agent, "retries: 1")
		p.play("text:afresh")
		testenv.Signal(p, before.Attempt.PID, syscall.SIGKILL)
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Thread == before.Attempt.Thread || !strings.Contains(task.Attempt.Summary, "afresh") {
			p.Errorf("want two tries in two conversations, the first one %q:\n%s", before.Attempt.Thread, encode(task))
		}
		if p.has("ended") {
			p.Error("the tool of the first attempt came to its end")
		}
	})
}

// The test kills the supervisor and its agent together, so that the attempt is lost. The next
// attempt must continue the same conversation.
func TestALostAttemptIsFollowedInTheSameConversation(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, before := p.midTool(agent, "retries: 1")
		run.kill()
		testenv.Wait(p, "the end of all processes", func() error {
			all := p.alive()
			if len(all) == 0 {
				return nil
			}
			// Stop all of them before killing them: a supervisor that outlives its agent would
			// record how the agent died, and then the attempt would not be lost.
			for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
				for pid := range all {
					_ = syscall.Kill(pid, signal) // ignore the error: the process may have ended
				}
			}
			return fmt.Errorf("%v", all)
		})
		p.play("text:resumed")
		p.done("resume")
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Thread != before.Attempt.Thread || !strings.Contains(task.Attempt.Summary, "resumed") {
			p.Errorf("want two tries in conversation %q:\n%s", before.Attempt.Thread, encode(task))
		}
		if last := p.turns()[len(p.turns())-1]; !strings.Contains(string(last.Body), "begun") {
			p.Errorf("the model does not see what was before:\n%s", last.Body)
		}
	})
}
