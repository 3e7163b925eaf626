package watch

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
)

func TestEnterOpensAScreenAndEscapeClosesIt(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24)
	m, do := does(m, onRun)
	if want := []any{Focus{Run: releaseID}}; !reflect.DeepEqual(do, want) {
		t.Fatalf("a run that is opened: %v, want %v", do, want)
	}
	m = take(m, release())
	m, do = does(m, "j enter")
	if want := []any{Focus{releaseID, "api"}}; !reflect.DeepEqual(do, want) {
		t.Fatalf("a task that is opened: %v, want %v", do, want)
	}
	m, do = does(m, "a")
	if len(do) > 0 || question(m).id != "q2" {
		t.Errorf("the run's question is %q, %v", question(m).id, do)
	}
	m, _ = does(m, "esc")
	if m, do = does(m, "esc"); !reflect.DeepEqual(do, []any{Focus{Run: releaseID}}) || !on[runList](m) {
		t.Errorf("back from the task: %v", do)
	}
	if m, do = does(m, "esc"); !reflect.DeepEqual(do, []any{Focus{}}) || !on[fleetList](m) {
		t.Errorf("back from the run: %v", do)
	}
	if _, do = does(m, "esc"); len(do) > 0 {
		t.Errorf("back from the fleet: %v", do)
	}
	if _, do = does(m, "q"); !reflect.DeepEqual(do, []any{Quit{}}) {
		t.Errorf("left: %v", do)
	}
}

func TestARunThatIsNamedIsShownAtOnce(t *testing.T) {
	t.Parallel()
	m, do := New("", releaseID, now).Update(Size{Width: 80, Height: 24})
	if want := []any{Focus{Run: releaseID}}; !reflect.DeepEqual(do, want) {
		t.Errorf("%v, want %v", do, want)
	}
	if p := picture(m); !strings.Contains(p, "reading run "+releaseID) {
		t.Error(p)
	}
}

func TestEnterOnAWorkerOpensItsTask(t *testing.T) {
	t.Parallel()
	_, do := does(screenOf(80, 24), "tab tab enter")
	if want := []any{Focus{releaseID, "page"}}; !reflect.DeepEqual(do, want) {
		t.Errorf("%v, want %v", do, want)
	}
	m, do := does(screenOf(80, 24), "G enter")
	if len(do) > 0 || !strings.Contains(picture(m), "this worker has no task") {
		t.Errorf("%v\n%s", do, picture(m))
	}
}

// The chosen row stays chosen when other rows appear and disappear.
func TestTheCursorStaysWithItsRow(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, "tab")
	f := everything()
	f.Questions = append(f.Questions, fleet.Question{ID: "q3", Text: "new", Asked: now})
	m = take(m, f)
	if it := chosen(m); it != (item{runItem, releaseID}) {
		t.Errorf("%v is chosen", it)
	}
	f.Runs = f.Runs[:1]
	if it := chosen(take(m, f)); it.kind != runItem && it.kind != questionItem {
		t.Errorf("%v is chosen after it went away", it)
	}
	if it := chosen(take(m, Fleet{})); it != (item{}) {
		t.Errorf("%v is chosen of nothing", it)
	}
	// Before the user moves the cursor, the most urgent row is chosen.
	fresh := screenOf(80, 24)
	f.Questions = append([]fleet.Question{{ID: "q0", Text: "older", Asked: before(time.Hour)}}, f.Questions...)
	if it := chosen(take(fresh, f)); it.id != "q0" {
		t.Errorf("%v is chosen", it)
	}
}

func TestTheCursorReachesEveryRowAndStaysVisible(t *testing.T) {
	t.Parallel()
	f := everything()
	for i := range 60 {
		f.Workers = append(f.Workers, fleet.Worker{ID: string(rune('A' + i)), Name: strings.Repeat("x", i)})
	}
	m := take(New("", "", now), Size{Width: 80, Height: 12}, f)
	seen := map[string]bool{}
	for range 100 {
		id := chosen(m).id
		seen[id] = true
		if !strings.Contains(picture(m), "|▸ ") {
			t.Fatalf("%s is out of sight\n%s", id, picture(m))
		}
		m = take(m, "down")
	}
	if len(seen) != 2+3+63 {
		t.Errorf("%d rows were reached", len(seen))
	}
	for _, keys := range []string{"pgup", "g", "pgdown", "G", "tab", "shift+tab", "home", "end"} {
		if m = take(m, keys); !strings.Contains(picture(m), "|▸ ") {
			t.Errorf("%s: out of sight\n%s", keys, picture(m))
		}
	}
}

