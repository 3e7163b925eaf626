package team

import (
	"errors"

	"gaffer/statefile/jsontree"
)

// Groups is the content of group_status.json: the groups of tasks in the order of the file.
type Groups []Group

// Group describes the state of one group of tasks. In group_status.json, the group's id is the key
// of this object.
type Group struct {
	ID               string          `json:"group_id"`
	Name             string          `json:"group_name"`
	Status           GroupStatus     `json:"status"`
	CurrentAgent     Role            `json:"current_agent"`
	Iterations       Iterations      `json:"iterations"`
	StartTime        Time            `json:"start_time,omitzero"`
	EndTime          Time            `json:"end_time,omitzero"`
	DurationMinutes  *float64        `json:"duration_minutes,omitempty"`
	BranchName       string          `json:"branch_name"`
	FilesModified    List[string]    `json:"files_modified"`
	Commits          List[string]    `json:"commits"`
	TestResults      *TestResults    `json:"test_results,omitempty"`
	TechLeadFeedback List[Feedback]  `json:"tech_lead_feedback"`
	Blockers         List[Blocker]   `json:"blockers"`
	QualityMetrics   *QualityMetrics `json:"quality_metrics,omitempty"`
	LastUpdate       Time            `json:"last_update"`
}

// Iterations counts how often agents of each role were started on a group.
type Iterations struct {
	Developer int `json:"developer"`
	QA        int `json:"qa"`
	TechLead  int `json:"tech_lead"`
}

// DecodeJSON reads the counters. It also accepts an integer with a decimal point, such as 5.0.
func (n *Iterations) DecodeJSON(v jsontree.Value) error {
	return decodeCounts(v, map[string]*int{"developer": &n.Developer, "qa": &n.QA, "tech_lead": &n.TechLead})
}

// of returns a pointer to the counter of the role r. The role must be Developer, QAExpert or
// TechLead.
func (n *Iterations) of(r Role) *int {
	switch r {
	case Developer:
		return &n.Developer
	case QAExpert:
		return &n.QA
	}
	return &n.TechLead
}

// TestResults counts the tests of a group, separately for each kind of test.
type TestResults struct {
	UnitTests        *TestCount `json:"unit_tests,omitempty"`
	IntegrationTests *TestCount `json:"integration_tests,omitempty"`
	ContractTests    *TestCount `json:"contract_tests,omitempty"`
	E2ETests         *TestCount `json:"e2e_tests,omitempty"`
}

// TestCount counts tests by result.
type TestCount struct {
	Total  int `json:"total"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// DecodeJSON reads the counts. It also accepts an integer with a decimal point, such as 5.0.
func (n *TestCount) DecodeJSON(v jsontree.Value) error {
	return decodeCounts(v, map[string]*int{"total": &n.Total, "passed": &n.Passed, "failed": &n.Failed})
}

// Feedback is one decision of the tech lead about a group.
type Feedback struct {
	Iteration int      `json:"iteration"`
	Decision  Decision `json:"decision"`
	Feedback  string   `json:"feedback"`
	Timestamp Time     `json:"timestamp,omitzero"`
}

// Decision is what the tech lead decided about the work on a group.
type Decision string

// The decisions of the tech lead.
const (
	DecisionApproved         Decision = "approved"
	DecisionChangesRequested Decision = "changes_requested"
	DecisionUnblocked        Decision = "unblocked"
)

// Blocker is a problem that prevents the work on a group from continuing.
type Blocker struct {
	Description string `json:"description"`
	Resolved    bool   `json:"resolved"`
	Resolution  string `json:"resolution"`
}

// QualityMetrics says how the tech lead rates the quality of the work on a group.
type QualityMetrics struct {
	CodeQualityScore    *float64 `json:"code_quality_score,omitempty"` // nil if unknown
	SecurityIssuesCount *int     `json:"security_issues_count,omitempty"`
	FirstPassApproval   bool     `json:"first_pass_approval"`
}

// newGroup returns the initial state of a group, with the status pending. p is the group in the
// plan.
func newGroup(p TaskGroup, now Time) Group {
	return Group{
		ID: p.ID, Name: p.Name, Status: Pending, CurrentAgent: None,
		BranchName: p.BranchName, LastUpdate: now,
	}
}

// Find returns the group with this id. It returns false if there is none.
func (gs Groups) Find(id string) (Group, bool) {
	for _, g := range gs {
		if g.ID == id {
			return g, true
		}
	}
	return Group{}, false
}

// byID maps the id of each group to the group. If two groups have the same id, the first one is in
// the map.
func (gs Groups) byID() map[string]*Group {
	all := make(map[string]*Group, len(gs))
	for i := range gs {
		if all[gs[i].ID] == nil {
			all[gs[i].ID] = &gs[i]
		}
	}
	return all
}

// MarshalJSON writes the groups as one object, with one member per group.
func (gs Groups) MarshalJSON() ([]byte, error) {
	return marshalObject(len(gs), func(i int) (string, any) { return gs[i].ID, gs[i] })
}

// DecodeJSON reads the groups in the object v. It skips members without a status, because they are
// notes that other programs have written. If a group's id occurs twice, the last member with this
// id counts.
func (gs *Groups) DecodeJSON(v jsontree.Value) error {
	if v.Kind() != jsontree.Object {
		return errors.New("an object")
	}
	at := map[string]int{}
	for id, member := range v.Members() {
		if member.Get("status").Absent() {
			continue
		}
		var g Group
		jsontree.Decode(member, &g)
		g.ID = id
		if i, twice := at[id]; twice {
			(*gs)[i] = g
			continue
		}
		at[id] = len(*gs)
		*gs = append(*gs, g)
	}
	return nil
}
