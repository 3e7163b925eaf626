package docview

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"gaffer/internal/flow/spec"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// BuildPicture is the view of a project's build that the page "mission control" shows. A build
// consists of chunks. Each chunk implements some sections of the project's specification.
type BuildPicture struct {
	Found    bool          `json:"found"` // the project's workflow document describes a build
	Ours     bool          `json:"ours"`  // a run of gaffer works or has worked on the build
	Run      string        `json:"run,omitempty"`
	Working  bool          `json:"working"` // a process of gaffer works on the build now
	RunID    string        `json:"runId,omitempty"`
	Status   string        `json:"status,omitempty"`
	Started  time.Time     `json:"started,omitzero"`
	Phase    string        `json:"phase,omitempty"` // the document's field convergencePhase, unchanged
	Chunks   []BuildChunk  `json:"chunks"`
	Progress BuildProgress `json:"progress"`
	Score    *BuildScore   `json:"score,omitempty"`
	Section  *BuildSection `json:"section,omitempty"` // the section of the project's specification that is being worked on
	Context  BuildContext  `json:"context"`
	Feed     []BuildFeed   `json:"feed"`   // the build's latest events, oldest first
	Alerts   []BuildAlert  `json:"alerts"` // alerts that the page shows until they are resolved
	Resume   *BuildResume  `json:"resume,omitempty"`
	Inbox    []BuildItem   `json:"inbox"`
	Next     string        `json:"next,omitempty"` // advice on what to do next, as written in the document
	Command  string        `json:"command,omitempty"`
	Step     string        `json:"step,omitempty"`
	Problems []string      `json:"problems"`
}

// BuildProgress says how far a build is. Current is the number of complete chunks, plus one if a
// chunk is in progress. If the workflow document lists no chunks, Current and Total are the numbers
// that the document states as the build's progress.
type BuildProgress struct {
	Current   int `json:"current"`
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Active    int `json:"active"`
	Failed    int `json:"failed"`
}

// BuildScore counts the scenarios of the project's specification: all of them, and those that the
// result of the build satisfies.
type BuildScore struct {
	Satisfied int `json:"satisfied"`
	Total     int `json:"total"`
}

// BuildSection is a section of the project's specification that a build implements.
type BuildSection struct {
	Alias  string `json:"alias"`
	Number string `json:"number,omitempty"`
	Title  string `json:"title,omitempty"`
}

// BuildContext says how full the context window of a build's agent is.
type BuildContext struct {
	Usage          *float64  `json:"usage,omitempty"` // used part of the context window, in percent; missing if not reported
	Level          string    `json:"level"`           // ok, warning (from 70 %), critical (from 90 %) or unknown
	Isolation      string    `json:"isolation"`
	LastCheckpoint time.Time `json:"lastCheckpoint,omitzero"`
}

// The values of BuildContext.Level.
const (
	contextOK       = "ok"
	contextWarning  = "warning"
	contextCritical = "critical"
	contextUnknown  = "unknown"
)

// Build holds a project's two workflow documents, which are the workflow state and the inbox, as
// they were last read. It is not safe for concurrent use.
type Build struct {
	state, inbox document
}

// SetState stores the result of reading the document with the workflow state. If both data and err
// are nil, the document is treated as missing.
func (b *Build) SetState(data []byte, err error) { b.state.set(data, err) }

// SetInbox stores the result of reading the inbox, which is the document with the user's ideas. If
// both data and err are nil, the document is treated as missing.
func (b *Build) SetInbox(data []byte, err error) { b.inbox.set(data, err) }

// State returns the content of the workflow state document from the last successful read.
func (b *Build) State() jsontree.Value { return b.state.value }

// Picture returns the view of the build. text is the project's specification. now is the current
// time, for texts such as "started 5 minutes ago". Picture does not set the fields Ours, Run and
// Working of the view; the caller must set them.
func (b *Build) Picture(text spec.Spec, now time.Time) BuildPicture {
	state, misread := workflow.Read(b.state.value)
	return fitToMax(func(l limits) BuildPicture {
		p := BuildPicture{
			Chunks: []BuildChunk{}, Inbox: items(b.inbox.value, l), Feed: feed(state, l), Problems: b.problems(misread, l),
			Next: l.cut(state.NextStep), Command: l.cut(string(state.CurrentCommand)), Step: l.cut(string(state.WorkflowStep)),
			Context: contextOf(b.state.value, state),
		}
		p.run(state, text, now, l)
		p.Score, p.Progress, p.Section = scoreOf(b.state.value), progressOf(b.state.value, state), sectionOf(state, text, p.Feed, l)
		p.Alerts = alerts(p, state, l)
		return p
	})
}

// run sets the fields of p that describe the build, for example its status and its chunks. It takes
// them from the field BuildRun of the workflow state.
func (p *BuildPicture) run(state workflow.State, text spec.Spec, now time.Time, l limits) {
	run := state.BuildRun
	if run == nil {
		return
	}
	p.Found, p.RunID, p.Status, p.Phase = true, l.cut(run.RunID), l.cut(string(run.Status)), l.cut(run.ConvergencePhase)
	p.Started = parseTime(run.StartedAt)
	p.Chunks = chunks(*run, l)
	p.Resume = resume(*run, text, now, l)
}