func TestTabMovesThroughTheSectionsInBothDirections(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24)
	for _, want := range []itemKind{runItem, workerItem, questionItem} {
		if m = take(m, "tab"); chosen(m).kind != want {
			t.Errorf("tab leads not to %v", want)
		}
	}
	for _, want := range []itemKind{workerItem, runItem, questionItem} {
		if m = take(m, "shift+tab"); chosen(m).kind != want {
			t.Errorf("shift+tab leads not to %v", want)
		}
	}
}

func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]Answer{
		"2 enter":             {"q2", "0c0ffee0/page", fleet.Reply{Text: "No"}},
		"down down enter":     {"q2", "0c0ffee0/page", fleet.Reply{Text: "No"}},
		"up enter":            {"q2", "0c0ffee0/page", fleet.Reply{Text: "Always in this folder"}},
		"o k enter":           {"q2", "0c0ffee0/page", fleet.Reply{Text: "ok"}},
		"d o enter":           {"q2", "0c0ffee0/page", fleet.Reply{Text: "do"}},
		"x backspace 1 enter": {"q2", "0c0ffee0/page", fleet.Reply{Text: "Yes"}},
		"x ctrl+u 1 enter":    {"q2", "0c0ffee0/page", fleet.Reply{Text: "Yes"}},
		"d enter y":           {"q2", "0c0ffee0/page", fleet.Reply{Text: "", Deny: true}},
		"n o ctrl+d y":        {"q2", "0c0ffee0/page", fleet.Reply{Text: "no", Deny: true}},
	} {
		m := screenOf(80, 24, "j enter")
		_, do := does(m, keys)
		if !reflect.DeepEqual(do, []any{want}) {
			t.Errorf("%s: %v, want %v", keys, do, want)
		}
	}
}

func TestAPermissionIsAllowedForTheTaskForTheRunOrAlways(t *testing.T) {
	t.Parallel()
	f := everything()
	for i := range f.Questions {
		if q := &f.Questions[i]; q.ID == "q2" {
			q.Options, q.Tool, q.Suggestions = []string{"allow", "deny"}, "Bash", []string{"Bash(npm run build:*)"}
		}
	}
	m := take(New("", "", now), Size{Width: 80, Height: 24}, f, "j enter")
	p := picture(m)
	for _, want := range []string{"1 allow", "2 deny", "3 allow for this task: Bash(npm run build:*)", "4 allow for this run", "5 always allow"} {
		if !strings.Contains(p, want) {
			t.Errorf("%s is missing\n%s", want, p)
		}
	}
	lasting := func(s fleet.GrantScope) []any {
		return []any{Answer{"q2", "0c0ffee0/page", fleet.Reply{Text: "allow", Scope: s, Rule: "Bash(npm run build:*)"}}}
	}
	for keys, want := range map[string][]any{
		"3 enter": lasting(fleet.GrantTask), "4 enter": lasting(fleet.GrantRun), "5 enter": nil, "5 enter n": nil, "up enter y": lasting(fleet.GrantAlways),
	} {
		if _, do := does(m, keys); !reflect.DeepEqual(do, want) {
			t.Errorf("%s: %v, want %v", keys, do, want)
		}
	}
}

func TestANumberThatNoOptionHasIsNotSent(t *testing.T) {
	t.Parallel()
	m, do := does(screenOf(80, 24, "j enter"), "7 enter")
	if p := picture(m); len(do) > 0 || question(m).input != "7" || !strings.Contains(p, "option 7: the question has 3 options") {
		t.Errorf("does %v, typed %q\n%s", do, question(m).input, p)
	}
}

