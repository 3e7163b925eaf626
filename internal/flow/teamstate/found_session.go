package teamstate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/team"
)

// Found is a team session that another program, not gaffer, has started. It holds what the
// session's documents say. A [Session] can continue it.
type Found struct {
	Mode      team.Mode             `json:"mode"`
	Reasoning string                `json:"reasoning,omitempty"`
	Tasks     []team.Task           `json:"tasks"`
	Groups    []team.TaskGroup      `json:"groups"`
	Phases    []team.ExecutionPhase `json:"phases"`
	Status    []team.Group          `json:"status"` // status of each group of tasks; one entry per group in Groups
	Log       []team.LogEntry       `json:"log"`
	Mail      map[string][]string   `json:"mail,omitempty"`  // unread messages between the agents, as text, by group id
	Bases     map[string]string     `json:"bases,omitempty"` // branches that exist already and from which groups continue, by group id
	Iteration int                   `json:"iteration"`
	Spawns    int                   `json:"spawns"`
	Began     time.Time             `json:"began"`
}

// FoundError reports that gaffer cannot continue a session that another program has started.
type FoundError struct{ Problem string }

func (e *FoundError) Error() string { return e.Problem }

// ReadFound returns the session that the documents in s describe. It returns nil if nothing has
// happened in the session yet. If gaffer cannot continue the session, for example because it is
// finished or its documents contradict each other, ReadFound returns a [*FoundError].
func ReadFound(s team.Snapshot) (*Found, error) {
	pm, o := s.PM, s.Orchestrator
	f := &Found{
		Mode: pm.Mode, Reasoning: pm.ModeReasoning, Tasks: slices.Clone(pm.AllTasks), Groups: slices.Clone(pm.TaskGroups),
		Phases: slices.Clone(pm.ExecutionPhases), Log: o.DecisionsLog,
		Iteration: pm.Iteration, Spawns: max(o.TotalSpawns, o.Iteration), Began: o.StartTime.Time, Mail: unreadTexts(s.Unread),
	}
	if len(s.Groups)+len(f.Tasks)+len(f.Phases)+len(pm.CompletedGroups)+len(pm.InProgressGroups)+len(f.Log) == 0 &&
		f.Mode == team.Unplanned && f.Iteration == 0 && f.Spawns == 0 && pm.CompletionPercentage == 0 {
		return nil, nil
	}
	if err := f.read(s); err != nil {
		return nil, &FoundError{clip(err.Error(), maxLine)}
	}
	return f, nil
}

func (f *Found) read(s team.Snapshot) error {
	pm, o := s.PM, s.Orchestrator
	switch {
	case pm.SessionID != "" && o.SessionID != "" && pm.SessionID != o.SessionID:
		return fmt.Errorf("pm_state.json is of session %s and orchestrator_state.json of session %s", pm.SessionID, o.SessionID)
	case strings.TrimSpace(pm.OriginalRequirements) == "":
		return errors.New("pm_state.json has no original_requirements")
	case f.Mode != team.Unplanned && f.Mode != team.Simple && f.Mode != team.Parallel:
		return fmt.Errorf("its mode is %q, which gaffer does not know", f.Mode)
	}
	f.addGroups(s.Groups)
	if len(f.Groups) == 0 {
		if len(f.Tasks)+len(f.Phases)+len(pm.CompletedGroups)+len(pm.InProgressGroups) > 0 || pm.CompletionPercentage > 0 {
			return errors.New("it has a plan without groups")
		}
		return nil // the project manager has not made a plan yet
	}
	if f.Mode == team.Unplanned {
		f.Mode = team.Parallel
		if len(f.Groups) == 1 {
			f.Mode = team.Simple
		}
	}
	if err := f.readStatuses(s); err != nil {
		return err
	}
	f.assignTasks()
	left := slices.DeleteFunc(slices.Clone(f.Status), func(g team.Group) bool { return g.Status == team.Complete })
	finished := o.Status == team.SessionCompleted || o.Status == "" && pm.CompletionPercentage >= 100
	switch {
	case len(left) == 0 && (finished || o.Status == ""):
		return errors.New("it is completed")
	case len(left) > 0 && (finished || pm.CompletionPercentage >= 100):
		return fmt.Errorf("it says that it is completed, but group %s is %s", left[0].ID, left[0].Status)
	}
	p, err := f.plan()
	if err != nil {
		return err
	}
	return p.checkAll()
}

// addGroups adds groups of tasks that are missing in f.Groups: the groups in the list known, and
// the groups that the tasks in f.Tasks name.
func (f *Found) addGroups(known team.Groups) {
	add := func(id, name string) {
		if id != "" && !slices.ContainsFunc(f.Groups, func(g team.TaskGroup) bool { return g.ID == id }) {
			f.Groups = append(f.Groups, team.TaskGroup{ID: id, Name: name})
		}
	}
	for _, g := range known {
		add(g.ID, g.Name)
	}
	for _, t := range f.Tasks {
		add(t.GroupID, "")
	}
}

