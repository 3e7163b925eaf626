package teamstate

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/engine/failure"
	"gaffer/internal/testkit/testenv"
	"gaffer/team"
)

var (
	sessions = flag.Int("sessions", 0, "how many random sessions are run; 0 means as many as the test level wants")
	every    = flag.Uint64("documents", 50, "of how many random sessions one has its documents looked at after each fold")
	seedFlag = flag.Uint64("seed", 0, "run this random session alone, and say what happens")
)

func TestARandomSessionKeepsEveryRule(t *testing.T) {
	if *seedFlag != 0 {
		s := simulate(*seedFlag)
		for i, e := range s.history {
			t.Log(i, e)
		}
		if s.problem != "" {
			t.Error(s.problem)
		}
		return
	}
	if *sessions == 0 {
		*sessions = testenv.Count(100, 500, 20_000)
	}
	ends, folds := map[string]int{}, 0
	for seed := uint64(1); seed <= uint64(*sessions); seed++ {
		s := simulate(seed)
		if s.problem != "" {
			t.Fatalf("after %d folds: %s\nsee it with: go test ./internal/flow/teamstate -run %s -v -seed %d", len(s.history), s.problem, t.Name(), seed)
		}
		folds += len(s.history)
		for _, e := range s.session.history.log {
			ends[strings.SplitN(e.Decision, "_", 2)[0]]++
		}
		if o, _ := s.session.Outcome(); o.Completed {
			ends["completed"]++
		}
	}
	t.Log(ends, folds)
	for _, seen := range []string{"completed", "stop", "split", "help", "return", "refuse", "reduce", "resume", "deliver", "fail", "escalate"} {
		if ends[seen] == 0 {
			t.Errorf("no session has seen %q: the test shows too little", seen)
		}
	}
}

// simulate runs a random session to its end and replays it. It checks the documents at the end. In
// some sessions it also checks them after each event, which takes longer.
func simulate(seed uint64) *sim {
	s := newSim(seed)
	s.documents = seed%*every == 0
	s.checkInvariants(event{})
	s.run()
	s.checkDocuments()
	s.replay()
	return s
}

// applyEvent applies an event to the session and checks the result.
func (s *sim) applyEvent(e event, step *Step) {
	if s.problem != "" {
		return
	}
	was := s.picture
	if e.begin != nil {
		s.checkStart(*step, was)
	}
	s.history = append(s.history, e)
	if err := e.fold(s.session); err != nil {
		s.wrong("%s: %v", e, err)
		return
	}
	cause := s.follow(e, step)
	s.checkInvariants(e)
	s.checkMoves(was, step, cause)
	s.followHelp(was, step)
}

// checkStart checks that a step was allowed to start.
func (s *sim) checkStart(step Step, previous team.Contents) {
	developers := 0
	for _, r := range s.running {
		switch {
		case r.Group != "" && r.Group == step.Group:
			s.wrong("%s begins while %s runs", step.ID, r.ID)
		case r.Role == "" && step.Role == "", r.Role == team.PM && step.Role == team.PM:
			s.wrong("%s begins while %s runs", step.ID, r.ID)
		case r.Role == team.Developer:
			developers++
		}
	}
	if s.begun[step.ID] {
		s.wrong("%s begins twice", step.ID)
	}
	s.begun[step.ID] = true
	s.checkStuck(step, previous)
	if step.Role == team.Developer && developers >= s.start.Developers {
		s.wrong("%s begins while %d developers run", step.ID, developers)
	}
	if step.Purpose == Work && !s.redo[step.Group] {
		s.checkOpen(step, previous)
	}
	if step.Purpose == Check || step.Purpose == Deliver {
		s.checkOpenComplete(step, previous)
	}
}

// checkStuck checks that the numbers of starts since the last help are within the limits.
func (s *sim) checkStuck(step Step, was team.Contents) {
	g, _ := was.Groups.Find(step.Group)
	developer := g.Iterations.Developer - s.helped[g.ID].Developer
	qa := g.Iterations.QA - s.helped[g.ID].QA
	reviews := g.Iterations.TechLead - s.helped[g.ID].TechLead
	switch {
	case step.Purpose == Work && !s.redo[g.ID] && (developer > 5 || reviews > 3 || g.Status == team.QAFailed && qa > 3):
		s.wrong("%s begins although the group is stuck: %d, %d, %d", step.ID, developer, qa, reviews)
	case step.Purpose == Split && developer <= 5 && reviews <= 3:
		s.wrong("%s begins although the group is not stuck: %d, %d, %d", step.ID, developer, qa, reviews)
	}
}

// followHelp stores the counters of the step's group if the log says that the group was helped.
func (s *sim) followHelp(previous team.Contents, step *Step) {
	for _, l := range s.picture.Orchestrator.DecisionsLog[len(previous.Orchestrator.DecisionsLog):] {
		if !strings.HasPrefix(l.Decision, "split_group_") && !strings.HasPrefix(l.Decision, "help_group_") {
			continue
		}
		g, _ := previous.Groups.Find(step.Group)
		helped := s.helped[g.ID]
		if step.Role == team.TechLead {
			helped.QA = g.Iterations.QA
		} else {
			helped.Developer, helped.TechLead = g.Iterations.Developer, g.Iterations.TechLead
		}
		s.helped[g.ID] = helped
	}
}