func TestAQuestionOfTheRunIsAnsweredBeforeTheFleetIsReadAgain(t *testing.T) {
	t.Parallel()
	f := everything()
	f.Questions = nil
	m := take(New("", "", now), Size{Width: 80, Height: 24}, f, "enter", release(), "j j a")
	if _, do := does(m, "1 enter"); !reflect.DeepEqual(do, []any{Answer{"q2", "0c0ffee0/page", fleet.Reply{Text: "Yes"}}}) {
		t.Errorf("%v\n%s", do, picture(m))
	}
}

func TestDenyingIsConfirmed(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, "j enter n o ctrl+d")
	if p := picture(m); !strings.Contains(p, `Deny what 0c0ffee0/page of release 1.4 asks for, because "no"?`) {
		t.Error(p)
	}
	for _, k := range []string{"n", "enter", "esc", "d", "Y"} {
		if m, do := does(m, k); len(do) > 0 || question(m).input != "no" {
			t.Errorf("%s does %v", k, do)
		}
	}
}

func TestAnAnswerIsNotSentTwiceAndIsKeptIfItFails(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, "j enter 1 enter")
	if m, do := does(m, "1 enter"); len(do) > 0 || !strings.Contains(picture(m), "sending …") {
		t.Errorf("sent again: %v", do)
	}
	failed := take(m, Result{Text: "away", Failed: true, Question: "q2"})
	if question(failed).input != "1" {
		t.Errorf("what was typed is %q", question(failed).input)
	}
	if _, do := does(failed, "enter"); len(do) != 1 {
		t.Errorf("not sent again: %v", do)
	}
	if done := take(m, Result{Text: "answered", Question: "q2"}); !on[fleetList](done) {
		t.Error("the question stays")
	}
}

func TestWhatWasTypedForOneQuestionIsNotSentToAnother(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, "j enter 1")
	f := everything()
	f.Questions = f.Questions[:1]
	m = take(m, f)
	if m, do := does(m, "enter"); len(do) > 0 || !strings.Contains(picture(m), "no longer open") {
		t.Errorf("%v", do)
	}
	if _, do := does(m, "tab enter"); len(do) > 0 {
		t.Errorf("sent to the next: %v", do)
	}
}

func TestCancellingNamesItsTargetAndIsConfirmed(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]struct {
		asks string
		do   Cancel
	}{
		"tab c":        {"Cancel run release 1.4 (" + releaseID + ")? 2 agents are ended, 2 tasks", Cancel{releaseID, "", "run release 1.4"}},
		onRun + " j c": {"Cancel task api of release 1.4? Its agent is ended", Cancel{releaseID, "api", "task api of release 1.4"}},
		onRun + " j C": {"Cancel run release 1.4", Cancel{releaseID, "", "run release 1.4"}},
		onTask + " c":  {"Cancel task api of release 1.4?", Cancel{releaseID, "api", "task api of release 1.4"}},
		"j c":          {"Cancel task page of release 1.4?", Cancel{releaseID, "page", "task page of release 1.4"}},
		onRun + " G c": {"Cancel task ship of release 1.4? What waits", Cancel{releaseID, "ship", "task ship of release 1.4"}},
	} {
		m := screenOf(100, 24)
		for name := range strings.FieldsSeq(keys) {
			m = take(m, name, release())
		}
		if p := picture(m); !strings.Contains(p, want.asks) {
			t.Errorf("%s: want %q in\n%s", keys, want.asks, p)
		}
		if _, do := does(m, "n"); len(do) > 0 {
			t.Errorf("%s: no does %v", keys, do)
		}
		if _, do := does(m, "y"); !reflect.DeepEqual(do, []any{want.do}) {
			t.Errorf("%s: yes does %v", keys, do)
		}
	}
}

