// Package verify checks the work on a chunk: commands, files, web pages,
// screenshots, each with one retry.
//
// A check is a value that a plan holds ([Check]); [Run] makes the checks of a
// [Request] one after the other, with what the machine has ([Tools]), and says
// in the [Outcome] how much it could look at.
package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gaffer/workflow"
)

// Request is a verification to be made.
type Request struct {
	Chunk  string  `json:"chunk"`
	Dir    string  `json:"dir"` // the work folder; the current one if empty
	Checks []Check `json:"checks"`
	// Serve is a shell command that runs from the first check of a page to the
	// end, such as a development server. Where a URL has {port}, that is a free
	// port, which the command finds in PORT: several chunks can be looked at at
	// the same time, and none is taken for another. Where it has a port of its
	// own, nobody may listen there before.
	Serve string `json:"serve,omitempty"`
	// Mode is full, reduced or minimal; empty chooses by what is there.
	Mode string `json:"mode,omitempty"`
	// Screenshot is the path of the first picture. Those of further checks get
	// a number before the ending.
	Screenshot string `json:"screenshot,omitempty"`
	// RetryAfter is the wait before a check's second try, a second if zero: a
	// page that fails may still be starting up.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// Outcome is what a verification found.
type Outcome struct {
	Mode       string           `json:"mode"`
	Why        string           `json:"why"` // why this mode, in words
	Checks     []workflow.Check `json:"checks"`
	Details    []Detail         `json:"details"` // one for each check, in the same order
	Summary    string           `json:"summary"` // such as "4/4 checks passed"
	Screenshot string           `json:"screenshot,omitempty"`
	Passed     bool             `json:"passed"`
}

// Detail is what is worth knowing about a check when it failed.
type Detail struct {
	Name       string  `json:"name"`
	Output     string  `json:"output"`  // the end of what its last try said, at most 2,000 characters
	Seconds    float64 `json:"seconds"` // of both tries and the wait between them
	Screenshot string  `json:"screenshot,omitempty"`
}

// defaultRetryAfter is the wait before a second try.
const defaultRetryAfter = time.Second

// Run makes the checks. A request that is not valid fails all of them, and so
// does a ctx that ends for those that it cuts short. Nothing that a check has
// started is left when Run returns, except what took itself out of the check's
// process group.
func Run(ctx context.Context, r Request, tools Tools) Outcome {
	v := verification{request: r, tools: tools}
	v.out.Mode, v.out.Why = choose(r.Mode, r.Checks, tools)
	if err := r.Validate(); err != nil {
		v.refuse(err)
	} else {
		v.run(ctx)
	}
	v.out.Summary, v.out.Passed = summarize(v.out)
	return v.out
}

// choose says how much is looked at, and why.
func choose(forced string, checks []Check, tools Tools) (mode, why string) {
	pages := 0
	for _, c := range checks {
		if c.needsBrowser() {
			pages++
		}
	}
	switch {
	case forced == workflow.Minimal:
		return forced, skipped(checks)
	case forced != "":
		return forced, "as asked for"
	case pages == 0:
		return workflow.Full, "no check needs a browser"
	case tools.Browser == "":
		return workflow.Reduced, tools.missing()
	}
	return workflow.Full, "a browser was found"
}

// skipped says what the minimal mode leaves out.
func skipped(checks []Check) string {
	left := 0
	for _, c := range checks {
		if !c.counts(workflow.Minimal) {
			left++
		}
	}
	if left == 0 {
		return "exit codes alone"
	}
	return fmt.Sprintf("exit codes alone, %d of %d checks not made", left, len(checks))
}

// summarize counts the results. Where something was not looked at, it says so,
// and where nothing was, nothing is known of the work.
func summarize(o Outcome) (summary string, passed bool) {
	n := 0
	for _, c := range o.Checks {
		if c.Result == workflow.Pass {
			n++
		}
	}
	summary = fmt.Sprintf("%d/%d checks passed", n, len(o.Checks))
	if o.Mode != workflow.Full {
		summary += fmt.Sprintf(" (%s: %s)", o.Mode, o.Why)
	}
	return summary, n > 0 && n == len(o.Checks)
}

// verification is one under way.
type verification struct {
	request Request
	tools   Tools
	out     Outcome
	taken   int // checks that had a name for their picture
	server  *server
}

func (v *verification) refuse(err error) {
	for _, c := range v.request.Checks {
		v.add(c, finding{problem: err.Error()}, false, 0)
	}
}

func (v *verification) run(ctx context.Context) {
	defer v.endServer()
	for _, c := range v.request.Checks {
		if !c.counts(v.out.Mode) {
			continue
		}
		picture := v.pictureFor(c)
		began := time.Now()
		found, retried := v.check(ctx, c, picture)
		v.add(c, found, retried, time.Since(began))
	}
}

// check makes a check, and makes it once more if it fails. Where the browser
// turns out not to run at all, the rest is done without it: nobody who works on
// the chunk could mend that.
func (v *verification) check(ctx context.Context, c Check, picture string) (f finding, retried bool) {
	f = v.try(ctx, c, picture)
	if !f.ok() && v.pause(ctx) {
		f = v.try(ctx, c, picture)
		retried = f.ok()
	}
	if f.noBrowser && v.request.Mode == "" && ctx.Err() == nil {
		v.out.Mode, v.out.Why = workflow.Reduced, "the browser does not run"
		why := f.problem + "\n" + f.output + "\n"
		f, retried = v.check(ctx, c, picture)
		f.output = why + f.output
	}
	return f, retried
}

// pause waits for the second try and tells whether there is to be one.
func (v *verification) pause(ctx context.Context) bool {
	wait := time.Duration(v.request.RetryAfter)
	if wait == 0 {
		wait = defaultRetryAfter
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// finding is what one try of a check found.
type finding struct {
	problem   string // empty if it passed
	output    string
	picture   string // the path of the picture that was taken
	noBrowser bool   // the browser did not run, whatever the page is like
}

func (f finding) ok() bool { return f.problem == "" }

func (v *verification) try(ctx context.Context, c Check, picture string) finding {
	if ctx.Err() != nil {
		return finding{problem: "stopped before it could be made"}
	}
	if c.URL != "" {
		return v.tryPage(ctx, c, picture)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	if c.Command != "" {
		return tryCommand(ctx, v.request.Dir, c)
	}
	return tryFile(ctx, v.request.Dir, c)
}

func (v *verification) tryPage(ctx context.Context, c Check, picture string) finding {
	c, f := v.serve(ctx, c)
	if !f.ok() {
		return f
	}
	f = tryPage(ctx, c, v.tools.Browser, v.out.Mode == workflow.Full, picture)
	if v.server != nil && !f.ok() {
		f.output += "\nthe server printed:\n" + lastOf(v.server.said.kept.String(), outputEnd/4)
	}
	return f
}

// pictureFor returns where the picture of a check goes.
func (v *verification) pictureFor(c Check) string {
	if !c.Screenshot {
		return ""
	}
	v.taken++
	if v.taken == 1 {
		return v.request.Screenshot
	}
	ext := filepath.Ext(v.request.Screenshot)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(v.request.Screenshot, ext), v.taken, ext)
}

func (v *verification) add(c Check, f finding, retried bool, took time.Duration) {
	result, output := workflow.Pass, f.output
	if !f.ok() {
		result, output = workflow.Fail, strings.TrimSpace(f.output)+"\n"+f.problem
	}
	name := c.title()
	v.out.Checks = append(v.out.Checks, workflow.Check{Name: name, Result: result, Retried: retried})
	v.out.Details = append(v.out.Details, Detail{
		Name: name, Output: lastOf(printable(output), outputEnd), Seconds: took.Round(time.Millisecond).Seconds(), Screenshot: f.picture,
	})
	if v.out.Screenshot == "" {
		v.out.Screenshot = f.picture
	}
}
