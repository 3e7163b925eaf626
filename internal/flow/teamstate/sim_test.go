package teamstate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

var noon = time.Date(2025, 1, 6, 12, 0, 0, 0, time.UTC)

// event is one event of a simulated session.
type event struct {
	begin  *Step
	end    string
	ending Ending
	at     time.Time
}

func (e event) fold(s *Session) error {
	switch {
	case e.begin != nil:
		return s.Begin(*e.begin, e.at)
	case e.end != "":
		return s.End(e.end, e.ending)
	}
	s.Resume(e.at)
	return nil
}

func (e event) String() string {
	switch {
	case e.begin != nil:
		return fmt.Sprintf("begin %s for %s %s", e.begin.ID, e.begin.Purpose, e.begin.Again)
	case e.end != "":
		return fmt.Sprintf("end %s %s %.200s", e.end, e.ending.Class, e.ending.Answer)
	}
	return "resume"
}

// sim is a team with random behaviour, together with what an observer knows about it.
type sim struct {
	rng     *rand.Rand
	start   Start
	session *Session
	history []event
	now     time.Time
	skill   float64 // probability that an agent does what it should

	running []Step
	begun   map[string]bool // ids of the started steps
	redo    map[string]bool // groups whose last agent gave no usable result, by id
	merged  map[string]bool
	helped  map[string]team.Iterations // counters of a group when it was last helped, by group id
	starts  int
	resumes int

	picture   team.Contents // content of the documents after the last event
	documents bool          // check the documents after each event
	problem   string        // the first failed check
}

