package ledger

import (
	"strings"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
)

// repair adds missing fields to one run or result record, if their values can be derived from other
// data. changed lists the fields that were set.
type repair struct {
	root *jsontree.Node
	// partner is the other record of the same attempt. If root is a run record, partner is the
	// result record, and vice versa. It is zero if there is no such record.
	partner jsontree.Value
	changed []string
}

func (r *repair) set(field string, v any) {
	r.root.Set(field, v)
	r.changed = append(r.changed, field)
}

// add sets a field to v if it is missing.
func (r *repair) add(field string, v any) {
	if r.root.Get(field).Kind() == jsontree.Missing {
		r.set(field, v)
	}
}

// addText sets a field, if it is missing, to the first of the texts that is not empty.
func (r *repair) addText(field string, texts ...string) {
	for _, t := range texts {
		if t != "" {
			r.add(field, t)
		}
	}
}

// addFrom sets a field, if it is missing, to its value in r.partner, the other record of the same
// attempt. If that record lacks the field too, addFrom sets the field to v.
func (r *repair) addFrom(field string, v any) {
	if theirs := r.partner.Get(field); theirs.Kind() != jsontree.Missing {
		v = theirs
	}
	r.add(field, v)
}

// run adds missing fields to a run record: those that a record with a schema_version must have and
// whose values can be derived. If the record has no status, and the attempt has no result record,
// the status becomes "running", as if the attempt had just started.
func (r *repair) run(resultFile string) {
	bead := r.root.Get("bead").Text()
	r.add("schema_version", Version)
	r.end()
	r.addFrom("status", Running)
	r.addFrom("finished_at", nil)
	r.addFrom("exit_code", nil)
	r.duration()
	r.prompt()
	r.addFrom("max_retries", DefaultMaxRetries)
	r.addFrom("session_name", sessionName(bead))
	r.addText("result_file", resultFile)
}

// end copies the outcome of the attempt from the result record to the run record, if the run record
// lacks it, for example because [Store.Finish] was interrupted. It does not copy the output summary
// and the verification. It does nothing if there is no result record, or if the result record lacks
// a final status or an end time.
func (r *repair) end() {
	var result Result
	jsontree.Decode(r.partner, &result)
	// A run record without a status counts as running. Only records without a schema_version may
	// lack the status.
	said := r.root.Get("status")
	if !said.Absent() && Status(said.Text()) != Running || checkTransition("", Running, result.Status) != nil || result.FinishedAt == "" {
		return
	}
	r.set("status", result.Status)
	for _, field := range []string{"finished_at", "duration_seconds", "exit_code"} {
		if v := r.partner.Get(field); v.Kind() != jsontree.Missing && r.root.Get(field).Absent() {
			r.set(field, v)
		}
	}
	if result.Status != Done && result.Reason != "" && r.root.Get("failure_reason").Absent() {
		r.set("failure_reason", result.Reason)
	}
}

// duration sets the duration if it is missing or null. It uses the duration in r.partner, the other
// record of the same attempt, or else the difference between the start time and the end time. If
// both are unknown, a missing duration becomes null.
func (r *repair) duration() {
	if theirs := r.partner.Get("duration_seconds"); r.root.Get("duration_seconds").Absent() && !theirs.Absent() {
		r.set("duration_seconds", theirs)
	}
	if r.root.Get("duration_seconds").Absent() {
		from, to := r.root.Get("started_at").Text(), r.root.Get("finished_at").Text()
		if n := seconds(from, to); n != nil {
			r.set("duration_seconds", *n)
		}
	}
	r.add("duration_seconds", nil)
}

// prompt sets the field prompt_full if it is missing and the field prompt is so short that it was
// not cut. It sets the hash of the prompt if prompt_full is known and the record has no valid hash.
func (r *repair) prompt() {
	excerpt, ok := r.root.Get("prompt").Str()
	if ok && utf8.RuneCountInString(excerpt) < excerptLength {
		r.add("prompt_full", excerpt)
	}
	whole, ok := r.root.Get("prompt_full").Str()
	if ok && !isHash(r.root.Get("prompt_hash").Text()) {
		r.set("prompt_hash", Hash(whole))
	}
}

// result adds missing fields to a result record: those that a record with a schema_version must
// have and whose values can be derived. followed says whether a later attempt of the task is
// recorded.
func (r *repair) result(followed bool) {
	bead := r.root.Get("bead").Text()
	r.add("schema_version", Version)
	r.addText("agent", r.partner.Get("agent").Text())
	r.addText("reason", r.partner.Get("failure_reason").Text(), r.root.Get("status").Text())
	r.addText("started_at", r.partner.Get("started_at").Text())
	r.duration()
	r.addFrom("max_retries", DefaultMaxRetries)
	r.add("will_retry", followed)
	r.addFrom("exit_code", nil)
	r.addText("session_name", r.partner.Get("session_name").Text(), sessionName(bead))
}

// unrepaired returns the text that says why a missing field could not be derived.
func unrepaired(field string) string {
	switch field {
	case "prompt_full":
		return "is missing, and prompt may have been cut off at 200 characters"
	case "agent", "started_at":
		return "is missing, and no run record of the attempt says it"
	}
	return "is missing and cannot be derived"
}

// reasons returns, as one text, the reasons why a repaired record is still invalid.
func reasons(c *check) string {
	var texts []string
	for _, f := range onlyInvalid(c.found) {
		text := f.Text
		if f.Name == missingField {
			text = unrepaired(f.At)
		}
		if f.At != "" {
			text = f.At + " " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
