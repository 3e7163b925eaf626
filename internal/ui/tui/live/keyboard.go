package live

import (
	"slices"

	"gaffer/fleet"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/terminal"
)

// ActionKind is the kind of an [Action].
type ActionKind int

// Actions that the user can request with keys.
const (
	NoAction  ActionKind = iota
	Stop                 // start no more tasks; running tasks continue
	Resume               // start tasks again
	Detach               // let another process work on the run, and leave the view
	CancelRun            // cancel all tasks, and wait until they have ended
	Leave                // leave the view immediately
	Answer               // send the answer to a question
	ShowNote             // show Text to the user and do nothing else
)

// Action is what the user wants to do, with its arguments.
type Action struct {
	Kind     ActionKind
	Question string // id of the question that is answered
	Text     string
	Deny     bool
	Scope    fleet.GrantScope // which later requests the answer also decides; empty means none
	// Rule is the permission rule that decides the later requests in Scope. Empty means the first
	// rule that the question suggests.
	Rule string
}

// Reply returns the answer of an action whose kind is Answer.
func (a Action) Reply() fleet.Reply {
	return fleet.Reply{Text: a.Text, Deny: a.Deny, Scope: a.Scope, Rule: a.Rule}
}

// mode says whether the user watches the run, chooses how to leave it, or has cancelled it.
type mode int

const (
	watching mode = iota
	// choosing is the mode after Ctrl-C: the user may detach, cancel the run or continue. Until the
	// user decides, no task starts. But a run on a server (Remote) continues.
	choosing
	cancelling // the run is being cancelled
)

// Keyboard is the state of the user's input. It is a value: each key gives a new Keyboard.
type Keyboard struct {
	Observer bool // another process works on the run, so this view cannot stop it
	Remote   bool // the run is on a server and continues there when the user leaves

	mode       mode
	question   string // id of the question on the screen
	input      parts.Input
	sent       []string // ids of questions whose answer is being sent; they are not shown
	discarding bool     // keys are ignored, because they were typed for a question that is now closed
}

// Press returns the new state after a key was pressed, and the action that the key triggers. open
// lists the open questions. The action depends on the mode (left) and the key (top):
//
//	             Ctrl-C               d        c        Enter          other
//	watching     Stop, then choosing  ── the question's answer is typed ──
//	choosing     CancelRun            Detach   CancelRun  Resume       –
//	cancelling   Leave                –        –          –            –
//
// With Remote set, Ctrl-C in the mode watching does not stop the run. In the mode choosing, Ctrl-C,
// d and Enter then detach, c cancels the run, and any other key continues watching. If a question
// is closed while its answer is being typed, the following keystrokes are discarded up to Enter,
// Escape or Tab.
//
// With Observer set, Ctrl-C leaves the view in every mode, and so does q if no question is open.
func (k Keyboard) Press(key terminal.Key, open []fleet.Question) (Keyboard, Action) {
	k = k.WithQuestions(open)
	switch {
	case key.Kind == terminal.Interrupt:
		return k.interrupt()
	case k.mode == choosing:
		return k.choose(key)
	case k.mode == cancelling:
		return k, Action{}
	case k.discarding:
		k.discarding = key.Kind == terminal.Rune || key.Kind == terminal.Backspace
		return k, Action{}
	case k.question != "":
		k, act := k.editAnswer(key, k.unanswered(open))
		// If the key has sent an answer, show the next question.
		return k.WithQuestions(open), act
	case k.Observer && key.Rune == 'q' && len(k.sent) == 0:
		return k, Action{Kind: Leave}
	}
	return k, Action{}
}

// End returns the new state and the action after a request to end the run, such as a signal. The
// action is Leave for an observer or if the run is already being cancelled, Detach for a run on a
// server, and CancelRun otherwise.
func (k Keyboard) End() (Keyboard, Action) {
	switch {
	case k.Observer || k.mode == cancelling:
		return k, Action{Kind: Leave}
	case k.Remote:
		return k, Action{Kind: Detach}
	}
	return k.cancel()
}

func (k Keyboard) cancel() (Keyboard, Action) {
	k.mode = cancelling
	return k, Action{Kind: CancelRun}
}

// WithQuestions returns the new state after the list of open questions has changed to open. The
// question on the screen stays there as long as it is open. Text that was typed for one question is
// never sent to another.
func (k Keyboard) WithQuestions(open []fleet.Question) Keyboard {
	k.sent = filtered(k.sent, func(id string) bool {
		return !slices.ContainsFunc(open, func(q fleet.Question) bool { return q.ID == id })
	})
	open = k.unanswered(open)
	if k.indexIn(open) >= 0 {
		return k
	}
	k.discarding = k.discarding || k.input != ""
	k.question, k.input = "", ""
	if len(open) > 0 {
		k.question = open[0].ID
	}
	return k
}

// Reopen shows an answered question again if it is still open, so that the user can repeat the
// answer.
func (k Keyboard) Reopen(question string) Keyboard {
	k.sent = filtered(k.sent, func(id string) bool { return id == question })
	return k
}

// unanswered returns the open questions for which no answer is being sent.
func (k Keyboard) unanswered(open []fleet.Question) []fleet.Question {
	return filtered(open, func(q fleet.Question) bool { return slices.Contains(k.sent, q.ID) })
}

// filtered returns a copy of the list without the items for which drop returns true.
func filtered[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func (k Keyboard) indexIn(open []fleet.Question) int {
	return slices.IndexFunc(open, func(q fleet.Question) bool { return q.ID == k.question })
}

func (k Keyboard) interrupt() (Keyboard, Action) {
	switch {
	case k.Observer:
		return k, Action{Kind: Leave}
	case k.mode == watching:
		if k.mode = choosing; k.Remote {
			return k, Action{}
		}
		return k, Action{Kind: Stop}
	}
	return k.End()
}

func (k Keyboard) choose(key terminal.Key) (Keyboard, Action) {
	switch {
	case key.Rune == 'd', key.Kind == terminal.Enter && k.Remote:
		return k, Action{Kind: Detach}
	case key.Rune == 'c':
		return k.cancel()
	case key.Kind == terminal.Enter:
		k.mode = watching
		return k, Action{Kind: Resume}
	case k.Remote:
		k.mode = watching
	}
	return k, Action{}
}

// editAnswer applies a key to the answer that the user is typing. Enter sends the answer. An answer
// that is not valid is not sent and can be edited further.
func (k Keyboard) editAnswer(key terminal.Key, open []fleet.Question) (Keyboard, Action) {
	switch key.Kind {
	case terminal.Rune:
		k.input = k.input.Insert(string(key.Rune))
	case terminal.Backspace:
		k.input = k.input.Backspace()
	case terminal.Clear:
		k.input = ""
	case terminal.Next:
		k.question, k.input = open[(k.indexIn(open)+1)%len(open)].ID, ""
	case terminal.Enter:
		if k.input.Trimmed() == "" {
			break
		}
		q := open[k.indexIn(open)]
		reply, err := parts.ParseAnswer(q, k.input)
		if err != nil {
			return k, Action{Kind: ShowNote, Text: err.Error()}
		}
		k.input, k.sent = "", append(slices.Clone(k.sent), q.ID)
		return k, Action{Kind: Answer, Question: q.ID, Text: reply.Text, Deny: reply.Deny, Scope: reply.Scope, Rule: reply.Rule}
	}
	return k, Action{}
}