// checkOpen checks that the group's phase is open and its dependencies are complete.
func (s *sim) checkOpen(step Step, was team.Contents) {
	for _, ph := range was.PM.ExecutionPhases {
		if slices.Contains(ph.GroupIDs, step.Group) && ph.Status != team.WorkInProgress {
			s.wrong("%s begins in phase %d, which is %s", step.ID, ph.PhaseNumber, ph.Status)
		}
	}
	for _, g := range was.PM.TaskGroups {
		for _, id := range g.DependsOn {
			if before, _ := was.Groups.Find(id); g.ID == step.Group && (before.Status != team.Complete || !s.merged[id]) {
				s.wrong("%s begins although group %s is %s", step.ID, id, before.Status)
			}
		}
	}
}

func (s *sim) checkOpenComplete(step Step, was team.Contents) {
	for _, ph := range was.PM.ExecutionPhases {
		if ph.Status == team.WorkInProgress {
			s.wrong("%s begins although phase %d is not complete", step.ID, ph.PhaseNumber)
		}
	}
}

// follow updates the observer's knowledge for an event, and returns the cause for which the group
// of the step may change.
func (s *sim) follow(e event, step *Step) (cause string) {
	if step == nil {
		return ""
	}
	if e.begin != nil {
		s.running = append(s.running, *step)
		if step.Role != "" {
			s.starts++
		}
		if cause = string(step.Purpose) + " begins"; s.redo[step.Group] || step.Role == team.PM || step.Role == "" {
			cause = ""
		}
		if step.Role != team.PM {
			delete(s.redo, step.Group)
		}
		return cause
	}
	s.running = slices.DeleteFunc(s.running, func(r Step) bool { return r.ID == step.ID })
	switch step.Role {
	case team.PM:
		return ""
	case "":
		return s.mergeCause(e, *step)
	}
	word := effective(*step, e.ending)
	s.redo[step.Group] = word == ""
	return word
}

func (s *sim) mergeCause(e event, step Step) string {
	var m Merged
	if e.ending.Class != failure.None || step.Group == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(e.ending.Answer), &m); err != nil {
		s.wrong("%v", err)
	}
	s.merged[step.Group] = m.Outcome == MergeDone
	return string(m.Outcome)
}

// effective returns the protocol's word for how an agent ended, or "" if the agent must be started
// again.
func effective(step Step, e Ending) string {
	switch e.Class {
	case failure.None:
	case failure.Auth, failure.Denied, failure.NotStarted, failure.BadPlan, failure.OverBudget, failure.Cancelled:
		return ""
	default:
		return "ERROR"
	}
	words := map[Purpose]string{
		Work: "READY_FOR_QA READY_FOR_REVIEW BLOCKED INCOMPLETE PARTIAL ERROR NEEDS_CLARIFICATION ESCALATE", Test: "PASS FAIL BLOCKED PARTIAL FLAKY",
		Review: "APPROVED APPROVED_WITH_NOTES CHANGES_REQUESTED", Unblock: "UNBLOCKED ESCALATE NEEDS_CLARIFICATION",
	}
	said, err := team.ParseAnswer(e.Answer)
	switch {
	case err == nil && slices.Contains(strings.Fields(words[step.Purpose]), string(said.Status)):
		return string(said.Status)
	case step.Again == "":
		return ""
	}
	return "ERROR"
}

// checkMoves checks that each group has changed only as the protocol allows.
func (s *sim) checkMoves(was team.Contents, step *Step, cause string) {
	now := s.picture
	for _, g := range now.Groups {
		old, there := was.Groups.Find(g.ID)
		switch {
		case !there && (step == nil && len(was.Groups) > 0 || step != nil && step.Role != team.PM || g.Status != team.Pending || g.Iterations != team.Iterations{}):
			s.wrong("group %s came up as %s %v", g.ID, g.Status, g.Iterations)
		case there && step != nil && g.ID == step.Group && !allowed(old, g, cause):
			s.wrong("%s, %q: group %s went from %s %v to %s %v", step.ID, cause, g.ID, old.Status, old.Iterations, g.Status, g.Iterations)
		case there && (step == nil || g.ID != step.Group) && !allowed(old, g, ""):
			s.wrong("group %s went from %s to %s although nothing happened to it", g.ID, old.Status, g.Status)
		}
	}
	if len(now.Groups) < len(was.Groups) {
		s.wrong("a group is gone")
	}
}

