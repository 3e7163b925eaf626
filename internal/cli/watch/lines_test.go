package watch

import (
	"strings"
	"testing"

	screen "gaffer/internal/ui/tui/watch"
)

func TestLinesAreSentWholeAndTheFirstBeginsTheLog(t *testing.T) {
	var told []screen.Log
	l := &lines{send: func(what any) { told = append(told, what.(screen.Log)) }, log: screen.Log{Run: "r", Task: "t", Begin: true}}
	for _, text := range []string{"on", "e\ntwo\nth", "ree"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	l.log.Ended = true
	l.end("")
	if len(told) != 2 || !told[0].Begin || strings.Join(told[0].Lines, "|") != "one|two" || told[1].Begin || !told[1].Ended || strings.Join(told[1].Lines, "|") != "three" {
		t.Errorf("%+v", told)
	}
}
