package watch

import (
	"fmt"
	"slices"
	"strconv"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/program"
)

// questionScreen shows an agent's question and the answer that the user is typing.
type questionScreen struct {
	id    string
	input parts.Input
}

func (questionScreen) focus() (Focus, bool) { return Focus{}, false }

func (questionScreen) path(_ snapshot, names []string) []string { return append(names, "answer") }

func (questionScreen) summary(snapshot, int) []paint.Line { return nil }

func (questionScreen) hints(snapshot, frame) (keys []string, position string) {
	return []string{"Enter sends", "Esc back", "Tab next", "Ctrl-D denies"}, ""
}

func (questionScreen) filtered() filter { return filter{} }

func (v questionScreen) settle(snapshot, frame) screen { return v }

// indexIn returns the index of the question in list, or -1 if the list does not contain it.
func (v questionScreen) indexIn(list []fleet.Question) int {
	return slices.IndexFunc(list, func(q fleet.Question) bool { return q.ID == v.id })
}

// update handles a key. Tab shows the next question and discards the typed text, so that an answer
// is never sent to the wrong question. While an answer is being sent, or if the question is no
// longer open, only Escape and Tab have an effect.
func (v questionScreen) update(k Key, s snapshot, _ frame) (screen, keyResult) {
	open := s.questions()
	at := v.indexIn(open)
	switch {
	case k.Name == "esc":
		return v, keyResult{back: true}
	case k.Name == "tab" && len(open) > 0:
		if next := open[(at+1)%len(open)].ID; next != v.id {
			v = questionScreen{id: next}
		}
		return v, keyResult{}
	case at < 0 || s.sending != "":
		return v, keyResult{}
	}
	q := open[at]
	switch k.Name {
	case "enter":
		if v.input.Trimmed() == "" {
			break
		}
		reply, err := parts.ParseAnswer(q, v.input)
		answer := Answer{Question: q.ID, Name: q.Name, Reply: reply}
		switch {
		case err != nil:
			return v, keyResult{note: err.Error()}
		case reply.Deny:
			return v, deny(s, q, "")
		case reply.Scope == fleet.GrantAlways:
			return v, keyResult{confirm: confirmation{"Allow " + display.Line(reply.Rule, 60) + " in every run, until you revoke it?", "y allows", answer}}
		}
		return v, keyResult{action: answer}
	case "ctrl+d":
		return v, deny(s, q, v.input.Trimmed())
	case "down":
		v.input = nextOption(q, v.input, +1)
	case "up":
		v.input = nextOption(q, v.input, -1)
	default:
		v.input = program.Edit(v.input, k)
	}
	return v, keyResult{}
}

// deny returns a keyResult that asks the user to confirm that the request of the agent is to be
// denied. The parameter reason is sent to the agent; it may be empty.
func deny(s snapshot, q fleet.Question, reason string) keyResult {
	because := ""
	if reason != "" {
		because = fmt.Sprintf(", because %q", phrase.Line(reason))
	}
	text := "Deny what " + display.Line(q.Name, 50) + ofRun(s, q.Run) + " asks for" + because + "?"
	return keyResult{confirm: confirmation{text, "y denies", Answer{Question: q.ID, Name: q.Name, Reply: fleet.Reply{Text: reason, Deny: true}}}}
}

// nextOption returns the number of an answer option: of the option after the typed number or, if
// step is -1, of the option before it. After the last option comes the first. If typed is not a
// number, nextOption returns the first option or, if step is -1, the last. If there are no options,
// it returns typed.
func nextOption(q fleet.Question, typed parts.Input, step int) parts.Input {
	last := len(q.Choices())
	if last == 0 {
		return typed
	}
	n, err := strconv.Atoi(typed.Trimmed())
	switch {
	case err != nil && step < 0, n+step < 1:
		n = last
	case err != nil, n+step > last:
		n = 1
	default:
		n += step
	}
	return parts.Input(strconv.Itoa(n))
}

// view returns the rows of the question. It always shows the row in which the user types the
// answer, and as many other rows as fit above that row.
func (v questionScreen) view(s snapshot, f frame) []string {
	open := s.questions()
	at := v.indexIn(open)
	if at < 0 {
		return f.render([]paint.Line{paint.Plain("This question is no longer open: it was answered, or its task has ended.")})
	}
	q := open[at]
	facts := []string{phrase.Age(s.now.Sub(q.Asked)) + " ago"}
	if n := len(s.fleet.Questions); n > 1 {
		facts = append(facts, fmt.Sprintf("%d of %d", v.indexIn(s.fleet.Questions)+1, n))
	}
	above := append([]paint.Line{parts.QuestionHeading(q, s.runName(q.Run), s.now, facts...)}, parts.QuestionText(q, f.width, 200)...)
	options := parts.Options(q, v.input.Trimmed())
	room := max(f.height-1, 0)
	var rows []paint.Line
	switch over := len(above) + len(options) - room; {
	case over <= 0: // everything fits; add blank rows if there is room
		rows = append(rows, above[0], nil)
		rows = append(append(rows, above[1:]...), nil)
		if rows = append(rows, options...); len(options) > 0 {
			rows = append(rows, nil)
		}
		if len(rows) > room {
			rows = slices.DeleteFunc(rows, func(l paint.Line) bool { return len(l) == 0 })
		}
	case len(above)-over-1 >= 1: // leave out the last rows of the question's text
		rows = append(rows, above[:len(above)-over-1]...)
		rows = append(append(rows, paint.Styled(display.Faint, fmt.Sprintf("  … %d more rows", over+1))), options...)
	default:
		rows = append(above, options...)[:room]
	}
	answer := parts.AnswerRow(q, v.input, f.width)
	if s.sending == q.ID {
		answer = paint.Line{{Text: "> ", Style: display.Bold}, {Text: "sending …", Style: display.Faint}}
	}
	f.height = len(rows) + 1
	return f.render(append(rows, answer))
}
