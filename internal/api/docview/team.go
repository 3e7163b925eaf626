package docview

import (
	"path/filepath"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// TeamPicture is the view of a team of agents.
type TeamPicture struct {
	Project   string         `json:"project"`
	Path      string         `json:"path"`
	Found     bool           `json:"found"` // the project has documents of a team
	Ours      bool           `json:"ours"`  // a run of gaffer wrote the documents
	Run       string         `json:"run,omitempty"`
	Session   TeamSession    `json:"session"`
	Groups    []TeamGroup    `json:"groups"`
	Phases    []TeamPhase    `json:"phases"`
	Messages  []TeamMessage  `json:"messages"`  // oldest first
	Decisions []TeamDecision `json:"decisions"` // oldest first
	Counters  []TeamCounter  `json:"counters"`
	Problems  []string       `json:"problems"`
}

// TeamSession describes the state and the progress of a team's session.
type TeamSession struct {
	ID           string    `json:"id"`
	Mode         string    `json:"mode"`
	Status       string    `json:"status"`
	Phase        string    `json:"phase"`
	Iteration    int       `json:"iteration"`
	Spawns       int       `json:"spawns"`
	Started      time.Time `json:"started,omitzero"`
	Ended        time.Time `json:"ended,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	Percent      float64   `json:"percent"` // percentage of the team's groups of tasks that are complete
	Requirements string    `json:"requirements,omitempty"`
}

// TeamPhase is a set of groups of tasks. The groups of one phase run at the same time.
type TeamPhase struct {
	Number   int      `json:"number"`
	Status   string   `json:"status"`
	Groups   []string `json:"groups"`
	Parallel int      `json:"parallel,omitempty"`
}

// TeamCounter says how often an agent was started in one role, for example as developer, on one
// group of tasks, and how often this is allowed.
type TeamCounter struct {
	Group string `json:"group"`
	Role  string `json:"role"`
	Count int    `json:"count"`
	Limit int    `json:"limit"`
	To    string `json:"to"` // role that has to help the group when the limit is exceeded
}

// Team holds a team's documents as they were last read. It is not safe for concurrent use.
type Team struct {
	seen       map[team.Document]*document
	problemsOf map[team.Document][]string
}

// NewTeam returns a Team that has read no documents.
func NewTeam() *Team {
	t := &Team{map[team.Document]*document{}, map[team.Document][]string{}}
	for _, d := range team.Documents() {
		t.seen[d] = &document{}
	}
	return t
}

// ReadTeam reads a team's documents from the folder root.
func ReadTeam(h host.Host, root string) *Team {
	t := NewTeam()
	for _, d := range team.Documents() {
		t.Setter(d)(ReadDocument(h, filepath.Join(root, d.Path())))
	}
	return t
}

// Setter returns a function that stores the result of reading the document d. If data and err are
// nil, the document is treated as missing.
func (t *Team) Setter(d team.Document) func(data []byte, err error) {
	return func(data []byte, err error) { t.set(d, data, err) }
}

func (t *Team) set(d team.Document, data []byte, err error) {
	seen := t.seen[d]
	seen.set(data, err)
	switch name := d.Path(); {
	case !seen.exists:
		t.problemsOf[d] = nil
	case seen.problem != "":
		t.problemsOf[d] = []string{name + ": " + seen.problem}
	default:
		t.problemsOf[d] = problemsOf(name, team.ValidateDocument(d, name, data))
	}
}

// SessionID returns the session id that the team's documents contain, or "" if they contain none.
func (t *Team) SessionID() string {
	for _, d := range []team.Document{team.PMStateDoc, team.OrchestratorDoc} {
		if id := t.value(d).Get("session_id").Text(); id != "" {
			return id
		}
	}
	return ""
}

func (t *Team) value(d team.Document) jsontree.Value { return t.seen[d].value }

// Picture returns the view of the team. It does not set the fields Project, Path, Ours and Run of
// the view; the caller must set them.
func (t *Team) Picture() TeamPicture {
	s := t.state()
	return fitToMax(func(l limits) TeamPicture {
		groups := s.board(l)
		return TeamPicture{
			Found: t.exists(), Session: s.session(l, t.SessionID()), Groups: groups, Phases: s.phases(l),
			Messages: t.messages(l), Decisions: t.decisions(s, l), Counters: counters(groups), Problems: t.problems(l),
		}
	})
}

// exists reports whether any document with the team's state exists, even if it cannot be read.
func (t *Team) exists() bool {
	for _, d := range []team.Document{team.PMStateDoc, team.GroupStatusDoc, team.OrchestratorDoc} {
		if t.seen[d].exists {
			return true
		}
	}
	return false
}

func (t *Team) problems(l limits) []string {
	list := []string{}
	for _, d := range team.Documents() {
		for _, text := range t.problemsOf[d] {
			list = append(list, l.cut(text))
		}
	}
	own := t.SessionID()
	for _, d := range []team.Document{team.OrchestratorDoc, team.GroupStatusDoc} {
		if id := t.value(d).Get("session_id").Text(); id != "" && id != own {
			list = append(list, l.cut(d.Path()+": says session "+id+", another document "+own))
		}
	}
	return list[:min(len(list), maxProblems)]
}

// teamState is the decoded content of the documents with a team's state.
type teamState struct {
	pm           team.PMState
	groups       team.Groups
	orchestrator team.OrchestratorState

	begun   map[string]team.Group     // groups of tasks in the group status document, by id
	planned map[string]team.TaskGroup // groups of tasks that the project manager has planned, by id
	raw     map[string]jsontree.Value // JSON of each group in the group status document, by group id
	listed  map[string]team.WorkStatus
}

func (t *Team) state() teamState {
	s := teamState{
		begun: map[string]team.Group{}, planned: map[string]team.TaskGroup{}, raw: map[string]jsontree.Value{}, listed: map[string]team.WorkStatus{},
	}
	jsontree.Decode(t.value(team.PMStateDoc), &s.pm)
	jsontree.Decode(t.value(team.GroupStatusDoc), &s.groups)
	jsontree.Decode(t.value(team.OrchestratorDoc), &s.orchestrator)
	for _, g := range s.groups {
		s.begun[g.ID] = g
	}
	for _, g := range s.pm.TaskGroups {
		s.planned[g.ID] = g
	}
	for id, g := range t.value(team.GroupStatusDoc).Members() {
		s.raw[id] = g
	}
	for _, id := range s.pm.InProgressGroups {
		s.listed[id] = team.WorkInProgress
	}
	for _, id := range s.pm.CompletedGroups {
		s.listed[id] = team.WorkComplete
	}
	return s
}

func (s teamState) session(l limits, id string) TeamSession {
	o := s.orchestrator
	phase := o.CurrentPhase
	if phase == "" {
		phase = team.CurrentPhase(s.pm, s.groups, "")
	}
	updated := o.LastUpdate.Time
	if s.pm.LastUpdate.After(updated) {
		updated = s.pm.LastUpdate.Time
	}
	return TeamSession{
		ID: l.cut(id), Mode: l.cut(string(s.pm.Mode)), Status: l.cut(string(o.Status)), Phase: l.cut(string(phase)),
		Iteration: max(o.Iteration, 0), Spawns: max(o.TotalSpawns, 0),
		Started: representable(o.StartTime.Time), Ended: representable(o.EndTime.Time), Updated: representable(updated),
		Percent: s.percent(), Requirements: l.cut(s.pm.OriginalRequirements),
	}
}

func (s teamState) phases(l limits) []TeamPhase {
	list := []TeamPhase{}
	for i, p := range s.pm.ExecutionPhases {
		if i == l.items {
			break
		}
		number := p.PhaseNumber
		if number == 0 {
			number = i + 1
		}
		list = append(list, TeamPhase{number, l.cut(string(p.Status)), l.cutAll(p.GroupIDs), p.ParallelCount})
	}
	return list
}

// counters returns how often each role was started on the groups of tasks that are not complete. It
// leaves out roles that were never started on a group.
func counters(groups []TeamGroup) []TeamCounter {
	list := []TeamCounter{}
	for _, g := range groups {
		n := team.Group{Iterations: team.Iterations{Developer: g.Attempts.Developer, QA: g.Attempts.QA, TechLead: g.Attempts.TechLead}}
		for _, c := range team.Counters(n) {
			if c.Count > 0 && g.Stage != stageComplete {
				list = append(list, TeamCounter{g.ID, string(c.Role), c.Count, c.Limit, string(c.To)})
			}
		}
	}
	return list
}
