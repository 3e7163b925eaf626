package ledger

import (
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"

	"gaffer/statefile/lazyregexp"
)

// RunLimit is how long the dispatcher of this protocol lets an agent run. A
// run that says "running" for longer was most likely left behind.
const RunLimit = time.Hour

var shellVariable = lazyregexp.New(`\$(\w+|\{\w+\})`)

// wild looks for what readers of ours accept and other programs may not. The
// record was checked by its rules before.
func (c *check) wild(name fileName, now time.Time) {
	if c.values == nil {
		return
	}
	c.identity(name)
	for i, r := range c.kind.rules() {
		if v := c.values[i]; r.path && shellVariable().Match(v.Raw()) {
			c.irregular(r.name, variableInPath, "%s has a variable that was never filled in", shorten(v.Text()))
		}
	}
	c.times()
	c.stuck(now)
}

func (c *check) identity(name fileName) {
	bead, ok := c.get("bead").Str()
	if !ok {
		return
	}
	if bead != "" && !strings.HasPrefix(bead, "bd-") {
		c.irregular("bead", beadNotBD, "%s does not start with bd-", shorten(bead))
	}
	if bead != name.bead {
		c.irregular("bead", beadDiffers, "%s is not the %s of the file's name", shorten(bead), shorten(name.bead))
	}
	if n, ok := c.get("attempt").Int(); ok && name.attempt > 0 && n != int64(name.attempt) {
		c.irregular("attempt", attemptDiffers, "%d is not the %d of the file's name", n, name.attempt)
	}
}

func (c *check) times() {
	started, ok1 := instantOf(c.get("started_at"))
	finished, ok2 := instantOf(c.get("finished_at"))
	if !ok1 || !ok2 {
		return
	}
	between := finished.Sub(started)
	if between < 0 {
		c.irregular("finished_at", endsBeforeStart, "is %s before started_at", -between)
		return
	}
	seconds, ok := c.get("duration_seconds").Float()
	if off := seconds - between.Seconds(); ok && (off >= 1 || off <= -1) {
		c.irregular("duration_seconds", durationDiffers, "is %s where the timestamps say %.0f", c.get("duration_seconds").Raw(), between.Seconds())
	}
}

// stuck names a record that says "running" although nothing can be: a result is
// written when the agent has ended, and a run ends within RunLimit.
func (c *check) stuck(now time.Time) {
	if Status(c.text("status")) != Running {
		return
	}
	started, ok := instantOf(c.get("started_at"))
	switch {
	case c.kind == ResultKind:
		c.irregular("status", stuckRunning, "is \"running\" in the record of an outcome")
	case !c.get("finished_at").Absent():
		c.irregular("status", stuckRunning, "is \"running\" although the run has a finished_at")
	case ok && now.Sub(started) > RunLimit:
		c.irregular("status", stuckRunning, "is \"running\" since %s", timestamp.Format(started))
	}
}

// instantOf reads a time in any form found in the wild; one without a zone is
// UTC, as the protocol's writers mean it.
func instantOf(v jsontree.Value) (time.Time, bool) {
	s, ok := v.Str()
	if !ok {
		return time.Time{}, false
	}
	t, err := timestamp.Parse(s, time.UTC)
	return t, err == nil
}

// timeOf is like instantOf for a text; what is no time is the zero time.
func timeOf(s string) time.Time {
	t, err := timestamp.Parse(s, time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}