func TestAQuestionThatNoTaskAsksHasNoLogAndNothingToCancel(t *testing.T) {
	t.Parallel()
	f := everything()
	f.Questions = []fleet.Question{{ID: "q3", Task: "20260201-120000-cccccccc/port", Text: "Which port?", Asked: now}}
	for keys, want := range map[string]string{"l": "there is no log", "c": "there is nothing to cancel"} {
		m, do := does(take(New("", "", now), Size{Width: 80, Height: 24}, f), keys)
		if p := picture(m); len(do) > 0 || !on[fleetList](m) || m.confirm.action != nil || !strings.Contains(p, want) {
			t.Errorf("%s does %v\n%s", keys, do, p)
		}
	}
}

func TestOnlyFailedAndCancelledTasksAreRetried(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, onRun, release())
	if m, do := does(m, "r"); len(do) > 0 || !strings.Contains(picture(m), "task schema is complete: only") {
		t.Errorf("%v", do)
	}
	m = take(m, "/ m a i l enter")
	if _, do := does(m, "r"); !reflect.DeepEqual(do, []any{Retry{releaseID, "mail"}}) {
		t.Errorf("%v", do)
	}
}

func TestAFilterAppliesAtOnceAndEscapeRemovesIt(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, "/ B U I L D")
	if p := picture(m); strings.Contains(p, "nightly") || !strings.Contains(p, "build-2") {
		t.Error(p)
	}
	m = take(m, "enter down down")
	if p := picture(m); !strings.Contains(p, "|▸ ○ offline  build-2") {
		t.Error(p)
	}
	if p := picture(take(m, "esc")); !strings.Contains(p, "nightly") {
		t.Error(p)
	}
	if p := picture(take(m, "/ esc")); !strings.Contains(p, "nightly") {
		t.Error(p)
	}
}

func TestALogIsFollowedUntilTheUserScrollsBack(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, onRun, release(), "j enter", apiTask(), logOf(100))
	if p := picture(m); !strings.Contains(p, "line 100 green") {
		t.Fatal(p)
	}
	m = take(m, "l pgup")
	first := picture(m)
	if strings.Contains(first, "line 100 green") || !strings.Contains(first, "of 100, End follows") {
		t.Fatal(first)
	}
	more := Log{Run: releaseID, Task: "api", Lines: []string{"line 101", "line 102"}}
	same := func(p string) string { return p[strings.Index(p, "\n|line "):] }
	if p := picture(take(m, more)); same(p) != same(first) {
		t.Errorf("the lines moved\n%s\n%s", first, p)
	}
	if p := picture(take(m, more, "end")); !strings.Contains(p, "|line 102") {
		t.Error(p)
	}
	if p := picture(take(m, "g")); !strings.Contains(p, "|line 1 green") {
		t.Error(p)
	}
	if p := picture(take(m, "/ 9 7 enter")); !strings.Contains(p, "|line 97 green") || strings.Contains(p, "line 98") {
		t.Error(p)
	}
	// A new attempt has a new log, which is followed from its start.
	if p := picture(take(m, Log{Run: releaseID, Task: "api", Begin: true, Lines: []string{"afresh"}})); !strings.Contains(p, "|afresh") {
		t.Error(p)
	}
}

func TestTheKeptPartOfALogIsLimited(t *testing.T) {
	t.Parallel()
	m := screenOf(80, 24, onRun, release(), "j enter")
	for range 20 {
		m = take(m, Log{Run: releaseID, Task: "api", Lines: append(logOf(999).Lines, strings.Repeat("long", 100_000))})
	}
	log := m.top().(taskScreen).log
	if n := len(log.lines); n > maxLines*11/10 || n+log.lost != 20_000 {
		t.Errorf("%d lines are kept of %d", n, n+log.lost)
	}
	for _, line := range log.lines {
		if len(line) > maxLine+10 {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
}

func TestLateDataAboutAnotherRunOrTaskIsIgnored(t *testing.T) {
	t.Parallel()
	other := release()
	other.ID = "20260201-000000-dddddddd"
	m := screenOf(80, 24, onRun, release(), other)
	if m.known.run.ID != releaseID {
		t.Errorf("run %s is shown", m.known.run.ID)
	}
	m = take(m, "j enter", Log{Run: releaseID, Task: "page", Begin: true, Lines: []string{"of another"}})
	if strings.Contains(picture(m), "of another") {
		t.Error("the log of another task is shown")
	}
}