// readStatuses sets the status of each group of tasks from group_status.json. If a group is missing
// or pending in that file, readStatuses uses the status in pm_state.json. It returns an error if a
// status is unknown, or if the two files contradict each other.
func (f *Found) readStatuses(s team.Snapshot) error {
	for _, list := range []struct {
		name string
		ids  []string
	}{{"completed_groups", s.PM.CompletedGroups}, {"in_progress_groups", s.PM.InProgressGroups}} {
		for _, id := range list.ids {
			if !slices.ContainsFunc(f.Groups, func(g team.TaskGroup) bool { return g.ID == id }) {
				return fmt.Errorf("%s has %q, which is no group of the plan", list.name, clip(id, 60))
			}
		}
	}
	seen := map[string]bool{}
	for _, planned := range f.Groups {
		id := planned.ID
		if err := checkID("group", id); err != nil {
			return err
		}
		if seen[id] {
			return fmt.Errorf("two groups have the id %s", id)
		}
		seen[id] = true
		g, found := s.Groups.Find(id)
		if !found {
			g = team.Group{ID: id, Name: planned.Name, Status: team.Pending}
		}
		word := strings.ToLower(string(g.Status))
		if word == "completed" {
			word = string(team.Complete)
		}
		if !slices.Contains(team.GroupStatuses(), team.GroupStatus(word)) {
			return fmt.Errorf("group %s is %q, a status that gaffer does not know", id, clip(word, 60))
		}
		g.Status = team.GroupStatus(word)
		inPlan, err := statusInPM(planned, s.PM)
		switch {
		case err != nil:
			return err
		case inPlan == team.WorkComplete && g.Status == team.Pending:
			g.Status = team.Complete
		case inPlan == team.WorkComplete && g.Status != team.Complete:
			return fmt.Errorf("group %s is complete in pm_state.json and %s in group_status.json", id, g.Status)
		case inPlan == team.WorkInProgress && g.Status == team.Pending:
			g.Status, g.Iterations.Developer = team.DevWorking, max(1, g.Iterations.Developer)
		}
		g.CurrentAgent, g.Name = team.None, cmp.Or(g.Name, planned.Name)
		g.BranchName = cmp.Or(g.BranchName, planned.BranchName)
		f.Status = append(f.Status, g)
	}
	return nil
}

// statusInPM returns the status of a group of tasks according to pm_state.json. It returns an error
// if the status is unknown.
func statusInPM(g team.TaskGroup, pm team.PMState) (team.WorkStatus, error) {
	switch word := strings.ToLower(string(g.Status)); {
	case slices.Contains(pm.CompletedGroups, g.ID) || word == "complete" || word == "completed":
		return team.WorkComplete, nil
	case slices.Contains(pm.InProgressGroups, g.ID) || word == "in_progress" || word == "assigned":
		return team.WorkInProgress, nil
	case word == "" || word == "pending":
		return team.WorkPending, nil
	}
	return "", fmt.Errorf("group %s is %q, a status that gaffer does not know", g.ID, clip(string(g.Status), 60))
}

// assignTasks completes the plan that was read from the documents. It gives an id to each task that
// has none. If a task names no group, it sets the group that lists the task, or the only group of
// the plan. It fills empty task lists of groups, and creates tasks that occur only in the list of a
// group. In the documents, such a list may name a task by its id or by its description.
func (f *Found) assignTasks() {
	for i := range f.Tasks {
		if f.Tasks[i].ID == "" {
			f.Tasks[i].ID = fmt.Sprintf("task-%d", i+1)
		}
		if f.Tasks[i].GroupID == "" && len(f.Groups) == 1 {
			f.Tasks[i].GroupID = f.Groups[0].ID
		}
	}
	for i := range f.Groups {
		g := &f.Groups[i]
		g.Tasks = slices.Clone(g.Tasks)
		for _, name := range g.Tasks {
			at := slices.IndexFunc(f.Tasks, func(t team.Task) bool { return t.ID == name || t.Description == name })
			if at < 0 {
				f.Tasks = append(f.Tasks, team.Task{ID: name, Description: name, GroupID: g.ID, Status: f.Status[i].Status.Work()})
			} else if f.Tasks[at].GroupID == "" {
				f.Tasks[at].GroupID = g.ID
			}
		}
		if len(g.Tasks) > 0 {
			continue
		}
		for _, t := range f.Tasks {
			if t.GroupID == g.ID {
				g.Tasks = append(g.Tasks, t.ID)
			}
		}
		if len(g.Tasks) == 0 && g.Name != "" { // the documents name no task of the group: create one from the group's name
			g.Tasks = team.List[string]{g.ID}
			f.Tasks = append(f.Tasks, team.Task{ID: g.ID, Description: g.Name, GroupID: g.ID, Status: f.Status[i].Status.Work()})
		}
	}
}

