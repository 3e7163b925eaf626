package discover

import (
	"cmp"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// sourceStatus is an agent's status according to one source, such as the hooks or the title of the
// agent's tmux pane.
type sourceStatus struct {
	status   hookevents.Status
	source   Source
	since    time.Time
	waitsFor string // what the agent waits for; empty if it does not wait
	err      string
}

// Judge returns the state of an agent. It asks several sources for the status, for example the
// hooks and the title of the agent's tmux pane, and uses the first source that knows the status.
// The most reliable source comes first, even if another source has newer information. Judge skips a
// source that is certainly out of date: one that is about another process, or that another source
// contradicts.
//
// Judge returns false if the agent is gone, in two cases:
//   - The agent's process has ended.
//   - It is unknown whether the process is alive, and the session has ended or has had no event for
//     an hour.
func Judge(e Evidence, now time.Time) (Agent, bool) {
	if e.Alive == host.Dead || e.Alive == host.Unknown && !isRecent(e.Hook, now) {
		return Agent{}, false
	}
	w := e.judge(now)
	if e.Stopped {
		w.status, w.source, w.waitsFor = hookevents.Idle, FromProcess, "stopped by a signal"
	}
	return e.agent(w), true
}

// forgetAfter is how long a session without a known process is considered alive after its last
// event.
const forgetAfter = time.Hour

func isRecent(s *hookevents.Session, now time.Time) bool {
	return s != nil && !s.Ended && now.Sub(s.At) < forgetAfter
}

// judge asks the sources for the agent's status, the most reliable source first, and returns the
// first status that it gets. If no source knows the status, judge returns idle with the source
// FromProcess, because only the process is known.
func (e Evidence) judge(now time.Time) sourceStatus {
	for _, ask := range e.sources() {
		if w, ok := ask(now); ok {
			return w
		}
	}
	return sourceStatus{status: hookevents.Idle, source: FromProcess}
}

func (e Evidence) sources() []func(time.Time) (sourceStatus, bool) {
	switch e.Program {
	case agentproc.Claude:
		return []func(time.Time) (sourceStatus, bool){e.fromFile, e.fromHook, e.fromClaudeTitle, e.fromScreen}
	case agentproc.Codex:
		return []func(time.Time) (sourceStatus, bool){e.fromTitle, e.fromRollout, e.fromHook, e.fromScreen}
	}
	return []func(time.Time) (sourceStatus, bool){e.fromTitle, e.fromHook, e.fromScreen}
}

// knownWithoutScreen reports whether the agent's status is known from sources other than the text
// in the agent's tmux pane.
func (e Evidence) knownWithoutScreen(now time.Time) bool {
	e.Screen = ""
	return e.judge(now).source != FromProcess
}

// needsTitle reports whether the title of the agent's pane can change the agent's status.
func (e Evidence) needsTitle(now time.Time) bool {
	if e.Program != agentproc.Claude {
		return true
	}
	_, ok := e.fromFile(now)
	return !ok
}

// fromFile returns the status in Claude's session file. It ignores a file of an earlier process
// that had the same pid and was killed before it could delete the file.
func (e Evidence) fromFile(time.Time) (sourceStatus, bool) {
	n := e.File
	if n == nil || n.Start != 0 && e.Process.Start != 0 && n.Start != e.Process.Start {
		return sourceStatus{}, false
	}
	w := sourceStatus{source: FromFile, since: n.Since}
	switch n.Status {
	case "idle":
		w.status, w.err = hookevents.Idle, e.hookError()
	case "busy":
		w.status = hookevents.Running
	case "waiting":
		w.status, w.waitsFor = hookevents.Waiting, cmp.Or(e.hookFor(), n.For)
	default:
		return sourceStatus{}, false
	}
	return w, true
}

// hookError returns the error with which the agent's last turn ended according to the hooks. It
// returns "" if the turn ended without an error, or if the hooks do not show that it has ended.
func (e Evidence) hookError() string {
	if e.Hook == nil || e.Hook.Status != hookevents.Idle || e.otherSession() {
		return ""
	}
	return e.Hook.Error
}

// hookFor returns what the agent waits for according to the hooks. It returns "" if the agent does
// not wait according to them.
func (e Evidence) hookFor() string {
	if e.Hook == nil || e.Hook.Status != hookevents.Waiting || e.otherSession() {
		return ""
	}
	return e.Hook.WaitsFor()
}

// otherSession reports whether the hook events are about an earlier session of the same process.
// e.Hook must not be nil.
func (e Evidence) otherSession() bool {
	return e.File != nil && e.File.Session != "" && e.File.Session != e.Hook.Session
}

// titleDelay is how long after a hook event the title of the agent's tmux pane may still show the
// earlier status.
const titleDelay = 3 * time.Second

// fromHook returns the status according to the hooks. The hooks miss some events: for example,
// pressing Esc in Claude triggers no hook. So fromHook compares Claude's status with the title of
// Claude's tmux pane, if the status is running or waiting and the last event is older than
// titleDelay. If the title contradicts the status, fromHook returns the status that the title
// shows.
func (e Evidence) fromHook(now time.Time) (sourceStatus, bool) {
	s := e.Hook
	if s == nil || s.Ended {
		return sourceStatus{}, false
	}
	w := sourceStatus{status: s.Status, source: FromHook, since: s.Since, waitsFor: s.WaitsFor(), err: s.Error}
	if e.Program != agentproc.Claude || now.Sub(s.At) < titleDelay || s.Status == hookevents.Idle {
		return w, true
	}
	running, ok := e.Title.claudeStatus()
	switch {
	case ok && s.Status == hookevents.Running && !running:
		return sourceStatus{status: hookevents.Idle, source: FromTitle}, true
	case ok && s.Status == hookevents.Waiting && running:
		return sourceStatus{status: hookevents.Running, source: FromTitle}, true
	}
	return w, true
}

func (e Evidence) fromTitle(time.Time) (sourceStatus, bool) {
	status, ok := e.Title.status(e.Program, e.Dir)
	if !ok {
		return sourceStatus{}, false
	}
	w := sourceStatus{status: status, source: FromTitle}
	switch status {
	case hookevents.Waiting:
		w.waitsFor = cmp.Or(e.hookFor(), "action required")
	case hookevents.Idle:
		w.err = e.hookError()
		if e.Rollout != nil && e.Rollout.Status == hookevents.Idle {
			w.err, w.since = e.Rollout.Error, e.Rollout.Since
		}
	}
	return w, true
}

// fromClaudeTitle returns the status running if Claude's title shows that Claude is running.
// Otherwise it returns false.
func (e Evidence) fromClaudeTitle(time.Time) (sourceStatus, bool) {
	running, _ := e.Title.claudeStatus()
	return sourceStatus{status: hookevents.Running, source: FromTitle}, running
}

// fromRollout returns the status according to Codex's log of the thread. The log never shows that
// Codex waits for the user. So if a hook has reported since the start of Codex's current turn that
// Codex waits, fromRollout returns the status according to the hooks.
func (e Evidence) fromRollout(now time.Time) (sourceStatus, bool) {
	r := e.Rollout
	if r == nil || r.Status == "" {
		return sourceStatus{}, false
	}
	if s := e.Hook; r.Status == hookevents.Running && s != nil && s.Status == hookevents.Waiting && !s.Since.Before(r.Since) {
		return e.fromHook(now)
	}
	return sourceStatus{status: r.Status, source: FromRollout, since: r.Since, err: r.Error}, true
}

// agent returns an Agent with the status in w. The values of the other fields come from the
// evidence.
func (e Evidence) agent(w sourceStatus) Agent {
	s := Agent{
		Program: e.Program, Dir: e.Dir, PID: e.Process.PID, Pane: e.Pane,
		Status: w.status, Source: w.source, Since: w.since, For: w.waitsFor, Error: w.err,
	}
	if h := e.Hook; h != nil {
		s.Session, s.Model, s.Loop = h.Session, h.Model, h.Loop
		if !e.otherSession() {
			s.Doing = h.Doing
		}
		s.Dir = cmp.Or(s.Dir, h.Dir)
	}
	if e.File != nil && w.source == FromFile {
		s.Session, s.Dir = cmp.Or(e.File.Session, s.Session), cmp.Or(s.Dir, e.File.Dir)
	}
	if r := e.Rollout; r != nil {
		s.Session = cmp.Or(s.Session, r.Thread)
		if r.Context > 0 && r.Tokens > 0 {
			s.Context = min(100, float64(r.Tokens)*100/float64(r.Context))
		}
	}
	s.ID, s.Name = hookevents.WorkerID(e.Program, e.Process, s.Session), hookevents.WorkerName(e.Program, e.Process, s.Session)
	return s
}
