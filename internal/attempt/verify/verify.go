// Package verify checks the result of one chunk. A chunk is one of the tasks into which a workflow
// build divides its work. A check is a command that must succeed, a file that must exist, or a web
// page that must answer with the expected content. A check that fails is tried once more.
//
// Every task may have verify commands, which package runner executes when the agent is done. For a
// chunk, this is the command `gaffer verify`, which runs the checks of the chunk, see [Main]. The
// verify commands of other tasks are arbitrary shell commands.
//
// A plan contains the checks as values of type [Check]. [Run] executes the checks of a [Request]
// one after the other, with the programs on this machine ([Tools]). The [Outcome] contains the
// results and the mode. The mode says how the checks were made, for example without a browser.
package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gaffer/workflow"
)

// Request is a set of checks to run.
type Request struct {
	Chunk  string  `json:"chunk"`
	Dir    string  `json:"dir"` // the work folder; empty means the current folder
	Checks []Check `json:"checks"`
	// Serve is a shell command that starts a server, such as a development server. It runs from the
	// first check of a page to the end of the last check. If a URL contains {port}, gaffer replaces
	// {port} by a free port, and passes that port to the command in the environment variable PORT.
	// So several chunks can be checked at the same time. If a URL has a fixed port, no other
	// process may use that port.
	Serve string `json:"serve,omitempty"`
	// Mode is full, reduced (pages are checked without a browser) or minimal (only checks with a
	// command are made). Empty means full. But if a check needs a browser and none can be started,
	// empty means reduced.
	Mode string `json:"mode,omitempty"`
	// Screenshot is the path for the first screenshot. The paths for further screenshots get a
	// number before the file extension, for example page-2.png.
	Screenshot string `json:"screenshot,omitempty"`
	// RetryAfter is the pause before a failed check is tried again. Zero means one second.
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// Outcome is the result of a request.
type Outcome struct {
	Mode       string           `json:"mode"`
	Why        string           `json:"why"` // why this mode was chosen
	Checks     []workflow.Check `json:"checks"`
	Details    []Detail         `json:"details"` // one detail for each check, in the order of Checks
	Summary    string           `json:"summary"` // such as "4/4 checks passed"
	Screenshot string           `json:"screenshot,omitempty"`
	Passed     bool             `json:"passed"`
}

// Detail describes one check's result, so that a failure can be understood.
type Detail struct {
	Name       string  `json:"name"`
	Output     string  `json:"output"`  // the last part of the last try's output, at most 2,000 characters
	Seconds    float64 `json:"seconds"` // duration of all tries and the pauses between them, in seconds
	Screenshot string  `json:"screenshot,omitempty"`
}

// defaultRetryAfter is the default of [Request.RetryAfter].
const defaultRetryAfter = time.Second

// Run executes the checks. If the request is invalid, all checks fail. If ctx ends, the remaining
// checks fail. When Run returns, no process that a check started is running, except for processes
// that left the check's process group.
func Run(ctx context.Context, r Request, tools Tools) Outcome {
	v := verification{request: r, tools: tools}
	v.out.Mode, v.out.Why = chooseMode(r.Mode, r.Checks, tools)
	if err := r.Validate(); err != nil {
		v.refuse(err)
	} else {
		v.run(ctx)
	}
	v.out.Summary, v.out.Passed = summarize(v.out)
	return v.out
}

// chooseMode returns the mode and the reason for it. The parameter forced is the mode that the
// request sets, or "" if gaffer chooses the mode.
func chooseMode(forced string, checks []Check, tools Tools) (mode, why string) {
	pages := 0
	for _, c := range checks {
		if c.needsBrowser() {
			pages++
		}
	}
	switch {
	case forced == workflow.Minimal:
		return forced, minimalReason(checks)
	case forced != "":
		return forced, "as asked for"
	case pages == 0:
		return workflow.Full, "no check needs a browser"
	case tools.Browser == "":
		return workflow.Reduced, tools.missing()
	}
	return workflow.Full, "a browser was found"
}

// minimalReason returns the text that explains the minimal mode to users: only the exit codes of
// commands are checked. The text also says how many checks are therefore not made.
func minimalReason(checks []Check) string {
	left := 0
	for _, c := range checks {
		if !c.runsIn(workflow.Minimal) {
			left++
		}
	}
	if left == 0 {
		return "exit codes alone"
	}
	return fmt.Sprintf("exit codes alone, %d of %d checks not made", left, len(checks))
}

// summarize counts the checks that passed. If the mode is not full, the summary also contains the
// mode and the reason for it. passed is true if at least one check was made, and all checks that
// were made passed.
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

// verification is the state of [Run].
type verification struct {
	request     Request
	tools       Tools
	out         Outcome
	screenshots int // number of screenshot paths given to checks so far
	server      *server
}

func (v *verification) refuse(err error) {
	for _, c := range v.request.Checks {
		v.add(c, tryResult{problem: err.Error()}, false, 0)
	}
}

func (v *verification) run(ctx context.Context) {
	defer v.endServer()
	for _, c := range v.request.Checks {
		if !c.runsIn(v.out.Mode) {
			continue
		}
		picture := v.pictureFor(c)
		began := time.Now()
		found, retried := v.check(ctx, c, picture)
		v.add(c, found, retried, time.Since(began))
	}
}

// check runs the check c, and runs it a second time if it fails. If the browser cannot be started
// and the request sets no mode, check switches to the reduced mode and runs c again without the
// browser. The mode stays reduced for the remaining checks. A browser that does not start is no
// reason for a failure, because the agent cannot repair it.
func (v *verification) check(ctx context.Context, c Check, picture string) (f tryResult, retried bool) {
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

// pause waits before the second try of a check. It returns false if ctx ends first, because there
// must be no second try then.
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

// tryResult is the result of one try of a check.
type tryResult struct {
	problem   string // empty if the check passed
	output    string
	picture   string // path of the screenshot; empty if none was taken
	noBrowser bool   // the browser could not be started
}

func (f tryResult) ok() bool { return f.problem == "" }

func (v *verification) try(ctx context.Context, c Check, picture string) tryResult {
	if ctx.Err() != nil {
		return tryResult{problem: "stopped before it could be made"}
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

func (v *verification) tryPage(ctx context.Context, c Check, picture string) tryResult {
	c, f := v.serve(ctx, c)
	if !f.ok() {
		return f
	}
	f = tryPage(ctx, c, v.tools.Browser, v.out.Mode == workflow.Full, picture)
	if v.server != nil && !f.ok() {
		f.output += "\nthe server printed:\n" + lastChars(v.server.output.kept.String(), maxOutput/4)
	}
	return f
}

// pictureFor returns the path for the screenshot of a check, or "" if the check takes none.
func (v *verification) pictureFor(c Check) string {
	if !c.Screenshot {
		return ""
	}
	v.screenshots++
	if v.screenshots == 1 {
		return v.request.Screenshot
	}
	ext := filepath.Ext(v.request.Screenshot)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(v.request.Screenshot, ext), v.screenshots, ext)
}

func (v *verification) add(c Check, f tryResult, retried bool, took time.Duration) {
	result, output := workflow.Pass, f.output
	if !f.ok() {
		result, output = workflow.Fail, strings.TrimSpace(f.output)+"\n"+f.problem
	}
	name := c.title()
	v.out.Checks = append(v.out.Checks, workflow.Check{Name: name, Result: result, Retried: retried})
	v.out.Details = append(v.out.Details, Detail{
		Name: name, Output: lastChars(printable(output), maxOutput), Seconds: took.Round(time.Millisecond).Seconds(), Screenshot: f.picture,
	})
	if v.out.Screenshot == "" {
		v.out.Screenshot = f.picture
	}
}