func newSim(seed uint64) *sim {
	rng := rand.New(rand.NewPCG(seed, 7))
	s := &sim{rng: rng, now: noon, skill: 0.3 + 0.7*rng.Float64(), begun: map[string]bool{}, redo: map[string]bool{}, merged: map[string]bool{}, helped: map[string]team.Iterations{}}
	s.start = Start{
		Session: "v4_20250106_120000", Requirements: pick(rng, "do it all", "- one\n- two\n  more of it\n- three"),
		Mode: pick(rng, team.Unplanned, team.Unplanned, team.Simple, team.Parallel), Developers: 1 + rng.IntN(4),
		Iterations: 3 + rng.IntN(30), Branch: "gaffer/v4/team", Into: pick(rng, "", "", "main"), Tests: []string{"make test"},
	}
	s.session = New(s.start, s.now)
	return s
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func (s *sim) chance(p float64) bool { return s.rng.Float64() < p }

// run continues the session until the session ends or a check fails.
func (s *sim) run() {
	const bound = 20000 // maximum number of events; the limits of groups and starts lead to fewer
	for s.problem == "" && len(s.history) < bound {
		if _, ended := s.session.Outcome(); ended && !s.resume() {
			return
		}
		s.turn()
	}
	s.wrong("no end after %d folds", bound)
}

// resume resumes a session that ended with an error, at most three times. It returns false if it
// did not.
func (s *sim) resume() bool {
	if o, _ := s.session.Outcome(); o.Completed || s.resumes == 3 {
		return false
	}
	s.resumes++
	s.applyEvent(event{at: s.tick()}, nil)
	return true
}

// turn starts the next steps and ends some running steps. As in a real session, a step may end
// after Next has returned steps and before they are started.
func (s *sim) turn() {
	next := s.session.Next()
	if len(next) == 0 && len(s.running) == 0 {
		s.wrong("nothing runs, nothing is next, and it has not ended")
		return
	}
	if s.chance(0.3) {
		s.endOne()
	}
	for _, step := range next {
		s.applyEvent(event{begin: &step, at: s.tick()}, &step)
	}
	for range 1 + s.rng.IntN(3) {
		s.endOne()
	}
	if s.chance(0.02) {
		s.applyEvent(event{at: s.tick()}, nil) // a Resume that must do nothing, because the session has not ended
	}
}

func (s *sim) endOne() {
	if len(s.running) == 0 || s.problem != "" {
		return
	}
	step := s.running[s.rng.IntN(len(s.running))]
	s.applyEvent(event{end: step.ID, ending: s.ending(step)}, &step)
}

func (s *sim) tick() time.Time {
	s.now = s.now.Add(time.Duration(s.rng.IntN(90)) * time.Second / 3)
	return s.now
}

func (s *sim) wrong(format string, args ...any) {
	if s.problem == "" {
		s.problem = fmt.Sprintf(format, args...)
	}
}

// ending returns how a step ends, at random.
func (s *sim) ending(step Step) Ending {
	e := Ending{At: s.tick()}
	if s.chance(0.1 * (1 - s.skill)) {
		e.Class = pick(s.rng, failure.Auth, failure.Denied, failure.OverBudget, failure.NotStarted, failure.BadPlan, failure.Cancelled,
			failure.Crashed, failure.Stalled, failure.TimedOut, failure.Lost, failure.ContextOverflow, failure.VerifyFailed, failure.APIError)
		e.Reason = "it went wrong"
		return e
	}
	if step.Role == "" {
		data, err := json.Marshal(Merged{Outcome: s.word(string(MergeDone), string(MergeConflict), string(MergeFailed)).outcome(), Output: "lines"})
		if err != nil {
			panic(err)
		}
		e.Answer = string(data)
		return e
	}
	e.Answer = s.answer(step)
	return e
}

type said string

func (w said) outcome() MergeOutcome { return MergeOutcome(w) }

// word returns the status word good with high probability, and with low probability one of the
// words in bad.
func (s *sim) word(good string, bad ...string) said {
	if s.chance(s.skill) {
		return said(good)
	}
	return said(pick(s.rng, bad...))
}

// answer returns a random answer of the agent of a step.
func (s *sim) answer(step Step) string {
	if s.chance(0.2 * (1 - s.skill)) {
		return pick(s.rng, "I am done!", "**Status:** DONE", `{"status":"COMPLETE"`, `{"status":"PASS","summary":[]}`, "", "**Status:** COMPLETE")
	}
	switch step.Purpose {
	case Plan:
		return s.plan()
	case Split:
		return s.split(step.Group)
	case Check:
		if s.chance(0.5) {
			return `{"status":"COMPLETE","summary":"all done"}`
		}
		if s.chance(0.2) {
			return fmt.Sprintf(`{"status":"CONTINUE","groups":[%s]}`, s.groupJSON(fmt.Sprintf("more%d", len(s.history)), nil, nil))
		}
		return `{"status":"CONTINUE"}`
	case Work:
		return s.form(s.word("READY_FOR_QA", "READY_FOR_REVIEW", "BLOCKED", "INCOMPLETE", "PARTIAL", "ERROR", "NEEDS_CLARIFICATION", "ESCALATE"), `"unit_tests":{"total":3,"passed":3,"failed":0}`)
	case Test:
		return s.form(s.word("PASS", "FAIL", "BLOCKED", "PARTIAL", "FLAKY"), `"test_results":{"integration_tests":"8/8 passed","e2e_tests":{"total":2,"passed":2}}`)
	case Review:
		return s.form(s.word("APPROVED", "CHANGES_REQUESTED", "APPROVED_WITH_NOTES"), `"code_quality_score":8.5,"issues":[{"priority":"urgent","title":"x"}]`)
	}
	return s.form(s.word("UNBLOCKED", "UNBLOCKED", "ESCALATE", "NEEDS_CLARIFICATION"), `"feedback":"try this"`)
}

// form returns an answer with a status word, in one of the forms that agents use.
func (s *sim) form(w said, more string) string {
	if s.chance(0.3) {
		return "Some prose.\n\n**Status:** " + string(w) + "\n"
	}
	return fmt.Sprintf("```json\n{\"status\":%q,\"summary\":[\"a line\",\"another\"],%s}\n```\n", w, more)
}

// plan returns the text of a plan, which is valid with high probability.
func (s *sim) plan() string {
	mode := pick(s.rng, "parallel", "parallel", "simple")
	if s.start.Mode != team.Unplanned && s.chance(0.9) {
		mode = string(s.start.Mode)
	}
	n := 1
	if mode == "parallel" {
		n = 1 + s.rng.IntN(7)
	}
	var ids, groups []string
	for i := range n {
		id := pick(s.rng, "A", "team", "pm", "é", "x.y", "A-developer-1", "G_") + fmt.Sprint(i)
		if i == 0 && s.chance(0.3) {
			id = pick(s.rng, "team", "A")
		}
		var deps []string
		for _, before := range ids {
			if s.chance(0.3) {
				deps = append(deps, before)
			}
		}
		if s.chance(0.03) {
			deps = append(deps, pick(s.rng, id, "nobody", "../x"))
		}
		ids = append(ids, id)
		groups = append(groups, s.groupJSON(id, nil, deps))
	}
	phases, scope := "", ""
	if s.chance(0.2) {
		scope = fmt.Sprintf(`,"out_of_scope":[{"requirement":"R3","reason":%q}]`, pick(s.rng, "later", "later", ""))
	}
	if s.chance(0.2) {
		phases = s.phases(ids)
	}
	return fmt.Sprintf(`{"status":"PLANNED","summary":"a plan","mode":%q,"mode_reasoning":"because","groups":[%s]%s%s}`,
		mode, strings.Join(groups, ","), scope, phases)
}

// phases returns phases with one group each. With high probability, their order is valid.
func (s *sim) phases(ids []string) string {
	var list []string
	backwards := s.chance(0.3)
	for i, id := range ids {
		number := i + 1
		if backwards {
			number = -i
		}
		list = append(list, fmt.Sprintf(`{"phase_number":%d,"group_ids":[%q]}`, number, id))
	}
	return `,"phases":[` + strings.Join(list, ",") + `]`
}

func (s *sim) groupJSON(id string, tasks, deps []string) string {
	if tasks == nil {
		tasks = []string{fmt.Sprintf(`{"id":"T-%s","description":"do it","requirements":["R1","R2","R3"]}`, id)}
	}
	quoted, err := json.Marshal(append([]string{}, deps...))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"id":%q,"name":"Group %s","tasks":[%s],"depends_on":%s,"complexity":%q,"estimated_effort_minutes":5}`,
		id, id, strings.Join(tasks, ","), quoted, pick(s.rng, "low", "trivial"))
}

// split returns an answer about a stuck group: a split, advice, or an invalid answer.
func (s *sim) split(id string) string {
	if s.chance(0.3) {
		return `{"status":"CONTINUE","summary":"smaller steps"}`
	}
	var tasks, deps []string
	for _, t := range s.session.groups.plan.tasksOf(id) {
		tasks = append(tasks, fmt.Sprintf("%q", t.ID))
	}
	if s.chance(0.1) {
		tasks = tasks[1:]
	}
	part := fmt.Sprintf("part%d", len(s.history))
	if s.chance(0.3) {
		deps = []string{part}
	}
	kept := s.groupJSON(id, slices.Concat([]string{fmt.Sprintf(`{"id":"left%d"}`, len(s.history))}, tasks), deps)
	deps = nil
	if s.chance(0.3) {
		deps = []string{id}
	}
	return fmt.Sprintf(`{"status":"PLANNED","groups":[%s,%s]}`, kept, s.groupJSON(part, nil, deps))
}
