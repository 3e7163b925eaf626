package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"

	"gaffer/statefile/lazyregexp"
)

// RunLimit is how long the run record of an attempt may say "running". After this time, the attempt
// counts as stuck: it was probably abandoned.
const RunLimit = time.Hour

var shellVariable = lazyregexp.New(`\$(\w+|\{\w+\})`)

// irregularities adds findings for content that gaffer accepts but other programs may not accept.
// The caller must have already checked each field against its rule in [Kind.rules]. If the file
// could not be read as a record, irregularities does nothing.
func (c *check) irregularities(name fileName, now time.Time) {
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

// plausibility adds findings for content that obeys the rule of each field but makes no sense:
// numbers that are too large, and fields that contradict each other. The caller must have already
// checked each field against its rule in [Kind.rules].
func (c *check) plausibility() {
	if c.values == nil {
		return
	}
	for i, r := range c.kind.rules() {
		v := c.values[i]
		if r.form != aNumber || v.Kind() != jsontree.Number {
			continue
		}
		bits := 32
		if r.least == anyNumber {
			// Only exit codes have no lower limit. On some systems, an exit code is an unsigned
			// 32-bit number, which may not fit into a signed 32-bit number. So allow more bits.
			bits = 53
		}
		if digits, whole := wholeNumber(v.Raw()); whole {
			if _, err := strconv.ParseInt(digits, 10, bits); err != nil {
				c.invalid(r.name, tooLarge, "%s does not fit into %d bits", shorten(string(v.Raw())), bits)
			}
		}
	}
	whole, known := c.get("prompt_full").Str()
	excerpt, ok := c.get("prompt").Str()
	switch {
	case known && ok && Excerpt(whole) != excerpt:
		c.irregular("prompt", promptDiffers, "is not how prompt_full begins")
	case !known && ok && utf8.RuneCountInString(excerpt) < excerptLength:
		whole, known = excerpt, true // the excerpt is shorter than the limit, so it is the whole prompt
	}
	if hash := c.text("prompt_hash"); known && isHash(hash) && hash != Hash(whole) {
		c.invalid("prompt_hash", hashDiffers, "is not the SHA-256 of the prompt, which is %s", Hash(whole))
	}
	status, exit := Status(c.text("status")), c.get("exit_code")
	code, isCode := intOf(exit)
	ended := slices.Contains(nextStatuses[Running], status)
	switch {
	case status == Done && isCode && code != 0:
		c.invalid("exit_code", doneWithError, "is %d although the status is \"done\"", code)
	case status == Running && isCode:
		c.irregular("exit_code", exitWhileRunning, "is %d although the status is \"running\"", code)
	}
	if end := c.get("finished_at"); ended && end.Kind() == jsontree.Null {
		c.irregular("finished_at", endWithoutTime, "is null although the status is %q", status)
	}
	if again, _ := c.get("will_retry").Bool(); again && status == Done {
		c.invalid("will_retry", retryAfterDone, "is true although the status is \"done\"")
	}
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
	if n, ok := intOf(c.get("attempt")); ok && name.attempt > 0 && n != int64(name.attempt) {
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
	// The recorded duration may be up to 1 s longer than the difference of the timestamps, because
	// a duration of less than a second is recorded as 1 s.
	if off := seconds - between.Seconds(); ok && (off > 1 || off <= -1) {
		c.irregular("duration_seconds", durationDiffers, "is %s where the timestamps say %.0f", c.get("duration_seconds").Raw(), between.Seconds())
	}
}

// stuck adds a finding if the record says "running" although the attempt has ended or was probably
// abandoned. There are three such cases: the record is a result record, which is written only after
// the agent has ended; the record has an end time; or the attempt began more than RunLimit ago.
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

// instantOf returns the time in v, or false if v is not a time. It accepts every format that
// timestamp.Parse knows. A time without a zone is taken as UTC.
func instantOf(v jsontree.Value) (time.Time, bool) {
	s, ok := v.Str()
	if !ok {
		return time.Time{}, false
	}
	t, err := timestamp.Parse(s, time.UTC)
	return t, err == nil
}

// timeOf returns the time in s, or the zero time if s is not a time. It accepts every format that
// timestamp.Parse knows. A time without a zone is taken as UTC.
func timeOf(s string) time.Time {
	t, err := timestamp.Parse(s, time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}
