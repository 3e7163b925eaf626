package watch

import (
	"strings"
	"testing"

	screen "gaffer/internal/ui/tui/watch"
)

func TestLinesAreSentWholeAndTheFirstBeginsTheLog(t *testing.T) {
	var sent []screen.Log
	l := &lines{send: func(what any) { sent = append(sent, what.(screen.Log)) }, log: screen.Log{Run: "r", Task: "t", Begin: true}}
	for _, text := range []string{"on", "e\ntwo\nth", "ree"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	l.log.Ended = true
	l.end("")
	if len(sent) != 2 || !sent[0].Begin || strings.Join(sent[0].Lines, "|") != "one|two" || sent[1].Begin || !sent[1].Ended || strings.Join(sent[1].Lines, "|") != "three" {
		t.Errorf("%+v", sent)
	}
}
