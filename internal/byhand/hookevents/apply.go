package hookevents

import (
	"cmp"
	"slices"
	"time"

	"gaffer/internal/byhand/agentproc"
)

// Action is what the caller of [Apply] must do because of an event.
type Action struct {
	Kind ActionKind
	// Text depends on Kind. For NotifyLoop and AskUser it is a message for the user. For
	// NotifyContext it says what has started the compaction of the agent's context: auto or manual.
	// For Withdraw it is the id of gaffer's question to the user.
	Text string
}

// ActionKind is the kind of an action.
type ActionKind int

// The kinds of actions.
const (
	RecordWrittenFiles ActionKind = iota // record the files that a tool may have written
	NotifyLoop                           // notify the user that the agent repeats the same action
	NotifyContext                        // notify the user that the agent's context is about to be compacted
	AskUser                              // ask the user, because the agent cannot continue without a decision
	Withdraw                             // withdraw gaffer's question to the user, because the answer is no longer needed
)

// handlers maps the name of an event to its handler. Events without a handler are ignored. An
// example is PreCompress, which Gemini sends in every turn.
var handlers = map[string]func(*Session, Event, time.Time) []Action{
	"SessionStart": sessionStarted,

	"UserPromptSubmit": promptSubmitted, "BeforeAgent": promptSubmitted,
	"PreToolUse": toolStarted, "BeforeTool": toolStarted,
	"PermissionRequest": permissionRequested,
	"PostToolUse":       toolSucceeded, "AfterTool": toolSucceeded,
	"PostToolUseFailure": toolFailed,
	"Notification":       notificationShown,
	"SubagentStart":      subagentStarted, "SubagentStop": subagentStopped,
	"PreCompact": compactionStarted, "PostCompact": compactionEnded,

	"Stop": turnEnded, "AfterAgent": turnEnded, "agent-turn-complete": turnEnded,
	"StopFailure": turnFailed,
	"Interrupt":   interrupted,
	"SessionEnd":  sessionEnded,
}

// Apply applies an event to a session. It returns the new session, and the actions that the caller
// must perform because of the event. For the first event of a session, the parameter s is the zero
// Session. Apply ignores an event that has no handler or names no session. It also ignores
// agent-turn-complete if that is the first event, because Codex sends it even for internal threads,
// whose start it does not report. If the result is the zero Session, the caller must not store it.
func Apply(s Session, e Event, now time.Time) (Session, []Action) {
	handle := handlers[e.Name]
	if handle == nil || e.Session == "" || !s.known() && e.Name == "agent-turn-complete" {
		return s, nil
	}
	s.Asked, s.Repeats = slices.Clone(s.Asked), slices.Clone(s.Repeats)
	if !s.known() {
		s.Program, s.Session = e.Program, e.Session
		s.setStatus(Idle, now)
	}
	s.Dir, s.Transcript, s.Model = cmp.Or(e.Dir, s.Dir), cmp.Or(e.Transcript, s.Transcript), cmp.Or(e.Model, s.Model)
	s.Event, s.At, s.Ended = e.Name, now, false
	before := s.open()
	actions := handle(&s, e, now)
	if len(s.Asked) == 0 && s.Status == Waiting {
		s.setStatus(Running, now)
	}
	for _, id := range before {
		if !slices.Contains(s.open(), id) {
			actions = append(actions, Action{Withdraw, id})
		}
	}
	return s, actions
}

// sessionStarted handles the start of a session, or its continuation after a resume or after a
// compaction of the agent's context. The session becomes idle, except in two cases:
//   - The event follows an automatic compaction. Such a compaction happens in the middle of a turn,
//     so the status does not change.
//   - The program is Codex, the session is already running, and the event does not follow a resume.
//     Codex reports the start only with the first prompt or after it, so the session stays running.
func sessionStarted(s *Session, e Event, now time.Time) []Action {
	switch {
	case e.Kind == "compact":
		return compactionEnded(s, e, now)
	case e.Program == agentproc.Codex && s.Status == Running && e.Kind != "resume":
		return nil
	}
	s.setIdle(now)
	s.Error, s.Helpers, s.Repeats, s.Loop, s.Doing = "", 0, nil, "", ""
	return nil
}

// setIdle sets the status to idle. It removes all decisions for which the session waits, and marks
// a running compaction of the context as ended.
func (s *Session) setIdle(now time.Time) {
	s.Asked, s.Compacting = nil, ""
	s.setStatus(Idle, now)
}

func promptSubmitted(s *Session, _ Event, now time.Time) []Action {
	s.Asked, s.Error, s.Helpers, s.Compacting = nil, "", 0, ""
	s.Repeats, s.Loop, s.Doing = nil, "", ""
	s.setStatus(Running, now)
	return nil
}

// toolStarted handles the start of a tool call. It also removes the same agent's earlier permission
// requests from the decisions for which the session waits. These requests are considered refused,
// because the agent continues with another call.
func toolStarted(s *Session, e Event, now time.Time) []Action {
	s.removeAsked(func(a PendingDecision) bool { return a.Agent == e.Agent })
	s.Doing = describeCall(e.Tool, e.Doing)
	s.setRunning(now)
	return nil
}

