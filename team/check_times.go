package team

import (
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// The functions below report two kinds of times in the team's documents: times that are not in RFC
// 3339, and times that cannot be right because other times in the documents or the files'
// modification times contradict them. Agents often guess times and are wrong by minutes or hours.

// clockSkew is the maximum by which a time inside a document may be later than the modification
// time of the document's file. The two can differ because a file server sets the modification time
// by its own clock, which may be slow.
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

// checkOrder adds a finding if the end_time of the object v is before its start_time, and another
// one if its last_update is.
func (c *checker) checkOrder(v jsontree.Value, at string) {
	for _, name := range []string{"end_time", "last_update"} {
		c.checkAfter(v.Get("start_time"), v.Get(name), join(at, name), "start_time")
	}
}

// checkAfter adds a finding if the time t is earlier than the time in the parameter reference. It
// adds none if one of these two values is not a time. The parameter at is the path of t in the
// document. The parameter name describes the time reference in the text of the finding.
func (c *checker) checkAfter(reference, t jsontree.Value, at, name string) {
	start, err1 := timestamp.Parse(reference.Text(), time.Local)
	later, err2 := timestamp.Parse(t.Text(), time.Local)
	if err1 == nil && err2 == nil && later.Before(start) {
		c.add(statefile.Irregular, at, "timestamp-order", "%s is before %s %s", shorten(t.Text()), name, reference.Text())
	}
}

// checkTimes adds a finding for each of these times that is before the start of the session: the
// last_update in pm_state.json, and the start_time of each group of tasks.
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
