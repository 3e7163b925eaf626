package agents

import (
	"strings"
	"testing"

	"gaffer/fleet"
)

// patient configures the programs to retry failed requests for longer than a test takes.
func (p *environment) patient() {
	p.Helper()
	p.env = append(p.env, "CLAUDE_CODE_MAX_RETRIES=10")
	config := p.codexConfig()
	config = strings.Replace(config, "request_max_retries = 1", "request_max_retries = 0", 1)
	config = strings.Replace(config, "stream_max_retries = 1", "stream_max_retries = 10", 1)
	p.write(p.home+"/.codex/config.toml", config)
}

func TestARetryingAgentIsShownAsRetrying(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.patient()
		p.play("500")
		run := p.start("run", p.plan(agent, ""))
		task := p.task("it tries again", func(t fleet.Task) bool { return t.Attempt.State == "retrying" })
		if task.Attempt.Doing == "" {
			p.Errorf("what it retries is not said:\n%s", encode(task.Attempt))
		}
		p.play("text:at last")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		task = p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || !strings.Contains(task.Attempt.Summary, "at last") {
			p.Errorf("want one try, and the answer:\n%s", encode(task))
		}
	})
}

func TestRetriesDoNotCountAsProgress(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.patient()
		p.play("500")
		if o := p.gaffer("run", p.plan(agent, "stall_timeout: 15s")); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Failed, "stalled")
	})
}