// setRunning sets the status to running, unless the session waits for the user.
func (s *Session) setRunning(now time.Time) {
	if len(s.Asked) == 0 {
		s.setStatus(Running, now)
	}
}

func (s *Session) removeAsked(is func(PendingDecision) bool) {
	s.Asked = slices.DeleteFunc(s.Asked, is)
}

func permissionRequested(s *Session, e Event, now time.Time) []Action {
	s.waitFor(PendingDecision{Agent: e.Agent, Tool: e.Tool, What: e.Doing}, now)
	return []Action{{Kind: AskUser, Text: s.WaitsFor()}}
}

func (s *Session) waitFor(a PendingDecision, now time.Time) {
	const limit = 16
	if len(s.Asked) < limit {
		s.Asked = append(s.Asked, a)
	}
	s.setStatus(Waiting, now)
}

func toolSucceeded(s *Session, e Event, now time.Time) []Action { return s.toolEnded(e, false, now) }

// toolFailed handles a failed tool call. If the call failed because the user has interrupted the
// agent, the agent's turn has also ended, so the session becomes idle.
func toolFailed(s *Session, e Event, now time.Time) []Action {
	actions := s.toolEnded(e, !e.Interrupt, now)
	if e.Interrupt {
		s.setIdle(now)
	}
	return actions
}

// toolEnded handles the end of a tool call, which succeeded or failed.
func (s *Session) toolEnded(e Event, failed bool, now time.Time) []Action {
	s.removeAsked(func(a PendingDecision) bool { return a.Agent == e.Agent && (a.Tool == e.Tool || a.Tool == "") })
	s.setRunning(now)
	return append([]Action{{Kind: RecordWrittenFiles}}, s.countRepeats(e, failed)...)
}

// notificationShown handles a notification that an agent program shows to the user. If the program
// asks for a decision and no other decision is pending, the status becomes waiting. If the
// notification is Claude's idle_prompt and no subagents are running, the status becomes idle.
// Claude reports a notification late. So if the user has pressed Esc in the meantime, gaffer may
// show the session as waiting until the next event.
func notificationShown(s *Session, e Event, now time.Time) []Action {
	switch e.Kind {
	case "permission_prompt", "ToolPermission", "elicitation_dialog", "agent_needs_input", "worker_permission_prompt":
		if len(s.Asked) == 0 {
			s.waitFor(PendingDecision{What: e.Message}, now)
		}
	case "idle_prompt":
		if s.Helpers == 0 {
			s.setIdle(now)
		}
	}
	return nil
}

func subagentStarted(s *Session, _ Event, now time.Time) []Action {
	if s.Compacting == "" {
		s.setRunning(now)
	}
	return nil
}

// subagentStopped handles the end of a subagent. While the main agent runs, the session does not
// become idle. If the main agent has already stopped, the session becomes idle when its last
// subagent ends.
func subagentStopped(s *Session, e Event, now time.Time) []Action {
	s.removeAsked(func(a PendingDecision) bool { return a.Agent != "" && a.Agent == e.Agent })
	if s.Helpers > 0 {
		if s.Helpers--; s.Helpers == 0 && len(s.Asked) == 0 {
			s.setStatus(Idle, now)
		}
	}
	return nil
}

func compactionStarted(s *Session, e Event, now time.Time) []Action {
	s.Compacting = cmp.Or(e.Kind, "auto")
	s.setRunning(now)
	return []Action{{Kind: NotifyContext, Text: s.Compacting}}
}

// compactionEnded handles the end of a compaction of the agent's context. If the user requested the
// compaction, the session becomes idle. An automatic compaction happens in the middle of a turn, so
// the status stays the same.
func compactionEnded(s *Session, e Event, now time.Time) []Action {
	by := cmp.Or(s.Compacting, "auto")
	if e.Name == "PostCompact" {
		by = cmp.Or(e.Kind, by)
	}
	if s.Compacting = ""; by == "manual" {
		s.setIdle(now)
	}
	return nil
}

func turnEnded(s *Session, e Event, now time.Time) []Action {
	s.setIdle(now)
	s.Error, s.Helpers, s.Doing = "", e.Working, e.Message
	if s.Helpers > 0 {
		s.setStatus(Running, now)
	}
	return nil
}

// turnFailed handles a turn of the agent that ended with an error of the language model or its API.
func turnFailed(s *Session, e Event, now time.Time) []Action {
	s.setIdle(now)
	s.Error, s.Helpers = cmp.Or(e.Error, "unknown error"), 0
	if e.Message != "" {
		s.Error += ": " + e.Message
	}
	return nil
}

func interrupted(s *Session, _ Event, now time.Time) []Action {
	s.setIdle(now)
	s.Helpers = 0
	return nil
}

// sessionEnded handles the end of a session. The process of the session may still be running,
// because one process can have several sessions, one after the other.
func sessionEnded(s *Session, _ Event, now time.Time) []Action {
	s.setIdle(now)
	s.Helpers, s.Ended = 0, true
	return nil
}
