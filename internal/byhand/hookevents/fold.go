package hookevents

import (
	"cmp"
	"slices"
	"time"

	"gaffer/internal/byhand/agentproc"
)

// Deed is something to be done because of an event.
type Deed struct {
	Kind DeedKind
	Text string // for a person
}

// DeedKind is what is to be done.
type DeedKind int

// The deeds.
const (
	NoteWritten DeedKind = iota // a tool has run that may have written files
	NoteLoop                    // the agent does the same again and again
	NoteContext                 // its context is about to be compacted
	AskPerson                   // it may not go on without one
	Withdraw                    // nobody waits for the answer to a question any more; its id is the text
)

// handlers says what each event means. An event that is not listed, such as
// Gemini's PreCompress, which comes with every turn, says nothing.
var handlers = map[string]func(*Session, Event, time.Time) []Deed{
	"SessionStart": start,

	"UserPromptSubmit": prompt, "BeforeAgent": prompt,
	"PreToolUse": before, "BeforeTool": before,
	"PermissionRequest": ask,
	"PostToolUse":       after, "AfterTool": after,
	"PostToolUseFailure": fail,
	"Notification":       notice,
	"SubagentStart":      helperBegan, "SubagentStop": helperEnded,
	"PreCompact": compact, "PostCompact": compacted,

	"Stop": stop, "AfterAgent": stop, "agent-turn-complete": stop,
	"StopFailure": breakOff,
	"Interrupt":   interrupt,
	"SessionEnd":  end,
}

// Fold returns what a session has come to with an event, and what is to be done
// about it. A session that was not heard of is the zero one. If it is that still,
// there is nothing to keep: Codex also tells of threads of its own, which no
// hook has begun.
func Fold(s Session, e Event, now time.Time) (Session, []Deed) {
	handle := handlers[e.Name]
	if handle == nil || e.Session == "" || !s.known() && e.Name == "agent-turn-complete" {
		return s, nil
	}
	s.Asked, s.Trails = slices.Clone(s.Asked), slices.Clone(s.Trails)
	if !s.known() {
		s.Program, s.Session = e.Program, e.Session
		s.become(Idle, now)
	}
	s.Dir, s.Transcript, s.Model = cmp.Or(e.Dir, s.Dir), cmp.Or(e.Transcript, s.Transcript), cmp.Or(e.Model, s.Model)
	s.Event, s.At, s.Ended = e.Name, now, false
	before := s.open()
	deeds := handle(&s, e, now)
	if len(s.Asked) == 0 && s.Status == Waiting {
		s.become(Running, now)
	}
	for _, id := range before {
		if !slices.Contains(s.open(), id) {
			deeds = append(deeds, Deed{Withdraw, id})
		}
	}
	return s, deeds
}

// start is the beginning of a session, or that it goes on in another way. A
// session whose context was compacted because it was full is in the middle of a
// turn. Codex says it late, with the first prompt, and perhaps after it.
func start(s *Session, e Event, now time.Time) []Deed {
	switch {
	case e.Kind == "compact":
		return compacted(s, e, now)
	case e.Program == agentproc.Codex && s.Status == Running && e.Kind != "resume":
		return nil
	}
	s.rest(now)
	s.Error, s.Helpers, s.Trails, s.Loop = "", 0, nil, ""
	return nil
}

// rest is that nothing goes on and nobody is asked.
func (s *Session) rest(now time.Time) {
	s.Asked, s.Compacting = nil, ""
	s.become(Idle, now)
}

func prompt(s *Session, _ Event, now time.Time) []Deed {
	s.Asked, s.Error, s.Helpers, s.Compacting = nil, "", 0, ""
	s.Trails, s.Loop = nil, ""
	s.become(Running, now)
	return nil
}

// before also ends what the same agent has asked for: it was refused and goes
// on with something else.
func before(s *Session, e Event, now time.Time) []Deed {
	s.answered(func(a Asked) bool { return a.Agent == e.Agent })
	s.work(now)
	return nil
}

