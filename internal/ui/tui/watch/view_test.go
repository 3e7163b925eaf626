package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
	"gaffer/internal/text/cells"
)

func TestEveryScreenAtSeveralSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []Size{{Width: 200, Height: 50}, {Width: 80, Height: 24}, {Width: 40, Height: 12}} {
		at := func(what ...any) Model { return screenOf(size.Width, size.Height, what...) }
		for name, m := range map[string]Model{
			"fleet":    at(),
			"run":      at(onRun, release()),
			"task":     at(onRun, release(), "j enter", apiTask(), logOf(40)),
			"log":      at(onRun, release(), "j l", apiTask(), logOf(40), "up up"),
			"question": at("j enter"),
			"help":     at("?"),
			"cancel":   at(onRun, release(), "C"),
			"filter":   at("/ b u i l d"),
			"away":     at(Outage{before(time.Minute), "cannot be reached: connection refused"}),
		} {
			golden(t, fmt.Sprintf("%s-%dx%d.golden", name, size.Width, size.Height), picture(m))
		}
	}
}

func TestEveryColourHasASignBesideIt(t *testing.T) {
	t.Parallel()
	m := screenOf(100, 24, onRun, release())
	m.Color = true
	golden(t, "run-color.golden", strings.ReplaceAll(picture(m), "\x1b", "␛"))
	if m.Color = false; strings.Contains(picture(m), "\x1b") {
		t.Error("escape sequences without colour")
	}
}

// spoilt returns a fleet, a run, a task and a log in which every text is hostile.
func spoilt() (Fleet, fleet.Run, Task, Log) {
	f, r, task := everything(), release(), apiTask()
	for i := range f.Runs {
		f.Runs[i].Name, f.Runs[i].Stopping, f.Runs[i].Project = hostile, hostile, hostile
	}
	for i := range f.Workers {
		w := &f.Workers[i]
		w.Name, w.ClaudeStatus, w.Source, w.Version, w.Labels, w.Task = hostile, hostile, hostile, hostile, []string{hostile}, hostile
	}
	for i := range f.Questions {
		q := &f.Questions[i]
		q.Task, q.Text, q.Default, q.Options = hostile, strings.Repeat(hostile, 30), hostile, []string{hostile, hostile}
	}
	f.Lanes = []fleet.Lane{{Name: hostile, Reason: hostile, Until: now.Add(time.Hour)}}
	r.Name, r.Stopping, r.Lanes = hostile, hostile, f.Lanes
	for i := range r.Tasks {
		x := &r.Tasks[i]
		x.Name, x.Agent, x.Model, x.Branch, x.Outcome = hostile, hostile, hostile, hostile, hostile
		if x.Attempt != nil {
			x.Attempt.Doing, x.Attempt.Source, x.Attempt.Summary, x.Attempt.Class = hostile, hostile, hostile, hostile
		}
	}
	task.Prompt = strings.Repeat(hostile, 100)
	task.Attempts[0].Summary, task.Attempts[0].Worker = hostile, hostile
	return f, r, task, logOf(100)
}

// The screen can be drawn at every size. Its rows never exceed it, and never contain control
// sequences of other programs.
func TestNoRowExceedsTheScreenAndNoControlSequenceIsShown(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	f, r, task, log := spoilt()
	for _, keys := range []string{"", "enter", "enter 1", "c", "?", "tab c", "/ x", onRun, onRun + " C", onRun + " a d enter", onTask, onTask + " l up", onTask + " right", "enter x tab"} {
		m := take(New("", "", now), Size{Width: 80, Height: 24}, f)
		for name := range strings.FieldsSeq(keys) {
			m = take(m, name, r, task, log)
		}
		m = take(m, Outage{before(time.Hour), hostile})
		for width := 0; width < 130; width += 1 + width/10 {
			for _, height := range []int{0, 1, 2, 3, 4, 5, 8, 24, 60} {
				sized := take(m, Size{Width: width, Height: height})
				fitsOn(t, sized, keys, width, height)
				fitsOn(t, take(sized, Result{Text: hostile, Failed: true}), keys, width, height)
			}
		}
	}
}

func fitsOn(t *testing.T, m Model, keys string, width, height int) {
	t.Helper()
	rows := m.Rows()
	if len(rows) > height {
		t.Fatalf("%q: %d rows on %dx%d", keys, len(rows), width, height)
	}
	for _, row := range rows {
		if cells.Width(row) > width || strings.ContainsFunc(row, steers) {
			t.Fatalf("%q: %q on %dx%d", keys, row, width, height)
		}
	}
}

func steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

func TestAFleetThatIsNotReadForAWhileIsShownAsAway(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24)
	if strings.Contains(picture(take(m, now.Add(10*time.Second))), "away") {
		t.Error("away after ten seconds")
	}
	m = take(m, now.Add(time.Minute))
	if p := picture(m); !strings.Contains(p, "✗ away since 14:30:00, 1m; ") {
		t.Error(p)
	}
	m = take(m, everything())
	if strings.Contains(picture(m), "away") {
		t.Error("still away")
	}
}

func TestAResultIsShownForAWhile(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, resultOf("", errors.New("no such run")))
	if p := picture(m); !strings.Contains(p, "✗ no such run") {
		t.Error(p)
	}
	if p := picture(take(m, now.Add(11*time.Second))); strings.Contains(p, "no such run") {
		t.Error("it stays")
	}
}

// A run with 5,000 tasks is drawn once per second and after every key.
func BenchmarkFiveThousandTasks(b *testing.B) {
	r := release()
	for i := range 5000 {
		r.Tasks = append(r.Tasks, fleet.Task{Run: r.ID, ID: fmt.Sprintf("t%04d", i), Status: fleet.Queued})
	}
	m := screenOf(200, 50, onRun, r)
	for b.Loop() {
		m = take(m, "j")
		_ = m.Rows()
	}
}
