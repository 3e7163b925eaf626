package live

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/ui/tui/terminal"
)

var questions = []fleet.Question{
	{ID: "q1", Options: []string{"Yes", "No"}},
	{ID: "q2"},
}

var permission = []fleet.Question{{
	ID: "q3", Run: "r", Task: "api", Options: []string{"allow", "deny"}, Tool: "Bash", Suggestions: []string{"Bash(go test:*)"},
}}

func TestWhatKeysDo(t *testing.T) {
	for name, c := range map[string]struct {
		onlooker bool
		far      bool
		asked    []fleet.Question
		keys     string
		want     []Action
	}{
		"nothing is asked":                 {keys: "hello\rd", want: nil},
		"Ctrl-C offers":                    {keys: "\x03", want: []Action{{Kind: Stop}}},
		"Enter goes on":                    {keys: "\x03\r", want: []Action{{Kind: Stop}, {Kind: Resume}}},
		"and another Ctrl-C offers again":  {keys: "\x03\r\x03", want: []Action{{Kind: Stop}, {Kind: Resume}, {Kind: Stop}}},
		"d detaches":                       {keys: "\x03d", want: []Action{{Kind: Stop}, {Kind: Detach}}},
		"c cancels":                        {keys: "\x03c", want: []Action{{Kind: Stop}, {Kind: CancelRun}}},
		"other keys while it offers":       {keys: "\x03xyz 1", want: []Action{{Kind: Stop}}},
		"Ctrl-C twice cancels":             {keys: "\x03\x03", want: []Action{{Kind: Stop}, {Kind: CancelRun}}},
		"keys while it cancels":            {keys: "\x03\x03dc\r", want: []Action{{Kind: Stop}, {Kind: CancelRun}}},
		"three times leaves":               {keys: "\x03\x03\x03", want: []Action{{Kind: Stop}, {Kind: CancelRun}, {Kind: Leave}}},
		"c and Ctrl-C leaves":              {keys: "\x03c\x03", want: []Action{{Kind: Stop}, {Kind: CancelRun}, {Kind: Leave}}},
		"an onlooker leaves":               {onlooker: true, keys: "\x03", want: []Action{{Kind: Leave}}},
		"an onlooker leaves with q":        {onlooker: true, keys: "q", want: []Action{{Kind: Leave}}},
		"an onlooker's q in an answer":     {onlooker: true, asked: questions, keys: "q\r", want: []Action{{Kind: Answer, Question: "q1", Text: "q"}}},
		"a run of others is not stopped":   {far: true, keys: "\x03", want: nil},
		"Enter leaves it to them":          {far: true, keys: "\x03\r", want: []Action{{Kind: Detach}}},
		"so does another Ctrl-C":           {far: true, keys: "\x03\x03", want: []Action{{Kind: Detach}}},
		"c cancels theirs":                 {far: true, keys: "\x03c\x03", want: []Action{{Kind: CancelRun}, {Kind: Leave}}},
		"another key goes on watching":     {far: true, keys: "\x03x\r\x03d", want: []Action{{Kind: Detach}}},
		"a number is an option":            {asked: questions, keys: "2\r", want: []Action{{Kind: Answer, Question: "q1", Text: "No"}}},
		"text":                             {asked: questions, keys: " use port 80 \r", want: []Action{{Kind: Answer, Question: "q1", Text: "use port 80"}}},
		"d denies":                         {asked: questions, keys: "d\r", want: []Action{{Kind: Answer, Question: "q1", Deny: true}}},
		"a word with d is text":            {asked: questions, keys: "do it\r", want: []Action{{Kind: Answer, Question: "q1", Text: "do it"}}},
		"Enter alone answers nothing":      {asked: questions, keys: "\r  \r", want: nil},
		"backspace takes a character away": {asked: questions, keys: "1é\x7f\r", want: []Action{{Kind: Answer, Question: "q1", Text: "Yes"}}},
		"backspace of nothing":             {asked: questions, keys: "\x7f\x7f1\r", want: []Action{{Kind: Answer, Question: "q1", Text: "Yes"}}},
		"Escape takes all away":            {asked: questions, keys: "no\x1b\r", want: nil},
		"Tab goes to the next":             {asked: questions, keys: "1\tx\r", want: []Action{{Kind: Answer, Question: "q2", Text: "x"}}},
		"Tab comes around":                 {asked: questions, keys: "\t\t1\r", want: []Action{{Kind: Answer, Question: "q1", Text: "Yes"}}},
		"what comes after an answer is for the next": {asked: questions, keys: "1\r8080\r", want: []Action{
			{Kind: Answer, Question: "q1", Text: "Yes"}, {Kind: Answer, Question: "q2", Text: "8080"},
		}},
		"a number after the options allows for longer": {asked: permission, keys: "4\r", want: []Action{
			{Kind: Answer, Question: "q3", Text: "allow", Scope: fleet.GrantRun, Rule: "Bash(go test:*)"},
		}},
		"the first options stay for once":         {asked: permission, keys: "1\r", want: []Action{{Kind: Answer, Question: "q3", Text: "allow"}}},
		"d denies a permission for once":          {asked: permission, keys: "d\r", want: []Action{{Kind: Answer, Question: "q3", Deny: true}}},
		"a number that no answer has is said":     {asked: permission, keys: "6\r", want: []Action{{Kind: ShowNote, Text: "option 6: the question has 5 options; a number in double quotes is a text"}}},
		"and after the last for nobody":           {asked: questions[1:], keys: "1\r2\r", want: []Action{{Kind: Answer, Question: "q2", Text: "1"}}},
		"an onlooker's q while an answer is sent": {onlooker: true, asked: questions[1:], keys: "1\rq", want: []Action{{Kind: Answer, Question: "q2", Text: "1"}}},
		"what is offered goes before a question": {asked: questions, keys: "\x031\rd\r", want: []Action{
			{Kind: Stop}, {Kind: Resume}, {Kind: Answer, Question: "q1", Deny: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := press(Keyboard{Observer: c.onlooker, Remote: c.far}, c.keys, c.asked)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// press presses the keys one after the other and returns the resulting state and actions.
func press(k Keyboard, keys string, open []fleet.Question) (Keyboard, []Action) {
	var did []Action
	for _, b := range bytes.SplitAfter([]byte(keys), nil) {
		decoded, _ := terminal.DecodeKeys(b)
		for _, key := range decoded {
			var act Action
			if k, act = k.Press(key, open); act.Kind != NoAction {
				did = append(did, act)
			}
		}
	}
	return k, did
}

func TestKeysTypedForAClosedQuestionAreDiscarded(t *testing.T) {
	for _, end := range []string{"\r", "\x1b", "\t"} {
		k, _ := press(Keyboard{}, "an", questions)
		k, did := press(k, "d"+end, questions[1:])
		if len(did) > 0 || k.input != "" {
			t.Errorf("%q: did %+v, kept %q", end, did, k.input)
		}
		want := []Action{{Kind: Answer, Question: "q2", Text: "ok"}}
		if _, did := press(k, "ok\r", questions[1:]); !cmp.Equal(did, want) {
			t.Errorf("%q: did %+v then", end, did)
		}
	}
	// Keys are also ignored if the next question opens later, and for an observer, who can leave
	// with q.
	k, _ := press(Keyboard{Observer: true}, "re", questions[:1])
	k, did := press(k, "q", nil)
	_, more := press(k, "uired\r", questions[1:])
	if did = append(did, more...); len(did) > 0 {
		t.Errorf("did %+v", did)
	}
}

func TestAReopenedQuestionCanBeAnsweredAgain(t *testing.T) {
	k, _ := press(Keyboard{}, "1\r", questions)
	k, _ = press(k.Reopen("q1"), "80", questions)
	if k.question != "q2" || k.input != "80" {
		t.Errorf("%q is at %s", k.input, k.question)
	}
	want := []Action{{Kind: Answer, Question: "q2", Text: "80"}, {Kind: Answer, Question: "q1", Text: "No"}}
	if _, did := press(k, "\r2\r", questions); !cmp.Equal(did, want) {
		t.Errorf("did %+v", did)
	}
}

func TestANumberThatNoOptionHasIsNotSent(t *testing.T) {
	for _, typed := range []string{"0", "3"} {
		k, did := press(Keyboard{}, typed+"\r", questions)
		want := []Action{{Kind: ShowNote, Text: "option " + typed + ": the question has 2 options; a number in double quotes is a text"}}
		if !cmp.Equal(did, want) || string(k.input) != typed {
			t.Errorf("did %+v, typed %q", did, k.input)
		}
	}
}

func TestWhatWasTypedForOneQuestionIsNotSentToAnother(t *testing.T) {
	k, _ := Keyboard{}.Press(terminal.Key{Kind: terminal.Rune, Rune: '1'}, questions)
	k, act := k.Press(terminal.Key{Kind: terminal.Enter}, questions[1:])
	if act.Kind != NoAction || k.input != "" {
		t.Errorf("sent %+v, kept %q", act, k.input)
	}
}

func TestAnEndRequestCancelsAndASecondOneLeaves(t *testing.T) {
	k, first := Keyboard{}.End()
	_, second := k.End()
	if first.Kind != CancelRun || second.Kind != Leave {
		t.Errorf("%v, %v", first.Kind, second.Kind)
	}
	if _, act := (Keyboard{Remote: true}).End(); act.Kind != Detach {
		t.Errorf("of others' run: %v", act.Kind)
	}
	if _, act := (Keyboard{Observer: true}).End(); act.Kind != Leave {
		t.Errorf("an onlooker: %v", act.Kind)
	}
}