func (b *Build) problems(misread []jsontree.Mismatch, l limits) []string {
	list := []string{}
	for _, d := range []struct{ name, problem string }{{workflow.StateFile, b.state.problem}, {workflow.InboxFile, b.inbox.problem}} {
		if d.problem != "" {
			list = append(list, l.cut(d.name+": "+d.problem))
		}
	}
	for _, m := range misread {
		if len(list) < maxProblems {
			list = append(list, l.cut(workflow.StateFile+": "+m.String()))
		}
	}
	return list
}

// scoreOf returns how many scenarios of the specification exist and are satisfied, according to the
// workflow state. It returns nil if one of these two numbers is missing.
func scoreOf(state jsontree.Value) *BuildScore {
	v := state.Get("scenarioScore")
	satisfied, ok1 := v.Get("satisfied").Int()
	total, ok2 := v.Get("total").Int()
	if !ok1 || !ok2 {
		return nil
	}
	return &BuildScore{int(satisfied), int(total)}
}

// progressOf computes the progress of a build from the statuses of its chunks. If the document
// lists no chunks, progressOf reads the field chunkProgress of the workflow state or, if that is
// missing, of the state's build run.
func progressOf(raw jsontree.Value, state workflow.State) BuildProgress {
	var p BuildProgress
	run := state.BuildRun
	if run != nil {
		now := run.Progress()
		p = BuildProgress{now.Current, now.Total, run.Count(workflow.Completed), run.Count(workflow.Active, workflow.Retrying), run.Count(workflow.Failed)}
	}
	if run != nil && len(run.Chunks) > 0 {
		return p
	}
	said := raw.Get("chunkProgress")
	if run != nil && said.Absent() {
		said = run.ChunkProgress
	}
	if current, total, ok := fraction(said); ok {
		p.Current, p.Total = current, total
	}
	return p
}

// fraction parses a JSON object with the numbers current and total, or a text such as "2/4".
func fraction(v jsontree.Value) (current, total int, ok bool) {
	if text, isText := v.Str(); isText {
		a, b, found := strings.Cut(text, "/")
		n, err1 := strconv.Atoi(strings.TrimSpace(a))
		m, err2 := strconv.Atoi(strings.TrimSpace(b))
		return n, m, found && err1 == nil && err2 == nil
	}
	n, ok1 := v.Get("current").Int()
	m, ok2 := v.Get("total").Int()
	return int(n), int(m), ok1 && ok2
}

// sectionOf returns the section of the specification that the build works on, or nil if it is
// unknown. It returns the first of these that exists:
//   - the active section that the workflow state names
//   - the first section of a chunk that is in progress
//   - the section of the latest event that names one, if the build has not ended
func sectionOf(state workflow.State, text spec.Spec, feed []BuildFeed, l limits) *BuildSection {
	alias := state.ActiveSection
	if alias == "" && state.BuildRun != nil {
		for _, c := range state.BuildRun.Chunks {
			if busy(c.Status) && len(c.Sections) > 0 {
				alias = c.Sections[0]
				break
			}
		}
	}
	for i := len(feed) - 1; i >= 0 && alias == "" && state.BuildRun != nil && !ended(state.BuildRun.Status); i-- {
		alias = feed[i].Section
	}
	if alias == "" {
		return nil
	}
	in, _ := text.Section(alias)
	return &BuildSection{l.cut(alias), l.cut(cmp.Or(state.ActiveSectionNumber, in.Number)), l.cut(in.Title)}
}

func ended(s workflow.RunStatus) bool { return s == workflow.RunCompleted || s == workflow.Partial }

// busy reports whether an agent works on a chunk with this status. Some programs write "running"
// instead of the statuses that the workflow protocol defines.
func busy(s workflow.ChunkStatus) bool {
	return s == workflow.Active || s == workflow.Retrying || s == "running"
}

func contextOf(raw jsontree.Value, state workflow.State) BuildContext {
	usage, known := usageOf(raw.Get("contextState"))
	h := workflow.ContextHealth(workflow.Events(state.BuildEvents), state.BuildRun, usage)
	c := BuildContext{Level: contextUnknown, Isolation: limits{text: 200}.cut(h.Isolation), LastCheckpoint: parseTime(h.LastCheckpoint)}
	if !known {
		return c
	}
	c.Usage = &usage
	switch h.Level {
	case workflow.Red:
		c.Level = contextCritical
	case workflow.Yellow:
		c.Level = contextWarning
	default:
		c.Level = contextOK
	}
	return c
}

// usageOf returns how full a context window is, in percent, or false if v does not contain this
// number. Different programs write it to different fields, and usageOf tries all of them.
func usageOf(v jsontree.Value) (float64, bool) {
	for _, name := range []string{"", "usagePercent", "usedPercentage", "used_percentage", "percentage", "percent", "usage", "approximateUsage"} {
		at := v
		if name != "" {
			at = v.Get(name)
		}
		f, ok := at.Float()
		if text, isText := at.Str(); isText {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "%"), 64)
			f, ok = n, err == nil
		}
		if ok && f >= 0 && f <= 1000 {
			return f, true
		}
	}
	return 0, false
}
