package agents

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// The test goes from a complete task to its merge by keys in the review screen, which runs in tmux.
// It kills the screen, or the gaffer process that works on the run, in each step.
func TestAChangeIsMergedInTheReviewScreenThoughGafferIsKilled(t *testing.T) {
	each(t, func(p *environment, agent string) {
		aside, before := p.finishChange(agent)
		main, start, first := p.git("branch", "--show-current"), p.git("rev-parse", "HEAD"), len(p.turns())
		var screen *terminal
		sees := func(texts ...string) {
			p.Helper()
			for _, text := range texts {
				p.until("the screen shows "+text, screen.shows(text))
			}
		}
		open := func() {
			screen = p.openAs("gaffer", filepath.Join(programs, "gaffer"), "review", "work")
			sees("list.txt", "+2 −2")
		}
		kill := func() {
			testenv.Signal(p, screen.pid, syscall.SIGKILL)
			p.until("the terminal is closed", func() bool { _, err := p.tmux("has-session", "-t", "person"); return err != nil })
		}
		comment := func(text string, drafts string) {
			screen.keys("-l", text)
			sees(text)
			screen.keys("Enter")
			sees(drafts)
		}

		open()
		screen.keys("]")
		sees("2     - two")
		screen.keys("n", "j", "c")
		sees("comment on list.txt, line 2")
		comment("Write a digit.", "✎ 1 comment")
		kill()
		open()
		sees("✎ 1 comment")
		screen.keys("]")
		sees("2     - two")
		screen.keys("G", "c")
		sees("comment on list.txt, line 4")
		comment("Why in capitals?", "✎ 2 comments")

		// Kill the screen when the comments are accepted, and also the gaffer process that would
		// continue the agent.
		p.play("tool:cd "+aside+" && { "+held+"; }; cd - && sed -i s/TWO/2/ list.txt", "text:I looked at both.\nc1: fixed\nc2: not fixed: four is right")
		screen.keys("s")
		p.until("the comments are accepted", func() bool {
			for pid, line := range p.alive() {
				if strings.Contains(line, " resume ") {
					kill()
					p.killOwner(pid)
					return true
				}
			}
			return false
		})

		// The same key again sends nothing, but continues the agent. Kill gaffer while the agent
		// works, and again while the check of its work runs.
		open()
		sees("↻ sent back")
		screen.keys("s")
		p.until("the tool has begun", func() bool { return p.has(aside + "/begun") })
		owner := p.status().Owner
		if !owner.Alive {
			p.Fatalf("no gaffer works in the background:\n%s", encode(p.status()))
		}
		p.killOwner(owner.PID)
		p.write(aside+"/hold", "")
		p.write(aside+"/go", "")
		run := p.start("resume")
		p.until("the check has begun", func() bool { return p.times(aside+"/checked") == 2 })
		run.kill()
		p.must(os.Remove(aside + "/hold"))
		p.done("resume")
		p.checkAnswered(before, p.ended(), aside, first)
		sees("○ to review")
		screen.keys("]")
		sees("agent: ✓ fixed", "agent: ✗ not fixed: four is right", "outdated")

		screen.keys("a")
		sees("✓ approved")
		kill()
		open()
		sees("✓ approved")

		// Kill the screen while it runs the check of the merged files.
		p.write(aside+"/hold", "")
		screen.keys("m")
		sees("y merges")
		screen.keys("y")
		p.until("the check has begun", func() bool { return p.times(aside+"/checked") == 3 })
		kill()
		if r := p.review().Review; p.git("rev-parse", main) != start || r.State != fleet.ReviewApproved {
			p.Errorf("the branch has moved before the check:\n%s", encode(r))
		}
		p.must(os.Remove(aside + "/hold"))
		open()
		screen.keys("m")
		sees("y merges")
		screen.keys("y")
		sees("● merged")
		kill()
		merged := p.git("rev-parse", main)
		if r := p.review().Review; r.State != fleet.ReviewMerged || r.Landing == nil || r.Landing.After != merged {
			p.Errorf("not merged:\n%s", encode(r))
		}
		if got := p.read("list.txt"); got != "one\n2\nthree\nFOUR\n" || p.git("rev-list", "--count", "--merges", main) != "1" {
			p.Errorf("list.txt has %q\n%s", got, p.git("log", "--graph", "--oneline", main))
		}
		p.git("fsck", "--strict")
		p.nothingLeft()
	})
}
