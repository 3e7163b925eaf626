package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/dashboard"
	"gaffer/internal/testkit/testenv"
)

// lines returns the lines of a file, or none if it does not exist.
func (w *world) lines(file string) []string {
	w.Helper()
	text, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		w.must(err)
	}
	return strings.Fields(string(text))
}

// reaches waits until a file has at least n lines.
func (w *world) reaches(file string, n int) {
	w.Helper()
	until(w, filepath.Base(file), func() ([]string, bool) { all := w.lines(file); return all, len(all) == n })
}

// killResume waits until the server has started a gaffer process in the background, and kills that
// process.
func (w *world) killResume() {
	w.Helper()
	until(w, "a gaffer in the background", func() (found bool, ok bool) {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		w.must(err)
		for _, file := range all {
			line, _ := os.ReadFile(file) // ignore the error: the process may have ended
			environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
			if !bytes.Contains(line, []byte("\x00resume\x00")) || !bytes.Contains(environ, []byte("HOME="+w.home+"\x00")) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			w.must(err)
			return true, syscall.Kill(pid, syscall.SIGKILL) == nil
		}
		return false, false
	})
}

// killOwner kills the gaffer process that works on a run. The page must say so, and the user
// resumes the run on the page.
func (p *page) killOwner(run string, then func()) {
	p.Helper()
	owner := until(p.world, "a gaffer works on the run", func() (fleet.Owner, bool) { o := p.run(run).Owner; return o, o.Alive })
	testenv.Signal(p, owner.PID, syscall.SIGKILL)
	p.Sees("No gaffer works on this run", "gaffer resume "+run)
	then()
	p.Click("Resume")
	p.SeesNot("No gaffer works on this run")
}