// plan returns the plan of the session. Groups of tasks without a phase are put into an additional
// phase, which is open, so that agents may work on them.
func (f *Found) plan() (plan, error) {
	p := plan{mode: f.Mode, reasoning: f.Reasoning, tasks: f.Tasks, groups: f.Groups, settled: map[string]bool{}}
	begun := map[string]bool{}
	for _, g := range f.Status {
		p.settled[g.ID] = g.Status == team.Complete
		begun[g.ID] = g.Status != team.Pending
	}
	phases := slices.Clone(f.Phases)
	slices.SortStableFunc(phases, func(a, b team.ExecutionPhase) int { return cmp.Compare(a.PhaseNumber, b.PhaseNumber) })
	opened := false
	for _, ph := range phases {
		for _, id := range ph.GroupIDs {
			if p.group(id).ID == "" {
				return p, fmt.Errorf("phase %d has group %q, which is not planned", ph.PhaseNumber, clip(id, 60))
			}
			if p.phaseOf(id) >= 0 {
				return p, fmt.Errorf("group %s is in two phases", id)
			}
		}
		open := ph.Status == team.WorkInProgress || ph.Status == team.WorkComplete ||
			slices.ContainsFunc(ph.GroupIDs, func(id string) bool { return begun[id] })
		opened = opened || open
		p.phases = append(p.phases, phase{groups: slices.Clone(ph.GroupIDs), opened: open, number: ph.PhaseNumber})
	}
	if !opened && len(p.phases) > 0 {
		p.phases[0].opened = true
	}
	var rest []string
	for _, g := range p.groups {
		if p.phaseOf(g.ID) < 0 {
			rest = append(rest, g.ID)
		}
	}
	if len(rest) > 0 {
		number := 1
		for _, ph := range p.phases {
			number = max(number, ph.number+1)
		}
		p.phases = append(p.phases, phase{groups: rest, opened: true, number: number})
	}
	return p, nil
}

// restore sets the session to the state in another program's documents. If an agent of that program
// was working on a group, the step of this agent is repeated, because gaffer cannot receive the
// agent's answer.
func (s *Session) restore(f *Found) {
	p, err := f.plan()
	if err != nil {
		return // cannot happen: ReadFound has checked the plan
	}
	if !f.Began.IsZero() {
		s.history.began = f.Began
	}
	s.groups.plan = p
	s.history.events, s.history.starts, s.history.log = f.Iteration, f.Spawns, slices.Clone(f.Log)
	for _, status := range f.Status {
		g := newGroup(status.ID, s.start.Iterations)
		if status.LastUpdate.IsZero() {
			status.LastUpdate = team.At(s.history.updated)
		}
		g.status, g.found = status, &status
		g.why = "another program has left it as " + string(status.Status)
		if purpose, working := map[team.GroupStatus]Purpose{
			team.DevWorking: Work, team.QATesting: Test, team.TechReview: Review,
		}[status.Status]; working {
			g.redo = &redo{purpose: purpose, group: g.id}
		}
		for _, feedback := range status.TechLeadFeedback {
			if feedback.Decision == team.DecisionChangesRequested {
				g.returned, g.feedback = true, []string{"tech lead: " + feedback.Feedback}
			}
		}
		for _, text := range f.Mail[g.id] {
			g.advise(text)
		}
		s.groups.list = append(s.groups.list, g)
	}
	s.history.advance(s.history.updated)
	s.history.note("take_over", "gaffer continues a session that another program began")
}

// untouched reports whether a group of tasks comes from another program's session and gaffer has
// not started an agent for it.
func (g *group) untouched() bool { return g != nil && g.found != nil && g.starts == 0 }

// withFound returns c together with the files and commits that another program's documents list for
// the group.
func (g *group) withFound(c Change) Change {
	if g.found == nil {
		return c
	}
	return Change{
		Files:   unique(slices.Concat(g.found.FilesModified, c.Files)),
		Commits: unique(slices.Concat(g.found.Commits, c.Commits)),
	}
}

// unreadTexts returns unread messages as text, by the id of the group of tasks that they are about.
func unreadTexts(messages []team.Message) map[string][]string {
	mail := map[string][]string{}
	for _, m := range messages {
		body, _ := json.Marshal(m.Body)
		mail[m.GroupID] = append(mail[m.GroupID], clip(fmt.Sprintf("message from %s to %s: %s %s", m.From, m.To, m.Subject, body), maxText))
	}
	return mail
}
