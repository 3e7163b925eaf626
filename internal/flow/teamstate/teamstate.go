// Package teamstate is the state machine of a team. A project manager plans groups of
// tasks, developers work on them, a QA expert tests, a tech lead reviews, and gaffer
// merges approved work.
//
// The package is pure. A [Session] receives events in order. It returns the steps to
// start next and the content of the documents. The same events give the same result,
// so after a crash another process continues exactly where the first one stopped.
package teamstate

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// Start holds the initial parameters of a session. It never changes.
type Start struct {
	Session      string    `json:"session"` // id of the session
	Requirements string    `json:"requirements"`
	Mode         team.Mode `json:"mode,omitempty"` // [team.Unplanned] leaves the choice to the project manager
	Developers   int       `json:"developers"`     // number of developers at the same time, at most [team.MaxDevelopers]
	Iterations   int       `json:"iterations"`     // starts of agents per group before the user must act; [DefaultIterations] if 0
	Branch       string    `json:"branch"`         // branch that approved work is merged into
	Into         string    `json:"into,omitempty"` // the user's branch that gets the result at the end; empty for none
	Tests        []string  `json:"tests,omitempty"`
	Roles        string    `json:"roles,omitempty"` // file that configures the roles; empty for none

	Found *Found `json:"found,omitempty"` // state of a session of another program to continue; nil for a new session

	TestsTimeout time.Duration `json:"tests_timeout,omitempty"` // timeout of a merge with its tests; [DefaultTestsTimeout] if 0
}

// DefaultIterations is the default for how many agents are started for one group
// before the user must act.
const DefaultIterations = 30

// DefaultTestsTimeout is the default timeout of a merge with its tests.
const DefaultTestsTimeout = 30 * time.Minute

// Purpose is the purpose of a step: what an agent is started for, or what gaffer does
// itself.
type Purpose string

// The purposes. Each belongs to one role, except for Merge and Deliver, which gaffer
// does itself.
const (
	Plan    Purpose = "plan"    // pm: turn the requirements into groups
	Split   Purpose = "split"   // pm: a group is stuck; split it or give advice
	Check   Purpose = "check"   // pm: the open groups are complete; continue or end
	Work    Purpose = "work"    // developer
	Test    Purpose = "test"    // qa_expert
	Review  Purpose = "review"  // tech_lead: review a group's work
	Unblock Purpose = "unblock" // tech_lead: help an agent that cannot continue
	Merge   Purpose = "merge"   // merge a group's branch into the session's and run the tests
	Deliver Purpose = "deliver" // merge the session's branch into the user's
)

// Step is one task of the engine: a start of an agent, or a merge.
type Step struct {
	ID      string    `json:"id"`             // id of the engine's task: pm-1, A-developer-2, A-merge-1
	Role    team.Role `json:"role,omitempty"` // empty for a step that gaffer executes itself
	Group   string    `json:"group,omitempty"`
	Purpose Purpose   `json:"purpose"`
	Again   string    `json:"again,omitempty"` // problem with the previous answer, if the step only asks for a new answer
	Reason  string    `json:"reason"`          // why the step is started, for the log of decisions
}

// Ending describes how a step's task ended.
type Ending struct {
	At     time.Time
	Class  failure.Class // failure.None if the agent ended by itself
	Answer string        // the agent's last message; for a merge, a [Merged] as JSON
	Reason string        // why the task failed, if it did
}

// Merged is the result of a merge.
type Merged struct {
	Outcome   MergeOutcome `json:"outcome"`
	Commit    string       `json:"commit,omitempty"`    // new head of the branch
	Conflicts []string     `json:"conflicts,omitempty"` // files with conflicts
	Test      string       `json:"test,omitempty"`      // the command that failed
	Output    string       `json:"output,omitempty"`    // the last lines of its output
}

// MergeOutcome says how a merge ended.
type MergeOutcome string

// The outcomes. Only after MergeDone the branch is changed.
const (
	MergeDone     MergeOutcome = "merged"
	MergeConflict MergeOutcome = "conflict"
	MergeFailed   MergeOutcome = "tests_failed"
)

// Outcome is the result of a session.
type Outcome struct {
	Completed bool
	Problem   string // why the session did not complete
	Hint      string // what the user should do about the problem
}

// Change lists what a group has changed so far, according to git.
type Change struct {
	Files   []string // sorted paths
	Commits []string // "abc1234 - subject", oldest first
}

// Changes is what each group has changed, by the group's id. It comes from git and not
// from the session's events.
type Changes map[string]Change

// Brief holds exactly the information that a role needs for a step.
type Brief struct {
	Step         Step
	Session      string
	Requirements string
	Items        []Item         // the requirements, one by one
	Mode         team.Mode      // chosen by the user, or by the plan
	Developers   int            // number of developers that may work at the same time
	Group        team.TaskGroup // the group as planned
	Status       team.Group     // the group's current status
	Tasks        []team.Task    // tasks of the group; for the project manager, all tasks
	Change       Change         // changes of the group
	Work         string         // the developer's last message about the group
	Messages     []team.Message // messages that the role gets with this start
	Feedback     string         // for a developer: what the tech lead, QA or the merge requires
	Guidance     string         // advice of the project manager or the tech lead for the group, newest last
	Groups       []team.Group   // for the project manager: the status of all groups
	Plan         []team.TaskGroup
	Phases       []team.ExecutionPhase
	Missing      string      // for the project manager: why its last decision was refused
	Words        []team.Word // valid status words for the answer
	Tests        []string    // commands that run after a merge
	Issues       []Issue     // issues of the last review that requested changes, with the developer's replies
	Unmerged     string      // why the last merge of the group failed
	Unusable     string      // the answer that could not be used, if the step asks for a new one
	Escalated    bool        // a stronger model should do the work
}

// Issue is an issue of a review with the developer's reply.
type Issue struct {
	team.Issue
	Reply string // empty if the developer has not replied
}

// Item is one requirement.
type Item struct {
	ID   string // R1, R2, …
	Text string
}
