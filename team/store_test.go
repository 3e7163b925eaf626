package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

var ctx = context.Background()

func begin(t *testing.T) *Store {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "coordination"), noon)
	if _, err := s.Init(ctx, "Build it"); err != nil {
		t.Fatal(err)
	}
	return s
}

func resume(t *testing.T, s *Store) Snapshot {
	t.Helper()
	snap, err := s.Resume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestInitCreatesAllSixDocumentsOfAValidSession(t *testing.T) {
	s := begin(t)
	if found := validate(t, s.Root()); len(found) > 0 {
		t.Error(found)
	}
	snap := resume(t, s)
	if snap.SessionID() != "v4_20250106_120000" || snap.Phase != Initialization || snap.PM.Mode != Unplanned {
		t.Errorf("%+v", snap)
	}
	if text := string(readFile(t, s.path(OrchestratorDoc))); !strings.Contains(text, `"end_time": null`) {
		t.Error(text)
	}
	if text := string(readFile(t, s.path(PMStateDoc))); !strings.Contains(text, `"mode": null`) {
		t.Error(text)
	}
}

func TestInitBesideASessionIsRefused(t *testing.T) {
	s := begin(t)
	before := string(readFile(t, s.path(PMStateDoc)))
	_, err := s.Init(ctx, "Something else")
	var exists *SessionExistsError
	if !errors.As(err, &exists) || exists.SessionID != "v4_20250106_120000" || !strings.Contains(exists.Hint(), "--new") {
		t.Error(err)
	}
	if before != string(readFile(t, s.path(PMStateDoc))) {
		t.Error("the session changed")
	}
	var wrong *RequirementsError
	for _, text := range []string{"", " \n", "caf\xe9"} {
		if _, err := s.Init(ctx, text); !errors.As(err, &wrong) {
			t.Error(err)
		}
	}
}

func TestANewSessionArchivesTheOldOneAndLeavesOtherFilesAlone(t *testing.T) {
	s := begin(t)
	put(t, s.Root(), PMStateDoc, []byte(`{"session_id": "v4_20250106_120000", "mine": 1}`))
	for _, name := range []string{"notes.md", "messages/extra.json"} {
		if err := os.WriteFile(filepath.Join(s.Root(), name), []byte("keep"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	id, archive, err := s.InitNew(ctx, "Again")
	if err != nil || id != "v4_20250106_120000_2" || filepath.Base(archive) != "v4_20250106_120000" {
		t.Fatal(id, archive, err)
	}
	if got := string(readFile(t, filepath.Join(archive, "pm_state.json"))); got != `{"session_id": "v4_20250106_120000", "mine": 1}` {
		t.Error(got)
	}
	for _, d := range Documents() {
		readFile(t, filepath.Join(archive, d.Path()))
		readFile(t, s.path(d))
	}
	for _, name := range []string{"notes.md", "messages/extra.json"} {
		if string(readFile(t, filepath.Join(s.Root(), name))) != "keep" {
			t.Errorf("%s is gone", name)
		}
	}
	if resume(t, s).PM.OriginalRequirements != "Again" {
		t.Error("the old session is still there")
	}
	if found := validate(t, s.Root()); len(found) > 0 {
		t.Error(found)
	}
}

func TestArchiveMovesExistingDocumentsAndNeverOverwrites(t *testing.T) {
	s := begin(t)
	for i, want := range []string{"v4_20250106_120000", "v4_20250106_120000_2"} {
		put(t, s.Root(), PMStateDoc, fmt.Appendf(nil, `{"session_id": "v4_20250106_120000", "n": %d}`, i))
		archive, err := s.Archive(ctx)
		if err != nil || filepath.Base(archive) != want {
			t.Fatal(archive, err)
		}
	}
	var none *NoSessionError
	if _, err := s.Archive(ctx); !errors.As(err, &none) {
		t.Error(err)
	}
	if _, err := s.Resume(ctx); !errors.As(err, &none) {
		t.Error(err)
	}
	for _, data := range []string{"{", `{"session_id": "../../etc"}`, `{"session_id": 7}`, strings.Repeat(" ", 100)} {
		put(t, s.Root(), PMStateDoc, []byte(data))
		archive, err := s.Archive(ctx)
		if err != nil || !strings.HasPrefix(filepath.Base(archive), "unknown_20250106_120000") {
			t.Fatal(archive, err)
		}
		if got := string(readFile(t, filepath.Join(archive, "pm_state.json"))); got != data {
			t.Errorf("archived %q", got)
		}
	}
}

func TestAPathThatIsNoDocumentIsRefusedOrMovedWithoutBlocking(t *testing.T) {
	s := begin(t)
	for name, make := range map[string]func(path string) error{
		"folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "inside"), 0o755) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"huge":   func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"deep":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("[", 10_000)), 0o644) },
	} {
		path := s.path(PMStateDoc)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if name == "huge" {
			if err := os.Truncate(path, 100<<20); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Resume(ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := s.Start(ctx, PM, "", ""); err == nil {
			t.Errorf("%s: written to", name)
		}
		found := validate(t, s.Root())
		if len(found) == 0 || found[0].Severity != statefile.Invalid {
			t.Errorf("%s: found %v", name, found)
		}
		archive, err := s.Archive(ctx)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(archive, "pm_state.json")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALinkIsNotArchived(t *testing.T) {
	s := begin(t)
	elsewhere := filepath.Join(t.TempDir(), "pm.json")
	if err := errors.Join(os.Rename(s.path(PMStateDoc), elsewhere), os.Symlink(elsewhere, s.path(PMStateDoc))); err != nil {
		t.Fatal(err)
	}
	var link *LinkError
	if _, err := s.Archive(ctx); !errors.As(err, &link) {
		t.Error(err)
	}
	if resume(t, s).SessionID() == "" {
		t.Error("the session is gone")
	}
}

func TestAnInvalidPlanFileIsNotExecuted(t *testing.T) {
	for _, text := range []string{
		"{", "null garbage", `{"move": ["../../etc/passwd"], "archive": "x"}`, `{"move": ["pm_state"], "archive": "../up"}`,
		`{"move": ["pm_state"]}`, `{"move": "pm_state"}`, strings.Repeat("[", 5000),
	} {
		s := begin(t)
		if err := os.WriteFile(s.changePath(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := s.Resume(ctx)
		var plan *PlanError
		if !errors.As(err, &plan) {
			t.Errorf("%q: %v", text, err)
		}
		readFile(t, s.path(PMStateDoc))
	}
}

func TestASessionFromPlanToComplete(t *testing.T) {
	s := begin(t)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	say := func(by Role, group string, w Word) {
		t.Helper()
		_, err := s.Answer(ctx, by, group, Answer{Status: w, Summary: []string{"so"}})
		do(err)
	}
	do(s.Start(ctx, PM, "", "plan"))
	if snap := resume(t, s); snap.Phase != PMPlanning || len(snap.Orchestrator.ActiveAgents) != 1 {
		t.Fatalf("%+v", snap.Orchestrator)
	}
	do(s.Plan(ctx, Plan{Mode: Parallel, Groups: []TaskGroup{
		{ID: "A", Name: "First", Status: WorkPending}, {ID: "B", Name: "Second", Status: WorkPending, DependsOn: List[string]{"A"}},
	}, Phases: []ExecutionPhase{{PhaseNumber: 1, GroupIDs: List[string]{"A"}}, {PhaseNumber: 2, GroupIDs: List[string]{"B"}}}}))
	if err := s.Start(ctx, Developer, "B", ""); err == nil || !strings.Contains(err.Error(), "phase is not open") {
		t.Fatal(err)
	}
	for _, id := range []string{"A", "B"} {
		do(s.Start(ctx, Developer, id, "begin"))
		say(Developer, id, WordBlocked)
		do(s.Start(ctx, TechLead, id, "help"))
		say(TechLead, id, WordUnblocked)
		do(s.Start(ctx, Developer, id, "go on"))
		say(Developer, id, WordReadyForQA)
		do(s.Start(ctx, QAExpert, id, "test"))
		say(QAExpert, id, WordPass)
		do(s.Start(ctx, TechLead, id, "review"))
		if _, err := s.Answer(ctx, PM, "", Answer{Status: WordComplete}); err == nil {
			t.Fatal("COMPLETE counted with an open group")
		}
		say(TechLead, id, WordApproved)
		if id == "A" {
			n, err := s.OpenPhase(ctx)
			do(err)
			if n != 2 {
				t.Fatal(n)
			}
		}
	}
	if snap := resume(t, s); snap.Phase != PMFinalCheck || snap.Progress.Percentage != 100 {
		t.Fatalf("%+v", snap)
	}
	do(s.Start(ctx, PM, "", "check"))
	say(PM, "", WordComplete)
	snap := resume(t, s)
	o := snap.Orchestrator
	if o.Status != SessionCompleted || o.EndTime.IsZero() || o.CurrentPhase != Completed || len(o.ActiveAgents) != 0 {
		t.Errorf("%+v", o)
	}
	if o.Iteration != 12 || o.TotalSpawns != 12 || len(o.DecisionsLog) != 12 {
		t.Errorf("%d iterations, %d spawns", o.Iteration, o.TotalSpawns)
	}
	if g, _ := snap.Groups.Find("B"); g.Iterations != (Iterations{2, 1, 1}) || !g.Blockers[0].Resolved {
		t.Errorf("%+v", g)
	}
	for _, p := range snap.PM.ExecutionPhases {
		if p.Status != WorkComplete {
			t.Errorf("%+v", p)
		}
	}
	if snap.PM.TaskGroups[1].Status != WorkComplete || !slices.Equal(snap.PM.CompletedGroups, []string{"A", "B"}) {
		t.Errorf("%+v", snap.PM)
	}
	if found := validate(t, s.Root()); len(found) > 0 {
		t.Error(found)
	}
}

func TestStartsAreRefusedWithoutFreeDevelopersOrDependencies(t *testing.T) {
	s := begin(t)
	if err := s.Plan(ctx, Plan{Mode: Parallel, Groups: groupsOf("A", "F: A")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx, Developer, "F", ""); err == nil || !strings.Contains(err.Error(), "depends on") {
		t.Error(err)
	}
	if err := s.Plan(ctx, Plan{Mode: Parallel, Groups: groupsOf("A", "B", "C", "D", "E"), Phases: phasesOf("A B C D", "E")}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"A", "B", "C", "D"} {
		if err := s.Start(ctx, Developer, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Start(ctx, Developer, "E", ""); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Error(err)
	}
	if err := s.Start(ctx, Developer, "A", ""); err == nil {
		t.Error("started twice")
	}
	var unknown *GroupError
	if err := s.Start(ctx, Developer, "Z", ""); !errors.As(err, &unknown) {
		t.Error(err)
	}
}

func TestAGroupHasOneAgentAtATime(t *testing.T) {
	for name, say := range map[string][]struct {
		by   Role
		word Word
	}{
		"developer blocked": {{Developer, WordBlocked}},
		"QA blocked":        {{Developer, WordReadyForQA}, {QAExpert, WordBlocked}},
		"flaky tests":       {{Developer, WordReadyForQA}, {QAExpert, WordFlaky}},
		"in review":         {{Developer, WordReadyForReview}},
	} {
		s := begin(t)
		err := s.Plan(ctx, Plan{Mode: Simple, Groups: []TaskGroup{{ID: "main"}}})
		for _, a := range say {
			err = errors.Join(err, s.Start(ctx, a.by, "main", ""))
			_, answerErr := s.Answer(ctx, a.by, "main", Answer{Status: a.word, Summary: []string{"so"}})
			err = errors.Join(err, answerErr)
		}
		if err = errors.Join(err, s.Start(ctx, TechLead, "main", "help")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := resume(t, s)
		for _, by := range []Role{Developer, QAExpert, TechLead} {
			var start *StartError
			if err := s.Start(ctx, by, "main", "me too"); !errors.As(err, &start) {
				t.Errorf("%s: %s beside the tech lead: %v", name, by, err)
			}
		}
		if diff := cmp.Diff(before, resume(t, s)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOnlyOneOfManyConcurrentStartsSucceeds(t *testing.T) {
	s := begin(t)
	if err := s.Plan(ctx, Plan{Mode: Simple, Groups: []TaskGroup{{ID: "main"}}}); err != nil {
		t.Fatal(err)
	}
	for by, group := range map[Role]string{PM: "", Developer: "main"} {
		var let atomic.Int32
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if openAt(t, s.Root(), noon).Start(ctx, by, group, "") == nil {
					let.Add(1)
				}
			})
		}
		wg.Wait()
		if let.Load() != 1 {
			t.Errorf("%d of 5 were let in as %s", let.Load(), by)
		}
	}
}

func TestNoAgentIsStartedInASessionThatHasEnded(t *testing.T) {
	s := begin(t)
	if err := s.Plan(ctx, Plan{Mode: Parallel, Groups: groupsOf("A", "B")}); err != nil {
		t.Fatal(err)
	}
	running := string(readFile(t, s.path(OrchestratorDoc)))
	for _, status := range []string{"completed", "error"} {
		put(t, s.Root(), OrchestratorDoc, []byte(strings.Replace(running, `"running"`, strconv.Quote(status), 1)))
		for by, group := range map[Role]string{PM: "", Developer: "A"} {
			if err := s.Start(ctx, by, group, ""); err == nil || !strings.Contains(err.Error(), status) {
				t.Errorf("%s in a session that is %s: %v", by, status, err)
			}
		}
	}
}

func TestTheProjectManagerWorksOnNoGroup(t *testing.T) {
	s := begin(t)
	if err := s.Plan(ctx, Plan{Mode: Simple, Groups: []TaskGroup{{ID: "main"}}}); err != nil {
		t.Fatal(err)
	}
	var start *StartError
	if err := s.Start(ctx, PM, "main", ""); !errors.As(err, &start) {
		t.Error(err)
	}
}

func TestAChangeThatOneDocumentRefusesWritesNothing(t *testing.T) {
	plan := func(s *Store) error { return s.Plan(ctx, Plan{Mode: Parallel, Groups: groupsOf("A", "B")}) }
	start := func(s *Store) error { return s.Start(ctx, Developer, "A", "go") }
	answer := func(s *Store) error {
		_, err := s.Answer(ctx, Developer, "A", Answer{Status: WordBlocked, Summary: []string{"so"}})
		return err
	}
	spoil := func(d Document, old, now string) func(*Store) error {
		return func(s *Store) error {
			text := strings.Replace(string(readFile(t, s.path(d))), old, now, 1)
			return os.WriteFile(s.path(d), []byte(text), 0o644)
		}
	}
	remove := func(d Document) func(*Store) error { return func(s *Store) error { return os.Remove(s.path(d)) } }
	for name, c := range map[string]struct {
		prepare []func(*Store) error
		move    func(*Store) error
	}{
		"start without a plan":            {[]func(*Store) error{plan, remove(PMStateDoc)}, start},
		"start without groups":            {[]func(*Store) error{plan, remove(GroupStatusDoc)}, start},
		"start without decisions":         {[]func(*Store) error{plan, remove(OrchestratorDoc)}, start},
		"start on counters that are none": {[]func(*Store) error{plan, spoil(GroupStatusDoc, `"iterations": {`, `"iterations": 0, "were": {`)}, start},
		"start with agents as a text":     {[]func(*Store) error{plan, spoil(OrchestratorDoc, `"active_agents": []`, `"active_agents": "none"`)}, start},
		"answer with blockers as a text":  {[]func(*Store) error{plan, start, spoil(GroupStatusDoc, `"blockers": []`, `"blockers": "none"`)}, answer},
		"plan with agents as a text":      {[]func(*Store) error{spoil(OrchestratorDoc, `"active_agents": []`, `"active_agents": "none"`)}, plan},
		"plan without groups":             {[]func(*Store) error{remove(GroupStatusDoc)}, plan},
	} {
		s := begin(t)
		for _, step := range c.prepare {
			if err := step(s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		before := folderText(t, s)
		if err := c.move(s); err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(before, folderText(t, s)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// folderText returns the text of the state files.
func folderText(t *testing.T, s *Store) map[Document]string {
	t.Helper()
	text := map[Document]string{}
	for _, d := range Documents() {
		if data, err := os.ReadFile(s.path(d)); err == nil {
			text[d] = string(data)
		}
	}
	return text
}

func TestAPlanningOrContinuingPMIsRemovedAndTheSessionContinues(t *testing.T) {
	s := begin(t)
	if err := s.Plan(ctx, Plan{Mode: Simple, Groups: []TaskGroup{{ID: "main"}}}); err != nil {
		t.Fatal(err)
	}
	for _, word := range []Word{WordPlanned, WordContinue} {
		if err := s.Start(ctx, PM, "", "so"); err != nil {
			t.Fatal(err)
		}
		next, err := s.Answer(ctx, PM, "", Answer{Status: word})
		o := resume(t, s).Orchestrator
		if err != nil || len(next.Roles) > 0 || next.Session || len(o.ActiveAgents) > 0 || o.Status != SessionRunning || !o.EndTime.IsZero() {
			t.Errorf("%s: %v %v, %+v", word, next, err, o)
		}
	}
}

func TestAnUnknownWordBlocksTheGroupAndIsReported(t *testing.T) {
	s := begin(t)
	err := errors.Join(s.Plan(ctx, Plan{Mode: Simple, Groups: []TaskGroup{{ID: "main"}}}), s.Start(ctx, Developer, "main", ""))
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.Answer(ctx, Developer, "main", Answer{Status: "DONE"})
	var unknown *UnknownWordError
	if !errors.As(err, &unknown) || !slices.Equal(next.Roles, []Role{TechLead}) {
		t.Error(next, err)
	}
	g, _ := resume(t, s).Groups.Find("main")
	if g.Status != DevBlocked || !strings.Contains(g.Blockers[0].Description, `"DONE"`) {
		t.Errorf("%+v", g)
	}
}

func TestMessagesHaveIdsOfTheirOwnThatSort(t *testing.T) {
	s := begin(t)
	var ids []string
	for range 3 {
		for _, c := range channels {
			m, err := s.Send(ctx, Draft{Group: "A", From: c.from, To: c.to, Subject: "S"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, m.ID)
		}
	}
	if ids[0] != "msg_20250106_120000" || ids[1] != "msg_20250106_120000_0002" || !slices.IsSorted(ids) {
		t.Error(ids)
	}
	all, err := s.Messages(ctx, Filter{})
	if err != nil || len(all) != 9 {
		t.Fatal(all, err)
	}
	for i, m := range all {
		if m.ID != ids[i] {
			t.Errorf("%d is %s", i, m.ID)
		}
	}
	if found := validate(t, s.Root()); len(found) > 0 {
		t.Error(found)
	}
}

func TestParallelSendsKeepEveryMessage(t *testing.T) {
	s := begin(t)
	const senders, each = 8, 5
	var wg sync.WaitGroup
	for range senders {
		other := openAt(t, s.Root(), noon)
		wg.Go(func() {
			for range each {
				if _, err := other.Send(ctx, Draft{Group: "A", From: Developer, To: QAExpert, Subject: "S"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := s.Messages(ctx, Filter{To: QAExpert, Unread: true})
	if err != nil || len(all) != senders*each {
		t.Fatal(len(all), err)
	}
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.ID] = true
	}
	if len(ids) != senders*each {
		t.Errorf("%d ids", len(ids))
	}
}

func TestReadingAndAcknowledging(t *testing.T) {
	s := openAt(t, seedFolder(t), noon)
	unread, err := s.Messages(ctx, Filter{Unread: true})
	if err != nil || len(unread) != 2 || unread[0].ID != "msg_20250106_101000" {
		t.Fatal(unread, err)
	}
	review, ok := unread[0].Body.(*Review)
	if !ok || review.Issues[0].Priority != "high" || review.Decision != DecisionChangesRequested {
		t.Errorf("%+v", unread[0].Body)
	}
	for range 2 {
		if err := s.Acknowledge(ctx, unread[0].ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := s.Messages(ctx, Filter{Unread: true, Group: "A"}); len(left) != 1 || left[0].To != TechLead {
		t.Error(left)
	}
	var missing *MessageError
	for _, id := range []string{"msg_none", "", "../x"} {
		if err := s.Acknowledge(ctx, id, ""); !errors.As(err, &missing) || !missing.NotFound() {
			t.Error(err)
		}
	}
	twin := strings.ReplaceAll(string(seed(t, DevToQADoc)), "msg_20250106_100800", "msg_20250106_101200")
	put(t, s.Root(), DevToQADoc, []byte(twin))
	if err := s.Acknowledge(ctx, "msg_20250106_101200", ""); !errors.As(err, &missing) || !missing.Conflict() {
		t.Error(err)
	}
	if err := s.Acknowledge(ctx, "msg_20250106_101200", TechLead); err != nil {
		t.Error(err)
	}
}

func TestWrongMessagesAreRefused(t *testing.T) {
	s := begin(t)
	var pair *PairError
	if _, err := s.Send(ctx, Draft{Group: "A", From: QAExpert, To: Developer, Subject: "S"}); !errors.As(err, &pair) {
		t.Error(err)
	}
	var body *BodyError
	for _, d := range []Draft{
		{From: Developer, To: QAExpert, Subject: "no group"},
		{Group: "A", From: Developer, To: QAExpert},
		{Group: "A", From: Developer, To: QAExpert, Subject: "S", Body: &Review{}},
		{Group: "A", From: QAExpert, To: TechLead, Subject: "S", Body: &TestReport{Result: "OK"}},
	} {
		if _, err := s.Send(ctx, d); !errors.As(err, &body) {
			t.Error(err)
		}
	}
	if all, _ := s.Messages(ctx, Filter{}); len(all) != 0 {
		t.Error(all)
	}
}

func TestBodiesAreMadeFromFields(t *testing.T) {
	b, err := NewBody(TechLead, Developer, []Field{
		{"decision", "changes_requested"},
		{"actionable_items", "one"},
		{"actionable_items", "two"},
		{"issues", `{"priority": "low", "title": "T"}`},
	})
	if r, ok := b.(*Review); err != nil || !ok || r.Issues[0].Title != "T" || len(r.ActionableItems) != 2 {
		t.Error(b, err)
	}
	b, err = NewBody(Developer, QAExpert, []Field{{"notes", "N"}, {"context.commits", "abc"}, {"status", "READY_FOR_QA"}})
	if h, ok := b.(*Handoff); err != nil || !ok || h.Context.Notes != "N" || h.Context.Commits[0] != "abc" {
		t.Error(b, err)
	}
	if b, err := NewBody(Developer, QAExpert, []Field{{"notes", "one"}, {"context.notes", "two"}}); err == nil {
		t.Errorf("one of two texts is lost: %+v", b)
	}
	if b, err := ParseBody(Developer, QAExpert, []byte(`{"context": {"notes": ["one", "two"]}}`)); err == nil {
		t.Errorf("one of two texts is lost: %+v", b)
	}
	for _, f := range []Field{{"nots", "x"}, {"read", "true"}, {"id", "x"}, {"context", "x"}} {
		if _, err := NewBody(Developer, QAExpert, []Field{f}); err == nil {
			t.Errorf("%v taken", f)
		}
	}
	for _, f := range []Field{{"decision", "yes"}, {"issues", "x"}, {"issues", `{"severity": 1}`}, {"issues", "[]"}} {
		if _, err := NewBody(TechLead, Developer, []Field{f}); err == nil {
			t.Errorf("%v taken", f)
		}
	}
}

func TestACorruptMessageFileIsKeptAndStateFilesAreNotReplaced(t *testing.T) {
	s := begin(t)
	var notices []statefile.Notice
	s = Open(s.Root(), Options{Now: func() time.Time { return noon }, Notice: func(n statefile.Notice) { notices = append(notices, n) }})
	old := time.Now().Add(-time.Hour)
	for _, d := range []Document{DevToQADoc, PMStateDoc} {
		put(t, s.Root(), d, []byte("{half"))
		if err := os.Chtimes(s.path(d), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Send(ctx, Draft{Group: "A", From: Developer, To: QAExpert, Subject: "S"}); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(s.path(DevToQADoc) + ".corrupt-*")
	if err != nil || len(kept) != 1 || string(readFile(t, kept[0])) != "{half" || len(notices) != 1 {
		t.Error(kept, notices, err)
	}
	var corrupt *statefile.CorruptError
	if err := s.Start(ctx, PM, "", ""); !errors.As(err, &corrupt) {
		t.Error(err)
	}
	if string(readFile(t, s.path(PMStateDoc))) != "{half" {
		t.Error("a state file was replaced")
	}
}

func TestWithoutAFolderThereIsNoSession(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "none"), noon)
	_, archiveErr := s.Archive(ctx)
	_, resumeErr := s.Resume(ctx)
	_, sendErr := s.Send(ctx, Draft{Group: "A", From: Developer, To: QAExpert, Subject: "S"})
	for _, err := range []error{archiveErr, resumeErr, sendErr, s.Acknowledge(ctx, "x", ""), s.Start(ctx, PM, "", "")} {
		var none *NoSessionError
		if !errors.As(err, &none) {
			t.Error(err)
		}
	}
	if _, err := os.Stat(s.Root()); err == nil {
		t.Error("a folder was made")
	}
}

func TestAWaitForTheLockEnds(t *testing.T) {
	s := begin(t)
	lock, err := host.OS().Lock(ctx, "test", filepath.Join(s.Root(), lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	other := Open(s.Root(), Options{LockTimeout: 20 * time.Millisecond})
	var held *statefile.LockError
	if _, err := other.Archive(ctx); !errors.As(err, &held) {
		t.Error(err)
	}
	if _, err := other.Resume(ctx); err != nil {
		t.Errorf("a reader waited: %v", err)
	}
}
