package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// manager applies the answers of the project manager, which is one of the team's agents, to the
// session. It also keeps what later answers depend on, such as a plan that needs the user's
// consent.
type manager struct {
	start   *Start
	items   []Item
	groups  *groupSet
	history *history
	ending  *ending

	redo     *redo
	refusals int    // how often in a row the project manager's answer COMPLETE was refused
	missing  string // why the last answer COMPLETE was refused; empty if it was not
	accepted bool   // the answer COMPLETE was accepted; the merge into the user's branch is not done yet
	asked    string // the project manager's last question to the user; cleared when the project manager makes its next decision
	unusable string // last answer of the project manager that was not valid

	proposed *plan    // a plan that drops requirements and needs the user's consent; nil if there is none
	dropped  []string // requirements that the proposed plan drops, with reasons
}

// maxRefusals is a limit: if the project manager's answer COMPLETE is refused this many times in a
// row, the session stops and the user must act.
const maxRefusals = 3

// answered handles the end of a step of the project manager. If its agent failed, the session stops
// and the user must act, because no other role can help. If the answer cannot be used, the step is
// repeated once. If the second answer cannot be used either, the session stops too.
func (m *manager) answered(step Step, e Ending) {
	if e.Class != failure.None {
		hint := userAction(e.Class)
		if hint == "" {
			hint = "look at its log; 'gaffer team resume' asks again"
		}
		m.ending.stop(describeFailure(step, e), hint)
		return
	}
	said, err := parseAnswer(step.Purpose, e.Answer)
	if err == nil {
		err = m.decide(step, said, e.At)
	}
	if err == nil {
		return
	}
	problem := clip(err.Error(), maxText)
	m.history.note("refuse_answer", step.ID+": "+problem)
	m.unusable = dropMiddle(e.Answer, maxText)
	if step.Again == "" {
		m.redo = &redo{step.Purpose, step.Group, problem}
		return
	}
	m.ending.stop(
		fmt.Sprintf("%s gave no answer that can be used, twice: %s", step.ID, problem),
		"look at its log and at the requirements; 'gaffer team resume' asks again",
	)
}

// decide applies the project manager's decision. If the answer cannot be used, decide changes
// nothing and returns an error.
func (m *manager) decide(step Step, said team.Answer, at time.Time) error {
	if said.Status == team.WordNeedsClarification {
		m.asked = fullMessage(said)
		m.ending.ask("the project manager asks: " + m.asked)
		return nil
	}
	var err error
	switch {
	case step.Purpose == Plan:
		err = m.planned(said, at)
	case step.Purpose == Split:
		err = m.helped(m.groups.find(step.Group), said, at)
	case said.Status == team.WordComplete:
		err = m.completed(said)
	default:
		err = m.continued(said, at)
	}
	if err == nil {
		m.asked = ""
	}
	return err
}

func (m *manager) planned(said team.Answer, at time.Time) error {
	p, dropped, err := readPlan(said.Body, m.start.Mode, m.items)
	if err != nil {
		return err
	}
	if len(dropped) > 0 {
		m.proposed, m.dropped = &p, dropped
		m.ending.stop(
			"the plan leaves out what was asked for: "+strings.Join(dropped, "; "),
			"'gaffer team resume' agrees to that; 'gaffer team --new' begins anew, with other requirements",
		)
		return nil
	}
	m.begin(p, at)
	return nil
}

// begin makes p the plan of the session and opens the plan's first phase, so that agents may work
// on the groups of tasks in it.
func (m *manager) begin(p plan, at time.Time) {
	m.groups.adopt(p, at)
	m.history.note("plan_"+string(p.mode), fmt.Sprintf("%s in %s; %s", counted(len(p.groups), "group"), counted(len(p.phases), "phase"), p.reasoning))
	m.openPhase()
}

// resume applies the user's request to continue the session. If the session stopped because the
// plan drops requirements, the request is also the user's consent to that plan.
func (m *manager) resume(at time.Time) {
	m.refusals = 0
	if m.proposed == nil {
		return
	}
	m.history.note("reduce_scope", "the user agrees: "+strings.Join(m.dropped, "; "))
	m.begin(*m.proposed, at)
	m.proposed = nil
}

// helped applies the project manager's answer about a group of tasks for which agents were started
// too often. The answer either splits the group or gives advice.
func (m *manager) helped(g *group, said team.Answer, at time.Time) error {
	decision, reason := "help_group_"+g.id, said.Text()
	if said.Status == team.WordPlanned {
		p, err := m.groups.plan.split(g.id, said.Body)
		if err != nil {
			return err
		}
		var parts []string
		for _, added := range p.groups[len(m.groups.plan.groups):] {
			parts = append(parts, added.ID)
		}
		decision, reason = "split_group_"+g.id, "what it leaves goes to "+strings.Join(parts, ", ")+"; "+reason
		m.groups.adopt(p, at)
	}
	g.help(team.PM)
	g.since, g.why = m.history.events, "the project manager has helped"
	g.advise("project manager: " + fullMessage(said))
	m.history.note(decision, reason)
	return nil
}

// completed handles the project manager's answer COMPLETE. If all work is done, the session ends.
// If the user has named a branch for the result, the session's branch is merged into it first. If
// work is missing, completed stores what is missing and refuses the answer. After maxRefusals
// refusals in a row, it stops the session. It returns an error if the answer leaves out a
// requirement without the user's consent.
func (m *manager) completed(said team.Answer) error {
	for _, v := range said.Body.Get("out_of_scope").Items() {
		requirement := oneLine(v.Get("requirement").Text())
		if !slices.ContainsFunc(m.dropped, func(d string) bool { return strings.HasPrefix(d, requirement+": ") }) {
			return fmt.Errorf("its status is %s, but it leaves out %q, which the user has not agreed to; say %s with tasks for it",
				team.WordComplete, clip(requirement, 60), team.WordContinue)
		}
	}
	if err := team.CheckComplete(team.PM, team.WordComplete, m.groups.pmState(), m.groups.statuses()); err != nil {
		m.missing = clip(strings.TrimPrefix(err.Error(), "complete session: "), maxText)
		m.refusals++
		m.history.note("refuse_complete", m.missing)
		if m.refusals == maxRefusals {
			m.ending.stop(
				fmt.Sprintf("the project manager said COMPLETE %d times although %s", maxRefusals, m.missing),
				"'gaffer team resume' asks it again",
			)
		}
		return nil
	}
	m.missing, m.refusals = "", 0
	if m.start.Into == "" {
		m.ending.finish()
		return nil
	}
	m.accepted = true
	return nil
}

// continued handles the project manager's answer CONTINUE. It adds the new groups of tasks in the
// answer, if there are any, to the plan. Then it opens the plan's next phase. It returns an error
// if the new groups are not valid, or if no closed phase is left.
func (m *manager) continued(said team.Answer, at time.Time) error {
	if said.Body.Get("groups").Len() > 0 {
		p, err := m.groups.plan.extend(said.Body)
		if err != nil {
			return err
		}
		m.groups.adopt(p, at)
	}
	if !m.groups.plan.phaseLeft() {
		return fmt.Errorf("%s leaves nothing to do: every group is complete and there is no phase left to open; say %s, or give tasks and groups",
			team.WordContinue, team.WordComplete)
	}
	m.missing, m.refusals = "", 0
	m.openPhase()
	return nil
}

func (m *manager) openPhase() {
	number, groups := m.groups.plan.openNext()
	m.history.note(fmt.Sprintf("open_phase_%d", number), "groups "+strings.Join(groups, ", "))
}
