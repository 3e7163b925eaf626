package docview

import (
	"cmp"
	"math"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// TeamGroup is one group of tasks on a team's board.
type TeamGroup struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Status    string        `json:"status"` // status word as written in the document
	Stage     string        `json:"stage"`  // column of the board that shows the group
	Branch    string        `json:"branch"`
	Agent     string        `json:"agent,omitempty"` // the agent that works on the group
	Attempts  TeamAttempts  `json:"attempts"`
	Blockers  []TeamBlocker `json:"blockers"`
	DependsOn []string      `json:"depends_on"`
	Note      string        `json:"note"`              // the tech lead's last feedback
	Files     int           `json:"files,omitempty"`   // number of files that the agents have changed for the group
	Commits   int           `json:"commits,omitempty"` // number of the group's commits
	Started   time.Time     `json:"started,omitzero"`
	Ended     time.Time     `json:"ended,omitzero"`
}

// TeamAttempts says how often an agent of each role was started on a group of tasks.
type TeamAttempts struct {
	Developer int `json:"developer"`
	QA        int `json:"qa"`
	TechLead  int `json:"tech_lead"`
}

// TeamBlocker is a problem that prevents progress on a group of tasks.
type TeamBlocker struct {
	Description string `json:"description"`
	Resolved    bool   `json:"resolved"`
	Resolution  string `json:"resolution,omitempty"`
}

// The page shows the team's groups of tasks on a board. These are its columns, from first to last.
// Groups with an unknown status word are in the column stageOther, and never count as complete.
const (
	stagePending   = "pending"
	stageDeveloper = "developer_working"
	stageQA        = "qa_testing"
	stageReview    = "tech_review"
	stageComplete  = "complete"
	stageOther     = "other"
)

// stageOf returns the column of the board that shows a group of tasks with the given status. It
// also accepts the status words that the project manager uses for planned groups.
func stageOf(status string) string {
	switch team.GroupStatus(status) {
	case team.Pending, "", team.GroupStatus(team.WorkAssigned):
		return stagePending
	case team.DevWorking, team.DevBlocked, team.QAFailed, team.ChangesRequested, team.GroupStatus(team.WorkInProgress):
		return stageDeveloper
	case team.WaitingQA, team.QATesting:
		return stageQA
	case team.WaitingReview, team.TechReview:
		return stageReview
	case team.Complete:
		return stageComplete
	}
	return stageOther
}

// board returns at most l.items groups of tasks: first those in the group status document, then
// those that only the project manager's document names.
func (s teamState) board(l limits) []TeamGroup {
	list := []TeamGroup{}
	for _, id := range s.ids() {
		if len(list) == l.items {
			break
		}
		list = append(list, s.group(id, l))
	}
	return list
}

// ids returns the ids of all groups of tasks that any document names, each once, in the order of
// the board.
func (s teamState) ids() []string {
	var list []string
	known := map[string]bool{"": true}
	add := func(ids ...string) {
		for _, id := range ids {
			if !known[id] {
				known[id] = true
				list = append(list, id)
			}
		}
	}
	for _, g := range s.groups {
		add(g.ID)
	}
	for _, g := range s.pm.TaskGroups {
		add(g.ID)
	}
	for _, p := range s.pm.ExecutionPhases {
		add(p.GroupIDs...)
	}
	add(s.pm.CompletedGroups...)
	add(s.pm.InProgressGroups...)
	add(s.pm.PendingGroups...)
	return list
}

func (s teamState) group(id string, l limits) TeamGroup {
	planned, g, raw := s.planned[id], s.begun[id], s.raw[id]
	status := s.status(id)
	agent := string(g.CurrentAgent)
	if agent == string(team.None) {
		agent = ""
	}
	return TeamGroup{
		ID: l.cut(id), Name: l.cut(cmp.Or(g.Name, planned.Name)), Status: l.cut(status), Stage: stageOf(status),
		Branch: l.cut(cmp.Or(g.BranchName, planned.BranchName)), Agent: l.cut(agent),
		Attempts: TeamAttempts{max(g.Iterations.Developer, 0), max(g.Iterations.QA, 0), max(g.Iterations.TechLead, 0)},
		Blockers: blockers(raw.Get("blockers"), l), DependsOn: l.cutAll(planned.DependsOn), Note: l.cut(note(raw)),
		Files: len(g.FilesModified), Commits: len(g.Commits),
		Started: representable(g.StartTime.Time), Ended: representable(g.EndTime.Time),
	}
}

// status returns the status of a group of tasks in the group status document. If there is none, it
// returns the status that the project manager has given the group. If that is missing too, it
// returns pending.
func (s teamState) status(id string) string {
	return cmp.Or(string(s.begun[id].Status), string(s.planned[id].Status), string(s.listed[id]), string(team.Pending))
}

// blockers returns the blockers of a group. In the document they are objects or plain texts.
func blockers(v jsontree.Value, l limits) []TeamBlocker {
	list := []TeamBlocker{}
	for _, item := range v.Items() {
		b := TeamBlocker{Description: first(item, "description", "text", "reason"), Resolution: l.cut(first(item, "resolution"))}
		if text, ok := item.Str(); ok {
			b.Description = text
		}
		b.Resolved, _ = item.Get("resolved").Bool()
		if b.Description != "" && len(list) < l.items {
			b.Description = l.cut(b.Description)
			list = append(list, b)
		}
	}
	return list
}

// note returns the tech lead's last feedback on a group.
func note(group jsontree.Value) (text string) {
	for _, item := range group.Get("tech_lead_feedback").Items() {
		said := first(item, "feedback", "summary")
		if plain, ok := item.Str(); ok {
			said = plain
		}
		if said != "" {
			text = said
		}
	}
	return text
}

// percent returns the percentage of complete groups, rounded to one decimal.
func (s teamState) percent() float64 {
	ids, done := s.ids(), 0
	for _, id := range ids {
		if stageOf(s.status(id)) == stageComplete {
			done++
		}
	}
	if len(ids) == 0 {
		return 0
	}
	return math.Round(float64(done)*1000/float64(len(ids))) / 10
}