// The test goes from a complete task to its merge, by clicks and keys on one page that is never
// loaded again. In each step it kills the server and the gaffer process that works on the run.
// Nothing may be lost or done twice, and the page must say what happened.
func TestAChangeIsMergedThoughGafferIsKilledInEachStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	aside := t.TempDir() // folder for files that must not be part of the change
	begun, checked, hold, proceed := aside+"/begun", aside+"/checked", aside+"/hold", aside+"/go"
	touch := func(file string) { w.must(os.WriteFile(file, nil, 0o600)) }
	write(w, aside, map[string]string{
		"fix":   "echo x >> " + begun + "; until test -e " + proceed + "; do sleep 0.1; done; sed -i s/api/shop_api/ api.go\n",
		"check": "pwd >> " + checked + "; while test -e " + hold + "; do sleep 0.1; done; grep api api.go\n",
	})
	w.git("symbolic-ref", "HEAD", "refs/heads/main")
	w.commit(map[string]string{"api.go": "package old\n\nfunc first() {}\n\nfunc last() {}\n", ".gitignore": "plan.yaml\n"})
	start := w.git("rev-parse", "main")
	id, _ := w.local(`
name: shop
defaults: {agent: fake, worktree: true}
tasks:
  - id: api
    prompt: |
      fake: tool sed -i 's/package old/package api/' api.go
      fake: say I have built the API.
    verify: sh ` + aside + `/check
`)
	p := w.open(task(id, "api") + "/review")
	p.Act("window.same = true")
	p.Wait("the diff", dashboard.Cell("api.go", "new", 1))

	// Kill the server when a comment is saved, and while another is being written.
	p.ClickLine("api.go", 1)
	p.Comment("Call the package shop.\nfake: tool sh " + aside + "/fix")
	p.Sees("Send back 1")
	w.restart(func() {
		p.Sees("stale since")
		p.ClickLine("api.go", 3)
		p.Write("Is this needed?\nfake: say c1: fixed\\nc2: not fixed: the tests call it")
		p.Sees("Not saved: The server does not answer.")
		p.looks("killed-comment")
	})
	p.Sees("live")
	p.Comment("")
	p.Wait("both are drafts", `document.querySelectorAll('.comment.draft').length === 2`)

	// Kill the server before the comments are sent.
	w.restart(func() {
		p.Press("s")
		p.Sees("The server does not answer.")
		p.looks("killed-send-back")
	})
	p.Sees("The server was away, and your comments were not sent.")
	p.looks("killed-not-sent")
	// Kill the server when the comments are sent, and also the gaffer process that would continue
	// the agent.
	p.Press("s")
	w.killResume()
	w.restart(func() { p.Sees("stale since") })
	p.Sees("Sent back, round 1. The answers of the agent appear when the run is resumed.", "No gaffer works on this run")
	p.looks("killed-sent")
	p.Click("Resume")

	// Kill gaffer while the agent works, and while the check of its work runs.
	w.reaches(begun, 1)
	p.killOwner(id, func() { p.looks("killed-at-work") })
	touch(hold)
	touch(proceed)
	w.reaches(checked, 2)
	p.killOwner(id, func() { w.must(os.Remove(hold)) })
	p.Click("Show the newest")
	p.Sees("agent: fixed", "agent: not fixed", "the tests call it")
	p.SeesNot("No gaffer works")

	// Kill the server after the approval.
	p.Press("a")
	p.Sees("Approved.")
	w.restart(func() { p.Sees("stale since") })
	p.Sees("live", "approved")

	// Kill the server while the check of the merged files runs.
	touch(hold)
	p.Press("m")
	p.Click("Merge")
	p.Click("Merge and change the files of main")
	w.reaches(checked, 3)
	w.restart(func() {
		p.Sees("The server does not answer.")
		p.looks("killed-merging")
	})
	p.Sees("The server was away, and the change is not merged.")
	p.looks("killed-not-merged")
	if got := w.git("rev-parse", "main"); got != start {
		t.Errorf("main has moved to %s before the check has passed", got)
	}
	w.must(os.Remove(hold))
	p.Click("Merge again")
	merged := until(w, "main has moved", func() (string, bool) { at := w.git("rev-parse", "main"); return at, at != start })
	p.Sees("Merged into main as " + merged[:9])

	// Kill the server after the merge.
	w.restart(func() { p.Sees("stale since") })
	p.Sees("live", "merged", "Undo merge…")
	p.looks("killed-merged")

	if !p.Holds("window.same") {
		t.Error("the page was loaded again")
	}
	if all := p.threads(id, "api"); len(all) != 2 || all[0] == "" || all[0] != all[1] {
		t.Errorf("the conversations are %q, want the same one twice", all)
	}
	review := ask[fleet.Review](p, "/v1/runs/"+id+"/tasks/api/change", "review")
	messages := ask[[]fleet.Message](p, "/v1/runs/"+id+"/tasks/api/change", "messages")
	if len(messages) != 1 || len(review.Comments) != 2 || review.Comments[0].Answer == nil || review.Comments[1].Answer == nil || review.State != fleet.ReviewMerged || review.Landing.After != merged {
		t.Errorf("want one message, two answered comments and one merge: %+v\n%+v", review, messages)
	}
	if n := len(w.lines(begun)); n != 1 {
		t.Errorf("the agent has worked on the comments %d times", n)
	}
	if dirs := w.lines(checked); len(dirs) != 4 || dirs[0] != dirs[1] || dirs[2] == dirs[1] || dirs[3] == dirs[1] {
		t.Errorf("want two checks in the worktree and two elsewhere: %q", dirs)
	}
	if got := w.git("show", "main:api.go"); w.git("rev-parse", "main") != merged || w.git("rev-list", "--count", "--merges", "main") != "1" || !strings.HasPrefix(got, "package shop_api") {
		t.Errorf("api.go of main is %q\n%s", got, w.git("log", "--graph", "--oneline", "main"))
	}
	if left := w.git("worktree", "list"); strings.Count(left, "\n") != 1 || w.git("status", "--porcelain") != "" {
		t.Errorf("left:\n%s\n%s", left, w.git("status"))
	}
	w.git("fsck", "--strict")
}