// work is that something goes on, though a person may still be waited for.
func (s *Session) work(now time.Time) {
	if len(s.Asked) == 0 {
		s.become(Running, now)
	}
}

func (s *Session) answered(is func(Asked) bool) { s.Asked = slices.DeleteFunc(s.Asked, is) }

func ask(s *Session, e Event, now time.Time) []Deed {
	s.waitFor(Asked{Agent: e.Agent, Tool: e.Tool, What: e.Doing}, now)
	return []Deed{{Kind: AskPerson, Text: s.For()}}
}

func (s *Session) waitFor(a Asked, now time.Time) {
	const most = 16
	if len(s.Asked) < most {
		s.Asked = append(s.Asked, a)
	}
	s.become(Waiting, now)
}

func after(s *Session, e Event, now time.Time) []Deed { return s.done(e, false, now) }

// fail is a tool that did not do what it should. One that a person has
// interrupted ends the turn.
func fail(s *Session, e Event, now time.Time) []Deed {
	deeds := s.done(e, !e.Interrupt, now)
	if e.Interrupt {
		s.rest(now)
	}
	return deeds
}

// done is that a tool has run.
func (s *Session) done(e Event, failed bool, now time.Time) []Deed {
	s.answered(func(a Asked) bool { return a.Agent == e.Agent && (a.Tool == e.Tool || a.Tool == "") })
	s.work(now)
	return append([]Deed{{Kind: NoteWritten}}, s.follow(e, failed)...)
}

// notice is what the program tells a person who looks elsewhere. Claude says so
// late, and after what Esc has ended too.
func notice(s *Session, e Event, now time.Time) []Deed {
	switch e.Kind {
	case "permission_prompt", "ToolPermission", "elicitation_dialog", "agent_needs_input", "worker_permission_prompt":
		if len(s.Asked) == 0 {
			s.waitFor(Asked{What: e.Message}, now)
		}
	case "idle_prompt":
		if s.Helpers == 0 {
			s.rest(now)
		}
	}
	return nil
}

func helperBegan(s *Session, _ Event, now time.Time) []Deed {
	if s.Compacting == "" {
		s.work(now)
	}
	return nil
}

// helperEnded is no stop: whoever has started the helper goes on. If that has
// stopped before, it goes on when the program tells it so.
func helperEnded(s *Session, e Event, now time.Time) []Deed {
	s.answered(func(a Asked) bool { return a.Agent != "" && a.Agent == e.Agent })
	if s.Helpers > 0 {
		if s.Helpers--; s.Helpers == 0 && len(s.Asked) == 0 {
			s.become(Idle, now)
		}
	}
	return nil
}

func compact(s *Session, e Event, now time.Time) []Deed {
	s.Compacting = cmp.Or(e.Kind, "auto")
	s.work(now)
	return []Deed{{Kind: NoteContext, Text: s.Compacting}}
}

// compacted ends what a person has asked for, and is nothing in the middle of a
// turn.
func compacted(s *Session, e Event, now time.Time) []Deed {
	by := cmp.Or(s.Compacting, "auto")
	if e.Name == "PostCompact" {
		by = cmp.Or(e.Kind, by)
	}
	if s.Compacting = ""; by == "manual" {
		s.rest(now)
	}
	return nil
}

func stop(s *Session, e Event, now time.Time) []Deed {
	s.rest(now)
	s.Error, s.Helpers = "", e.Working
	if s.Helpers > 0 {
		s.become(Running, now)
	}
	return nil
}

// breakOff is a turn that the model's side has ended.
func breakOff(s *Session, e Event, now time.Time) []Deed {
	s.rest(now)
	s.Error, s.Helpers = cmp.Or(e.Error, "unknown error"), 0
	if e.Message != "" {
		s.Error += ": " + e.Message
	}
	return nil
}

func interrupt(s *Session, _ Event, now time.Time) []Deed {
	s.rest(now)
	s.Helpers = 0
	return nil
}

// end is that of a session. Its process may go on with another one.
func end(s *Session, _ Event, now time.Time) []Deed {
	s.rest(now)
	s.Helpers, s.Ended = 0, true
	return nil
}
