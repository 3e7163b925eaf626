package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// git runs git in the project and returns its output.
func (p *environment) git(args ...string) string {
	p.Helper()
	out, err := p.command("git", args...).CombinedOutput()
	if err != nil {
		p.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// review returns the change of the task with its review and messages.
func (p *environment) review() fleet.TaskChange {
	p.Helper()
	var c fleet.TaskChange
	p.must(json.Unmarshal([]byte(p.done("review", "work", "--json")), &c))
	return c
}

// killOwner kills the gaffer process that works on the run, and waits until it no longer holds the
// run.
func (p *environment) killOwner(pid int) {
	p.Helper()
	testenv.Signal(p, pid, syscall.SIGKILL)
	p.until("no process works on the run", func() bool { return !p.status().Owner.Alive })
}

// finishChange runs a task with a worktree until it has a change that can be reviewed. The task's
// check writes to the file checked in the folder aside, and waits while that folder has a file
// called hold.
func (p *environment) finishChange(agent string) (aside string, task fleet.Task) {
	p.Helper()
	aside = filepath.Join(p.home, "aside") // folder for files that must not be part of the change
	p.must(os.Mkdir(aside, 0o755))
	p.write("list.txt", "one\ntwo\nthree\nfour\n")
	p.plan(agent, fmt.Sprintf(`questions: allow, worktree: true, verify: "pwd >> %[1]s/checked; while test -e %[1]s/hold; do sleep 0.1; done; test $(wc -l < list.txt) = 4"`, aside))
	p.git("config", "user.name", "Person")
	p.git("config", "user.email", "person@example.com")
	p.git("add", "--all")
	p.git("commit", "--quiet", "-m", "start")
	p.play("tool:sed -i 's/two/TWO/; s/four/FOUR/' list.txt", "text:the list is better")
	p.done("run", "plan.yaml")
	task = p.ended()
	p.came(task, fleet.Complete, "")
	return aside, task
}

// checkAnswered checks that the agent has worked on the comments exactly once, in the same
// conversation. turnsBefore is the number of the model's turns before that.
func (p *environment) checkAnswered(old, after fleet.Task, aside string, turnsBefore int) {
	p.Helper()
	if after.Attempt.ID == old.Attempt.ID || old.Attempt.Thread == "" || after.Attempt.Thread != old.Attempt.Thread {
		p.Errorf("want another attempt in the same conversation:\n%s\n%s", encode(old), encode(after))
	}
	turns := p.turns()
	if len(turns) != turnsBefore+2 || p.times(aside+"/begun") != 1 || p.times(aside+"/checked") != 2 {
		p.Errorf("want two turns more, with one tool call, and one check: %d turns, %d calls, %d checks", len(turns)-turnsBefore, p.times(aside+"/begun"), p.times(aside+"/checked"))
	}
	last := string(turns[len(turns)-1].Body)
	for _, text := range []string{"do the work", "the list is better", "[c1] list.txt:2", "Write a digit.", "[c2] list.txt:4", "Why in capitals?"} {
		if n := strings.Count(last, text); n != 1 {
			p.Errorf("the model has %q %d times:\n%s", text, n, last)
		}
	}
}

// The test goes from a complete task to its merge: comment on two lines, send back, the same
// conversation answers, approve, merge with checks, undo. It kills gaffer in each step; nothing may
// be lost or done twice.
func TestAChangeIsSentBackAnsweredAndMergedThoughGafferIsKilled(t *testing.T) {
	each(t, func(p *environment, agent string) {
		aside, before := p.finishChange(agent)
		main, start, first := p.git("branch", "--show-current"), p.git("rev-parse", "HEAD"), len(p.turns())
		p.done("review", "work", "--comment", "list.txt:2", "Write a digit.")
		p.done("review", "work", "--comment", "list.txt:4", "Why in capitals?")

		// Kill gaffer when the comments are accepted, and also the process that would continue the
		// agent.
		p.play("tool:cd "+aside+" && { "+held+"; }; cd - && sed -i s/TWO/2/ list.txt", "text:I looked at both.\nc1: fixed\nc2: not fixed: four is right")
		sent := p.start("review", "work", "--send-back")
		p.until("the comments are accepted", func() bool {
			for pid, line := range p.alive() {
				if strings.Contains(line, " resume ") {
					sent.kill()
					p.killOwner(pid)
					return true
				}
			}
			return false
		})
		if c := p.review(); c.Review.State != fleet.ReviewSentBack || c.Review.Round != 1 || len(c.Messages) != 1 {
			p.Fatalf("not sent back:\n%s", encode(c))
		}

		// Kill gaffer while the agent works. Then repeat the command that was killed: it must not
		// send the comments again, but continue the agent in the background.
		p.done("review", "work", "--send-back")
		p.until("the tool has begun", func() bool { return p.has(aside + "/begun") })
		owner := p.status().Owner
		if !owner.Alive {
			p.Fatalf("no gaffer works in the background:\n%s", encode(p.status()))
		}
		p.killOwner(owner.PID)
		run := p.start("resume")
		p.until("it is looked after again", func() bool { return p.status().Owner.PID == run.cmd.Process.Pid })

		// Kill gaffer while the check of the agent's work runs.
		p.write(aside+"/hold", "")
		p.write(aside+"/go", "")
		p.until("the check has begun", func() bool { return p.times(aside+"/checked") == 2 })
		run.kill()
		p.must(os.Remove(aside + "/hold"))
		p.done("resume")
		after := p.ended()
		p.came(after, fleet.Complete, "")
		p.checkAnswered(before, after, aside, first)
		c := p.review()
		if c.Review.State != fleet.ReviewOpen || len(c.Review.Comments) != 2 || len(c.Messages) != 1 || c.Messages[0].Attempt != after.Attempt.ID || c.Messages[0].Waiting() {
			p.Fatalf("want two comments, delivered as one message:\n%s", encode(c))
		}
		one, two := c.Review.Comments[0].Answer, c.Review.Comments[1].Answer
		if one == nil || !one.Fixed || one.Attempt != after.Attempt.ID || two == nil || two.Fixed || two.Text != "four is right" {
			p.Errorf("the answers:\n%s", encode(c.Review.Comments))
		}

		// Kill gaffer while the check of the merged files runs.
		p.done("review", "work", "--approve")
		p.write(aside+"/hold", "")
		merge := p.start("merge", "work", "--yes")
		p.until("the check has begun", func() bool { return p.times(aside+"/checked") == 3 })
		merge.kill()
		if r := p.review().Review; p.git("rev-parse", main) != start || r.State != fleet.ReviewApproved {
			p.Errorf("the branch has moved before the check:\n%s", encode(r))
		}
		p.must(os.Remove(aside + "/hold"))
		p.done("merge", "work", "--yes")
		merged := p.git("rev-parse", main)
		p.done("merge", "work", "--yes")
		if got := p.read("list.txt"); got != "one\n2\nthree\nFOUR\n" || p.git("rev-parse", main) != merged || p.git("rev-list", "--count", "--merges", main) != "1" {
			p.Errorf("list.txt has %q\n%s", got, p.git("log", "--graph", "--oneline", main))
		}
		if r := p.review().Review; r.State != fleet.ReviewMerged || r.Landing == nil || r.Landing.After != merged {
			p.Errorf("not merged:\n%s", encode(r))
		}
		dirs := strings.Fields(p.read(aside + "/checked"))
		if len(dirs) != 4 || dirs[1] != after.Worktree || dirs[2] == after.Worktree || dirs[3] == after.Worktree {
			p.Errorf("want two checks more, outside of the worktree %s: %v", after.Worktree, dirs)
		}

		p.done("merge", "work", "--undo", "--yes")
		if r := p.review().Review; p.git("rev-parse", main) != start || p.read("list.txt") != "one\ntwo\nthree\nfour\n" || r.State != fleet.ReviewApproved || r.Landing != nil {
			p.Errorf("not undone:\n%s", encode(r))
		}
		if left := p.git("worktree", "list"); strings.Count(left, "\n") != 1 || p.git("status", "--porcelain") != "" {
			p.Errorf("left:\n%s\n%s", left, p.git("status"))
		}
		p.git("fsck", "--strict")
		p.nothingLeft()
	})
}