// checkInvariants checks what must be true after every event.
func (s *sim) checkInvariants(e event) {
	was, now := s.picture, s.session.Contents(nil)
	s.picture = now
	o := now.Orchestrator
	if o.Iteration != s.starts || o.TotalSpawns != s.starts {
		s.wrong("iteration %d, total_spawns %d after %d starts", o.Iteration, o.TotalSpawns, s.starts)
	}
	logged := 0
	for _, l := range o.DecisionsLog {
		if strings.HasPrefix(l.Decision, "spawn_") {
			logged++
		}
	}
	if logged != s.starts {
		s.wrong("%d starts are in the log of %d", logged, s.starts)
	}
	if len(s.history) > 0 && now.PM.Iteration != was.PM.Iteration+1 && (e.begin != nil || e.end != "") {
		s.wrong("pm_state.iteration went from %d to %d", was.PM.Iteration, now.PM.Iteration)
	}
	s.lookAgents(now)
	s.lookEnd(now)
	if s.documents {
		s.checkDocuments()
	}
	if !slices.Equal(s.session.Next(), s.session.Next()) {
		s.wrong("Next says another thing the second time")
	}
}

func (s *sim) lookAgents(now team.Contents) {
	var agents, running []string
	for _, a := range now.Orchestrator.ActiveAgents {
		agents = append(agents, string(a.AgentType)+" "+a.GroupID)
	}
	working := map[string]team.Role{}
	for _, r := range s.running {
		switch r.Role {
		case "":
		case team.PM:
			running = append(running, "pm ")
		default:
			running, working[r.Group] = append(running, string(r.Role)+" "+r.Group), r.Role
		}
	}
	if !slices.Equal(agents, running) {
		s.wrong("active are %v, running %v", agents, running)
	}
	for _, g := range now.Groups {
		if want := working[g.ID]; g.CurrentAgent != want && (want != "" || g.CurrentAgent != team.None) {
			s.wrong("group %s is with %s, but %q runs", g.ID, g.CurrentAgent, want)
		}
	}
}

func (s *sim) lookEnd(now team.Contents) {
	outcome, ended := s.session.Outcome()
	if now.Orchestrator.Status == team.SessionRunning && (ended || !now.Orchestrator.EndTime.IsZero()) {
		s.wrong("it runs, but has ended")
	}
	if ended && (len(s.running) > 0 || len(s.session.Next()) > 0) {
		s.wrong("it has ended, but %d run and %d are next", len(s.running), len(s.session.Next()))
	}
	if ended && !outcome.Completed && (outcome.Problem == "" || outcome.Hint == "") {
		s.wrong("it ended without a reason or a hint: %+v", outcome)
	}
	if !outcome.Completed {
		return
	}
	for _, g := range now.Groups {
		if g.Status != team.Complete || !s.merged[g.ID] {
			s.wrong("completed with group %s %s, merged %v", g.ID, g.Status, s.merged[g.ID])
		}
	}
	if len(now.Groups) == 0 || now.PM.CompletionPercentage != 100 || now.Orchestrator.CurrentPhase != team.Completed {
		s.wrong("completed with %d groups, %v %%, %s", len(now.Groups), now.PM.CompletionPercentage, now.Orchestrator.CurrentPhase)
	}
}

// checkDocuments checks that the documents are valid in the protocol.
func (s *sim) checkDocuments() {
	documents, err := marshalled(s.picture)
	if err != nil {
		s.wrong("%v", err)
		return
	}
	for d, data := range documents {
		for _, f := range team.ValidateDocument(d, string(d), data) {
			s.wrong("%s", f)
		}
	}
}

// marshalled returns the JSON text of each document.
func marshalled(p team.Contents) (map[team.Document][]byte, error) {
	out := map[team.Document][]byte{}
	parts := map[team.Document]any{team.PMStateDoc: p.PM, team.GroupStatusDoc: p.Groups, team.OrchestratorDoc: p.Orchestrator}
	for d, pair := range map[team.Document][2]team.Role{
		team.DevToQADoc: {team.Developer, team.QAExpert}, team.QAToTechLeadDoc: {team.QAExpert, team.TechLead},
		team.TechLeadToDevDoc: {team.TechLead, team.Developer},
	} {
		list := team.List[team.Message]{}
		for _, m := range p.Messages {
			if m.From == pair[0] && m.To == pair[1] {
				list = append(list, m)
			}
		}
		parts[d] = map[string]any{"messages": list}
	}
	for d, part := range parts {
		data, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		out[d] = data
	}
	return out, nil
}

// replay applies the same events to two new sessions. On one of them it also calls all read-only
// methods in between. Both must end in the same state.
func (s *sim) replay() {
	if s.problem != "" {
		return
	}
	one, two := New(s.start, noon), New(s.start, noon)
	cut := s.rng.IntN(len(s.history))
	for i, e := range s.history {
		if i == cut {
			for _, step := range two.Next() {
				two.Brief(step, nil)
			}
			two.Contents(nil)
		}
		if err := errors.Join(e.fold(one), e.fold(two)); err != nil {
			s.wrong("replayed: %v", err)
		}
	}
	for _, other := range []*Session{one, two} {
		if !reflect.DeepEqual(other.Contents(nil), s.picture) {
			s.wrong("replayed, it is another picture")
		}
		if !reflect.DeepEqual(other, s.session) {
			s.wrong("replayed, it is another session")
		}
	}
}
