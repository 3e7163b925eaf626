package agents

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
)

func TestARateLimitThatPassesIsNoFailure(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("429", "text")
		p.done("run", p.plan(agent, ""))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || len(p.turns()) != 2 {
			p.Errorf("%d tries and %d turns, want 1 and 2", task.Tries, len(p.turns()))
		}
	})
}

func TestAUsageLimitIsWaitedFor(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("limit")
		run := p.start("run", p.plan(agent, ""))
		task := p.task("it waits for the limit's end", func(t fleet.Task) bool { return t.Outcome == "rate_limited" })
		if task.Status != fleet.Queued {
			p.Errorf("want it queued:\n%s", encode(task))
		}
		lanes := p.status().Lanes
		if len(lanes) != 1 {
			p.Fatalf("want one lane that is closed:\n%s", encode(lanes))
		}
		// Check the end of the limit only for Codex: Claude Code does not report when the limit of
		// an API key ends.
		if lasts := time.Until(lanes[0].Until); agent == "codex" && (lasts < 50*time.Minute || lasts > 70*time.Minute) {
			p.Errorf("the lane opens in %s, want in an hour", lasts)
		}
		p.done("cancel", "-")
		run.wait()
		p.nothingLeft()
	})
}

func TestAnOverloadedModelIsTriedAgainInTheSameConversation(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("529")
		run := p.start("run", p.plan(agent, "retries: 1"))
		first := p.task("the first attempt has failed", func(t fleet.Task) bool { return t.Outcome == "api_error" })
		p.play("text")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Thread != first.Attempt.Thread || first.Attempt.Thread == "" {
			p.Errorf("%d tries, conversations %q and %q", task.Tries, first.Attempt.Thread, task.Attempt.Thread)
		}
		if last := p.turns()[len(p.turns())-1]; strings.Count(string(last.Body), "do the work") < 2 {
			p.Errorf("the model does not see the conversation:\n%s", last.Body)
		}
	})
}

func TestErrorsHaveTheirClass(t *testing.T) {
	for mode, class := range map[string]string{"401": "auth", "500": "api_error", "ctx": "context_overflow"} {
		t.Run(mode, func(t *testing.T) {
			each(t, func(p *environment, agent string) {
				p.play(mode)
				if o := p.gaffer("run", p.plan(agent, "")); o.code != 1 {
					p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
				}
				p.came(p.ended(), fleet.Failed, class)
			})
		})
	}
}

func TestASilentModelTimesOut(t *testing.T) {
	for _, mode := range []string{"hang", "hangmid"} {
		t.Run(mode, func(t *testing.T) {
			each(t, func(p *environment, agent string) {
				// Repeat the run with more time if the program has not asked the model: on a busy
				// machine it may stall before that.
				for limit := 30 * time.Second; len(p.turns()) == 0; limit *= 2 {
					if limit > 4*time.Minute {
						p.Fatal("the model was never asked")
					}
					p.play(mode)
					if o := p.gaffer("run", p.plan(agent, fmt.Sprintf("stall_timeout: %s", limit))); o.code != 1 {
						p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
					}
					p.came(p.ended(), fleet.Failed, "stalled")
				}
			})
		})
	}
}

func TestADroppedStreamIsRetried(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("drop", "text:whole")
		p.done("run", p.plan(agent, ""))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || !strings.Contains(task.Attempt.Summary, "whole") {
			p.Errorf("want one try, and the whole answer:\n%s", encode(task))
		}
	})
}

func TestAStreamThatIsAlwaysDroppedIsAnErrorOfTheModel(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("drop")
		if o := p.gaffer("run", p.plan(agent, "")); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Failed, "api_error")
	})
}
