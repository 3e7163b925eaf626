package parts

import (
	"strings"
	"testing"

	"gaffer/fleet"
)

func TestALineIsEditedByCharactersAndWords(t *testing.T) {
	var line Input
	for _, text := range []string{"use", " ", "port", " ", "80\n80", "é"} {
		line = line.Insert(text)
	}
	if line != "use port 80 80é" {
		t.Errorf("%q was typed", line)
	}
	if line = line.Backspace(); line != "use port 80 80" {
		t.Errorf("backspace leaves %q", line)
	}
	if line = line.DeleteWord().DeleteWord(); line != "use port " {
		t.Errorf("two words less are %q", line)
	}
	if long := Input(strings.Repeat("x", maxInput)); long.Insert("y") != long || Input("").Backspace() != "" || Input("").DeleteWord() != "" {
		t.Error("the limits are not kept")
	}
}

func TestWhatIsTypedIsAnOptionATextOrADenial(t *testing.T) {
	q := fleet.Question{Options: []string{"Yes", "No"}}
	for typed, want := range map[Input]string{" 2 ": "No", "yes, do": "yes, do", "d": "denied", "3": "error"} {
		reply, err := ParseAnswer(q, typed)
		text := reply.Text
		switch {
		case err != nil:
			text = "error"
		case reply.Deny:
			text += "denied"
		}
		if text != want {
			t.Errorf("%q means %q, want %q", typed, text, want)
		}
	}
}
