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
	Detach               // let another process work on the run, and leave the live view
	CancelRun            // cancel all tasks, and wait until they have ended
	Leave                // leave the live view immediately
	Answer               // send the answer to a question
	ShowNote             // show the field Text of the action to the user and do nothing else
)

// Action is what the user wants to do, with its arguments.
type Action struct {
	Kind     ActionKind
	Question string // id of the question that is answered
	Text     string
	Deny     bool
	Scope    fleet.GrantScope // if the answer allows or denies a request of the agent: which later requests it also decides; empty means none
	// Rule is the permission rule that selects the later requests within Scope that the answer also
	// decides. Empty means the first rule that the question suggests.
	Rule string
}

// Reply returns the answer of an action whose kind is Answer.
func (a Action) Reply() fleet.Reply {
	return fleet.Reply{Text: a.Text, Deny: a.Deny, Scope: a.Scope, Rule: a.Rule}
}

// mode says whether the user watches the run, chooses how to leave the view, or has cancelled the
// run.
type mode int

const (
	watching mode = iota
	// choosing is the mode after Ctrl-C: the user may detach, cancel the run or continue. Until the
	// user decides, no new task starts. But if the run is on a server (field Remote), tasks still
	// start.
	choosing
	cancelling // the run is being cancelled
)

// Keyboard is the state of the user's input. Its methods do not change it: each key press results
// in a new Keyboard.
type Keyboard struct {
	Observer bool // another process works on the run, so this view cannot stop it
	Remote   bool // the run is on a server and continues there when the user leaves

	mode       mode
	question   string // id of the question on the screen
	input      parts.Input
	sent       []string // ids of questions whose answer is being sent; these questions are not shown
	discarding bool     // keys are ignored, because they were typed for a question that is now closed
}

// Press returns the new state after a key was pressed, and the action that the key triggers. open
// lists the open questions. The action depends on the mode (left) and the key (top); "–" means no
// action:
//
//	             Ctrl-C               d        c        Enter          other
//	watching     Stop, then choosing  ── the question's answer is typed ──
//	choosing     CancelRun            Detach   CancelRun  Resume       –
//	cancelling   Leave                –        –          –            –
//
// If the field Remote is set, Ctrl-C in the mode watching does not stop the run, but only changes
// the mode to choosing. In the mode choosing, Ctrl-C, d and Enter detach, c cancels the run, and
// any other key returns to the mode watching.
//
// If a question is closed while its answer is being typed, the following keystrokes are discarded
// up to Enter, Escape, Ctrl-U or Tab, so that they do not become the answer to another question.
//
// If the field Observer is set, Ctrl-C leaves the view in every mode. The key q leaves it too, but
// only if no question is open.
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

// End handles a request to end the run that does not come from a key, such as a signal. It returns
// the new state and one of these actions:
//   - Leave, if another process works on the run (field Observer) or the run is already being
//     cancelled
//   - otherwise Detach, if the run is on a server (field Remote)
//   - otherwise CancelRun
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

// Reopen shows a question again after it was answered, if the question is still open. The user can
// then repeat the answer.
func (k Keyboard) Reopen(question string) Keyboard {
	k.sent = filtered(k.sent, func(id string) bool { return id == question })
	return k
}

// unanswered returns the open questions for which no answer is being sent.
func (k Keyboard) unanswered(open []fleet.Question) []fleet.Question {
	return filtered(open, func(q fleet.Question) bool { return slices.Contains(k.sent, q.ID) })
}

// filtered returns a copy of the list without the elements for which the function drop returns
// true.
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

// editAnswer applies a key to the answer that the user is typing. Enter sends the answer. If the
// answer is not valid, Enter does not send it, and the user can edit it further.
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
