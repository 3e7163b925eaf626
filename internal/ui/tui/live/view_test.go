package live

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/stages"
	"gaffer/internal/ui/tui/terminal"
)

func picture(rows []string, width int) string {
	rule := "+" + strings.Repeat("-", width) + "+\n"
	var b strings.Builder
	b.WriteString(rule)
	for _, row := range rows {
		b.WriteString("|" + row + strings.Repeat(" ", max(width-cells.Width(row), 0)) + "|\n")
	}
	return b.String() + rule
}

func TestTheViewAtSeveralWidths(t *testing.T) {
	for _, width := range []int{20, 40, 80, 120} {
		v := View{Run: release(), Now: now}
		golden(t, fmt.Sprintf("view-%d.golden", width), picture(v.Lines(width, 30, false), width))
	}
}

func TestTheViewInColour(t *testing.T) {
	v := View{Run: release(), Now: now}
	text := strings.Join(v.Lines(80, 30, true), "\n") + "\n"
	golden(t, "view-color.golden", strings.ReplaceAll(text, "\x1b", "␛"))
}

func TestTheViewOfARunThatHasEnded(t *testing.T) {
	r := release()
	r.Status, r.Ended = fleet.Failed, ago(5*time.Second)
	v := View{Run: r, Now: now}
	golden(t, "final-80.golden", picture(v.Final(80, false), 80))
}

func TestTasksThatDoNotFitAreCountedAndTheUrgentOnesShown(t *testing.T) {
	r := crowd(200, 8)
	r.Tasks[199].Status = fleet.Failed
	r.Tasks[150].Status = fleet.Running
	r.Tasks[150].Question = &fleet.Question{ID: "q", Name: "0c0ffee0/150", Task: "150", Text: "May I?", Asked: ago(time.Second)}
	count(&r)
	v := View{Run: r, Now: now}
	golden(t, "crowd-80.golden", picture(v.Lines(80, 20, false), 80))
}

// The view can be drawn at every size. It never exceeds the screen, and never contains control
// sequences of an agent.
func TestTheViewNeverExceedsTheScreen(t *testing.T) {
	asking := Keyboard{}.WithQuestions(Questions(release()))
	asking.input = parts.Input(strings.Repeat("long 日本 ", 30))
	keyboards := []Keyboard{{}, asking, {discarding: true}, {sent: []string{"q1"}}, {mode: choosing}, {mode: cancelling}, {Observer: true}}
	for _, r := range []fleet.Run{release(), crowd(100, 50), {}} {
		for width := 0; width < 130; width += 1 + width/20 {
			for _, height := range []int{0, 1, 2, 3, 4, 5, 8, 24, 200} {
				for _, k := range keyboards {
					v := View{Run: r, Now: now, Keyboard: k, Note: "a\x1bnote\n"}
					check(t, v.Lines(width, height, false), width, height)
				}
			}
		}
	}
}

func check(t *testing.T, rows []string, width, height int) {
	t.Helper()
	if len(rows) > height {
		t.Fatalf("%d rows on %dx%d", len(rows), width, height)
	}
	for _, row := range rows {
		if cells.Width(row) > width || strings.ContainsAny(row, "\x1b\n\r") {
			t.Fatalf("%q on %dx%d", row, width, height)
		}
	}
}

func TestAQuestionIsAskedWithItsNumberedOptions(t *testing.T) {
	r := release()
	k := Keyboard{}.WithQuestions(Questions(r))
	v := View{Run: r, Now: now, Keyboard: k}
	all := v.Lines(80, 30, false)
	golden(t, "question-80.golden", picture(all[slices.IndexFunc(all, func(row string) bool {
		return strings.HasPrefix(row, "? 0c0ffee0/page asks")
	}):], 80))

	// Even a small screen must show the input line.
	rows := v.Lines(40, 6, false)
	if last := rows[len(rows)-1]; !strings.HasPrefix(last, "> ▏") {
		t.Errorf("the last row is %q", last)
	}
}

func TestTheUserSeesWhatHappensToTypedText(t *testing.T) {
	r := release()
	last := func(k Keyboard) string {
		rows := View{Run: r, Now: now, Keyboard: k}.Lines(80, 30, false)
		return strings.TrimRight(rows[len(rows)-1], " ")
	}
	k, _ := press(Keyboard{}, "1\r", Questions(r))
	if got := last(k); got != "sending the answer …" {
		t.Errorf("of an answer that is sent: %q", got)
	}
	k, _ = press(Keyboard{}, "x", []fleet.Question{{ID: "before"}})
	if got := last(k); got != "> "+questionClosed {
		t.Errorf("of a question that is gone: %q", got)
	}
	r.Tasks[2].Question = nil
	if got := last(k); got != questionClosed {
		t.Errorf("of the last question: %q", got)
	}
}

// A view of fifty idle agents is drawn five times per second. If a frame took 2 ms, that would be
// one percent of a core.
func BenchmarkFiftyIdleAgents(b *testing.B) {
	v := View{Run: crowd(66, 50), Now: now}
	v.stages = stages.Of(v.Run.Tasks)
	s := terminal.NewScreen(io.Discard)
	for b.Loop() {
		v.Frame++
		if err := s.Draw(v.Lines(120, 60, true)); err != nil {
			b.Fatal(err)
		}
	}
}
