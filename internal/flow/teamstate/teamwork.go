// Package teamstate is the state machine of a team: a project manager plans
// groups of tasks, developers work on them, a QA expert tests, a tech lead
// reviews, and gaffer merges what was approved.
//
// It is pure. A [Session] is told what happened, in the order in which it
// happened, and says what is to be started next and what the documents are.
// Told the same things it says the same, so that whoever comes after a crash
// goes on exactly where the one before was.
package teamstate

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// Start is what a session begins with. It never changes.
type Start struct {
	Session      string    `json:"session"` // its id
	Requirements string    `json:"requirements"`
	Mode         team.Mode `json:"mode,omitempty"` // [team.Unplanned] leaves it to the project manager
	Developers   int       `json:"developers"`     // that work at the same time, at most [team.MaxDevelopers]
	Iterations   int       `json:"iterations"`     // starts of agents for one group before a person must look; [DefaultIterations] if 0
	Branch       string    `json:"branch"`         // that what is approved is merged into
	Into         string    `json:"into,omitempty"` // the person's branch that gets it all at the end; empty for none
	Tests        []string  `json:"tests,omitempty"`
	Roles        string    `json:"roles,omitempty"` // the file that says who plays them; empty for none

	Found *Found `json:"found,omitempty"` // what another program has done of it; nil if it begins here

	TestsTimeout time.Duration `json:"tests_timeout,omitempty"` // of a merge with its tests; [DefaultTestsTimeout] if 0
}

// DefaultIterations is how many agents are started for one group before a person
// must look, if nobody has said otherwise.
const DefaultIterations = 30

// DefaultTestsTimeout is how long a merge with its tests may take, if nobody has
// said otherwise.
const DefaultTestsTimeout = 30 * time.Minute

// Purpose is what an agent is started for, or what gaffer does by itself.
type Purpose string

// The purposes. Each belongs to one role, and the last two to nobody: gaffer
// does them.
const (
	Plan    Purpose = "plan"    // pm: make groups of the requirements
	Split   Purpose = "split"   // pm: a group is stuck; split it, or say how to go on
	Check   Purpose = "check"   // pm: the open groups are complete; go on or end
	Work    Purpose = "work"    // developer
	Test    Purpose = "test"    // qa_expert
	Review  Purpose = "review"  // tech_lead: of a group's work
	Unblock Purpose = "unblock" // tech_lead: help somebody who cannot go on
	Merge   Purpose = "merge"   // a group's branch into the session's, with the tests
	Deliver Purpose = "deliver" // the session's branch into the person's
)

// Step is one task of the engine: an agent's start, or a merge.
type Step struct {
	ID      string    `json:"id"`             // of the task: pm-1, A-developer-2, A-merge-1
	Role    team.Role `json:"role,omitempty"` // empty if gaffer does it
	Group   string    `json:"group,omitempty"`
	Purpose Purpose   `json:"purpose"`
	Again   string    `json:"again,omitempty"` // what was wrong with the answer before, if this asks for it once more
	Reason  string    `json:"reason"`          // for the log of decisions
}

// Ending is how a step's task ended.
type Ending struct {
	At     time.Time
	Class  failure.Class // failure.None if its agent came to an end by itself
	Answer string        // all that the agent said last; of a merge a [Merged] as JSON
	Reason string        // why it failed, if it did
}

// Merged is what came of a merge.
type Merged struct {
	Outcome   MergeOutcome `json:"outcome"`
	Commit    string       `json:"commit,omitempty"`    // the branch's new tip
	Conflicts []string     `json:"conflicts,omitempty"` // files
	Test      string       `json:"test,omitempty"`      // the command that failed
	Output    string       `json:"output,omitempty"`    // its last lines
}

// MergeOutcome is how a merge ended.
type MergeOutcome string

// The outcomes. Only the first has changed the branch.
const (
	MergeDone     MergeOutcome = "merged"
	MergeConflict MergeOutcome = "conflict"
	MergeFailed   MergeOutcome = "tests_failed"
)

// Outcome is how a session ended.
type Outcome struct {
	Completed bool
	Problem   string // of one that did not: what happened
	Hint      string // and what a person should do
}

// Change is what a group has changed so far, according to git.
type Change struct {
	Files   []string // sorted
	Commits []string // "abc1234 - subject", the oldest first
}

// World is what a session does not know by itself.
type World struct {
	Changes map[string]Change // by group
}

// Brief is what a role needs to know for a step, and no more.
type Brief struct {
	Step         Step
	Session      string
	Requirements string
	Items        []Item         // the requirements one by one
	Mode         team.Mode      // that a person has asked for, or the plan's
	Developers   int            // how many may work at the same time
	Group        team.TaskGroup // as it was planned
	Status       team.Group     // as it stands
	Tasks        []team.Task    // the group's, or for the project manager all
	Change       Change         // of the group
	Work         string         // what the developer said last of the work on the group
	Messages     []team.Message // that the role gets with this start
	Feedback     string         // for a developer: what the tech lead, QA, or the merge asks for
	Guidance     string         // what the project manager or the tech lead has advised on the group, the newest last
	Groups       []team.Group   // for the project manager: how all of them stand
	Plan         []team.TaskGroup
	Phases       []team.ExecutionPhase
	Missing      string      // for the project manager: why its last word did not count
	Words        []team.Word // that the answer may have as its status
	Tests        []string    // that run after a merge
	Issues       []Issue     // of the last review that asked for changes, with the developer's replies
	Unmerged     string      // why the last merge of the group failed
	Unusable     string      // if this asks for an answer once more: the one that could not be used
	Escalated    bool        // a stronger model should do the work
}

// Issue is an issue of a review, and what the developer replied to it.
type Issue struct {
	team.Issue
	Reply string // empty if there is none
}

// Item is one requirement.
type Item struct {
	ID   string // R1, R2, …
	Text string
}
