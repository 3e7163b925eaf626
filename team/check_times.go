package team

import (
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// The functions below report times that are not in RFC 3339, and times that cannot be right because
// other times in the documents or the files' modification times contradict them. Agents often guess
// times and are wrong by minutes or hours.

// clockSkew is how much later than the file's modification time a time in the document may be. A
// file server sets the modification time by its own clock, which may be slow.
const clockSkew = time.Minute

func (c *checker) checkTime(text, at string) {
	t, err := timestamp.Parse(text, time.Local)
	switch {
	case err != nil:
		c.add(statefile.Invalid, at, "bad-timestamp", "%s is not a time; write it as 2026-02-12T17:08:00Z", shorten(text))
	case !timestamp.Strict(text):
		c.add(statefile.Irregular, at, "legacy-timestamp", "%s is not RFC 3339; write it as 2026-02-12T17:08:00Z", shorten(text))
	case !c.written.IsZero() && t.Sub(c.written) > clockSkew:
		c.add(statefile.Irregular, at, "timestamp-ahead", "%s is %s after the file was last written", text, t.Sub(c.written).Round(time.Minute))
	}
}

// written returns the modification time of a file, or the zero time if it is unknown.
func (f *folder) written(path string) time.Time {
	info, err := f.store.opts.Host.Stat(opLook, path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// checkOrder adds a finding for each of v's members end_time and last_update that is before v's
// member start_time.
func (c *checker) checkOrder(v jsontree.Value, at string) {
	for _, name := range []string{"end_time", "last_update"} {
		c.checkAfter(v.Get("start_time"), v.Get(name), join(at, name), "start_time")
	}
}

// checkAfter adds a finding if the time t is earlier than the time reference. It adds none if one
// of the two is not a time. at is the path of t in the document. The parameter name is what the
// finding's text calls reference.
func (c *checker) checkAfter(reference, t jsontree.Value, at, name string) {
	start, err1 := timestamp.Parse(reference.Text(), time.Local)
	later, err2 := timestamp.Parse(t.Text(), time.Local)
	if err1 == nil && err2 == nil && later.Before(start) {
		c.add(statefile.Irregular, at, "timestamp-order", "%s is before %s %s", shorten(t.Text()), name, reference.Text())
	}
}

// checkTimes adds a finding if the last update of pm_state.json, or the start of a group, is before
// the start of the session.
func (f *folder) checkTimes() {
	start := f.values[OrchestratorDoc].Get("start_time")
	const name = "the session's start_time"
	pm := &checker{path: f.store.path(PMStateDoc)}
	pm.checkAfter(start, f.values[PMStateDoc].Get("last_update"), "last_update", name)
	groups := &checker{path: f.store.path(GroupStatusDoc)}
	for id, group := range f.values[GroupStatusDoc].Members() {
		groups.checkAfter(start, group.Get("start_time"), join(id, "start_time"), name)
	}
	f.found = append(append(f.found, pm.found...), groups.found...)
}
