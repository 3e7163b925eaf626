package agents

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/dashboard"
)

var listening = regexp.MustCompile(`Listening on http://(\S+)`)

// serve starts a gaffer server and returns its process and its address.
func (p *environment) serve(address string) (*process, string) {
	p.Helper()
	g := p.start("serve", "--listen", address)
	var found []string
	p.until("the server listens", func() bool {
		if g.isOver() {
			p.Fatalf("the server has ended:\n%s", g.said())
		}
		found = listening.FindStringSubmatch(g.said())
		return found != nil
	})
	return g, found[1]
}

// page logs a browser in and shows the review of the task.
func (p *environment) page(address string) *dashboard.Page {
	p.Helper()
	profile, err := os.MkdirTemp("", "gaffer-chromium-")
	p.must(err)
	p.Cleanup(func() { _ = os.RemoveAll(profile) }) // ignore the error: the browser may still write to the folder
	browser, err := dashboard.Start(profile)
	p.must(err)
	p.Cleanup(browser.Close)
	page := browser.Open(p, strings.TrimSpace(p.done("open", "--print", "--server", "http://"+address)))
	page.Visit("#/runs/" + p.status().ID + "/tasks/work/review")
	return page
}

// The test goes from a complete task to its merge by clicks and keys on one page of the dashboard.
// It kills the server, or the gaffer process that works on the run, in each step.
func TestAChangeIsMergedInTheBrowserThoughGafferIsKilled(t *testing.T) {
	each(t, func(p *environment, agent string) {
		aside, before := p.finishChange(agent)
		main, start, first := p.git("branch", "--show-current"), p.git("rev-parse", "HEAD"), len(p.turns())
		server, address := p.serve("127.0.0.1:0")
		page := p.page(address)
		page.Act("window.same = true")
		restart := func() {
			server.kill()
			page.Sees("stale since")
			server, _ = p.serve(address)
			page.Sees("live")
		}
		killOwner := func() {
			var owner fleet.Owner
			p.until("a gaffer works on the run", func() bool { owner = p.status().Owner; return owner.Alive })
			p.killOwner(owner.PID)
		}
		resume := func() {
			page.Sees("No gaffer works on this run")
			page.Click("Resume")
			page.SeesNot("No gaffer works on this run")
		}

		page.ClickLine("list.txt", 2)
		page.Comment("Write a digit.")
		restart()
		page.ClickLine("list.txt", 4)
		page.Comment("Why in capitals?")
		page.Sees("Send back 2")

		// Kill the server when the comments are accepted, and also the gaffer process that would
		// continue the agent.
		p.play("tool:cd "+aside+" && { "+held+"; }; cd - && sed -i s/TWO/2/ list.txt", "text:I looked at both.\nc1: fixed\nc2: not fixed: four is right")
		page.Press("s")
		p.until("a gaffer in the background", func() bool {
			for pid, line := range p.alive() {
				if strings.Contains(line, " resume ") {
					server.kill()
					return syscall.Kill(pid, syscall.SIGKILL) == nil
				}
			}
			return false
		})
		restart()
		page.Sees("Sent back, round 1")
		resume()

		// Kill gaffer while the agent works, and again while the check of its work runs.
		p.until("the tool has begun", func() bool { return p.has(aside + "/begun") })
		killOwner()
		resume()
		p.write(aside+"/hold", "")
		p.write(aside+"/go", "")
		p.until("the check has begun", func() bool { return p.times(aside+"/checked") == 2 })
		killOwner()
		p.must(os.Remove(aside + "/hold"))
		resume()
		page.Click("Show the newest")
		page.Sees("agent: fixed", "agent: not fixed", "four is right")
		p.until("the run has ended", func() bool { return p.status().Status.Final() })
		p.checkAnswered(before, p.ended(), aside, first)

		page.Press("a")
		page.Sees("Approved.")
		restart()

		// Kill gaffer while the check of the merged files runs.
		p.write(aside+"/hold", "")
		page.Press("m")
		page.Click("Merge")
		page.Click("Merge and change the files of " + main)
		p.until("the check has begun", func() bool { return p.times(aside+"/checked") == 3 })
		restart()
		page.Sees("The server was away, and the change is not merged.")
		page.Shot("agents-not-merged-" + agent)
		if p.git("rev-parse", main) != start {
			p.Error("the branch has moved before the check")
		}
		p.must(os.Remove(aside + "/hold"))
		page.Click("Merge again")
		page.Sees("Merged into " + main)
		merged := p.git("rev-parse", main)
		restart()
		page.Sees("Undo merge…")
		page.Shot("agents-merged-" + agent)

		if !page.Holds("window.same") {
			p.Error("the page was loaded again")
		}
		c := p.review()
		if r := c.Review; r.State != fleet.ReviewMerged || r.Landing == nil || r.Landing.After != merged || len(r.Comments) != 2 || len(c.Messages) != 1 {
			p.Errorf("want two comments, one message and one merge:\n%s", encode(c))
		}
		if got := p.read("list.txt"); got != "one\n2\nthree\nFOUR\n" || p.git("rev-parse", main) != merged || p.git("rev-list", "--count", "--merges", main) != "1" {
			p.Errorf("list.txt has %q\n%s", got, p.git("log", "--graph", "--oneline", main))
		}
		if left := p.git("worktree", "list"); strings.Count(left, "\n") != 1 || p.git("status", "--porcelain") != "" {
			p.Errorf("left:\n%s\n%s", left, p.git("status"))
		}
		p.git("fsck", "--strict")
		server.kill()
		p.nothingLeft()
	})
}
