package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"gaffer/fleet"
)

// Do is what a key asks the world to do.
type Do int

// What a person may ask for.
const (
	Nothing   Do = iota
	Stop         // take no more work; what runs goes on
	GoOn         // take work again
	Detach       // let another process look after the run, and leave
	CancelRun    // end everything, and wait for it
	Leave        // leave at once
	Answer       // answer a question
	Remark       // show the person a text; nothing else follows
)

// Action is a [Do] with what it needs.
type Action struct {
	Do       Do
	Question string // the id
	Text     string
	Deny     bool
}

// mode is how far a person is with leaving.
type mode int

const (
	watching   mode = iota
	offering        // no more work is taken: detach, cancel or go on
	cancelling      // everything ends
)

// Keyboard is what a person is at. It is a value: a key makes another of it.
type Keyboard struct {
	Onlooker bool // the run is another's: there is nothing to stop
	Far      bool // others work on the run: leaving it is what is expected

	mode     mode
	question string // the id of the one that is shown
	input    string
	sent     []string // the ids of those whose answer is under way; they count as closed
	stray    bool     // what is being typed was for a question that is gone
}

// maxInput is as much as anybody types as an answer, in bytes.
const maxInput = 2000

// Press is what follows from a key while these questions are open.
//
//	             Ctrl-C               d        c        Enter          other
//	watching     Stop, then offering  ── the question's answer is typed ──
//	offering     CancelRun            Detach   CancelRun  GoOn         –
//	cancelling   Leave                –        –          –            –
//
// A run that others work on is not stopped, and while it is offered Ctrl-C and
// Enter detach and any other key goes on watching. The rest of an answer whose
// question has gone away is nobody's: it ends with Enter, Escape or Tab.
func (k Keyboard) Press(key Key, open []fleet.Question) (Keyboard, Action) {
	k = k.See(open)
	switch {
	case key.Kind == Interrupt:
		return k.interrupt()
	case k.mode == offering:
		return k.offered(key)
	case k.mode == cancelling:
		return k, Action{}
	case k.stray:
		k.stray = key.Kind == Rune || key.Kind == Backspace
		return k, Action{}
	case k.question != "":
		k, act := k.typed(key, k.unanswered(open))
		return k.See(open), act // after an answer the next question
	case k.Onlooker && key.Rune == 'q' && len(k.sent) == 0:
		return k, Action{Do: Leave}
	}
	return k, Action{}
}

// End is what follows from a word from outside that the run is to end.
func (k Keyboard) End() (Keyboard, Action) {
	switch {
	case k.Onlooker || k.mode == cancelling:
		return k, Action{Do: Leave}
	case k.Far:
		return k, Action{Do: Detach}
	}
	return k.cancel()
}

func (k Keyboard) cancel() (Keyboard, Action) {
	k.mode = cancelling
	return k, Action{Do: CancelRun}
}

// See keeps to the question that is answered as long as it is open. What was
// typed for one is never sent to another.
func (k Keyboard) See(open []fleet.Question) Keyboard {
	k.sent = without(k.sent, func(id string) bool {
		return !slices.ContainsFunc(open, func(q fleet.Question) bool { return q.ID == id })
	})
	open = k.unanswered(open)
	if k.at(open) >= 0 {
		return k
	}
	k.stray = k.stray || k.input != ""
	k.question, k.input = "", ""
	if len(open) > 0 {
		k.question = open[0].ID
	}
	return k
}

// Reopen takes a question for open again, if it still is: its answer was not taken.
func (k Keyboard) Reopen(question string) Keyboard {
	k.sent = without(k.sent, func(id string) bool { return id == question })
	return k
}

// unanswered are those of the open questions that no answer is under way for.
func (k Keyboard) unanswered(open []fleet.Question) []fleet.Question {
	return without(open, func(q fleet.Question) bool { return slices.Contains(k.sent, q.ID) })
}

// without is a list of its own, without some.
func without[T any](list []T, some func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), some)
}

func (k Keyboard) at(open []fleet.Question) int {
	return slices.IndexFunc(open, func(q fleet.Question) bool { return q.ID == k.question })
}

func (k Keyboard) interrupt() (Keyboard, Action) {
	switch {
	case k.Onlooker:
		return k, Action{Do: Leave}
	case k.mode == watching:
		if k.mode = offering; k.Far {
			return k, Action{}
		}
		return k, Action{Do: Stop}
	}
	return k.End()
}

func (k Keyboard) offered(key Key) (Keyboard, Action) {
	switch {
	case key.Rune == 'd', key.Kind == Enter && k.Far:
		return k, Action{Do: Detach}
	case key.Rune == 'c':
		return k.cancel()
	case key.Kind == Enter:
		k.mode = watching
		return k, Action{Do: GoOn}
	case k.Far:
		k.mode = watching
	}
	return k, Action{}
}

// typed edits the answer to a question, and sends it with Enter.
func (k Keyboard) typed(key Key, open []fleet.Question) (Keyboard, Action) {
	switch key.Kind {
	case Rune:
		if len(k.input) < maxInput {
			k.input += string(key.Rune)
		}
	case Backspace:
		_, size := utf8.DecodeLastRuneInString(k.input)
		k.input = k.input[:len(k.input)-size]
	case Clear:
		k.input = ""
	case Next:
		k.question, k.input = open[(k.at(open)+1)%len(open)].ID, ""
	case Enter:
		return k.send(open[k.at(open)])
	}
	return k, Action{}
}

// send reads the answer: a number is an option, a lone d denies, all else is
// text. What cannot be an answer stays there to be edited.
func (k Keyboard) send(q fleet.Question) (Keyboard, Action) {
	typed := strings.TrimSpace(k.input)
	if typed == "" {
		return k, Action{}
	}
	a := Action{Do: Answer, Question: q.ID, Deny: typed == "d"}
	if !a.Deny {
		text, err := q.Choose(typed)
		if err != nil {
			return k, Action{Do: Remark, Text: err.Error()}
		}
		a.Text = text
	}
	k.input, k.sent = "", append(slices.Clone(k.sent), q.ID)
	return k, a
}
