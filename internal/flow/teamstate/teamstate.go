// Package teamstate is the state machine of a team of agents. A project manager plans groups of
// tasks, developers work on them, a QA expert tests, a tech lead reviews, and gaffer merges
// approved work.
//
// The package does no I/O and reads no clock. A [Session] receives events in order. It returns the
// steps to start next and the content of the files that describe the session. The same events give
// the same result, so after a crash another process continues exactly where the first process
// stopped.
package teamstate

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// Start holds the parameters with which a team session starts. They never change.
type Start struct {
	Session      string    `json:"session"` // id of the session
	Requirements string    `json:"requirements"`
	Mode         team.Mode `json:"mode,omitempty"` // [team.Simple] or [team.Parallel]; if it is [team.Unplanned], the project manager chooses
	Developers   int       `json:"developers"`     // how many developers may work at the same time; at most [team.MaxDevelopers]
	// Iterations is how many agents may be started for each group of tasks before the user must
	// act. 0 means [DefaultIterations].
	Iterations int      `json:"iterations"`
	Branch     string   `json:"branch"`         // the session's branch, which gets all approved work
	Into       string   `json:"into,omitempty"` // the user's branch, into which all work is merged at the end; empty means no such merge
	Tests      []string `json:"tests,omitempty"`
	Roles      string   `json:"roles,omitempty"` // path of a file that configures the team's roles; empty means no such file

	// Questions says how the questions and permission requests of all agents are answered, for
	// example "ask" or "deny". Empty means that the settings of each role decide.
	Questions string `json:"questions,omitempty"`
	// Sandbox is the mode of the agents' sandbox that the user has chosen with a flag. Empty means
	// that the user's settings decide.
	Sandbox string `json:"sandbox,omitempty"`

	Found *Found `json:"found,omitempty"` // state of the session to continue if another program has started it; nil for a new session

	TestsTimeout time.Duration `json:"tests_timeout,omitempty"` // time limit of a merge with its tests; 0 means [DefaultTestsTimeout]
}

// DefaultIterations is the default of [Start.Iterations]: how many agents may be started for one
// group of tasks before the user must act.
const DefaultIterations = 30

// DefaultTestsTimeout is the default of [Start.TestsTimeout]: the time limit of a merge with its
// tests.
const DefaultTestsTimeout = 30 * time.Minute

// Purpose says what is done in a [Step]: which work its agent does, or which merge gaffer does
// itself.
type Purpose string

// The purposes of steps. Each belongs to one role, except Merge and Deliver, which gaffer does
// itself.
const (
	Plan    Purpose = "plan"    // the project manager divides the requirements into groups of tasks
	Split   Purpose = "split"   // the project manager splits a group for which agents were started too often, or gives advice
	Check   Purpose = "check"   // the groups of all open phases are complete: the project manager continues or ends the session
	Work    Purpose = "work"    // a developer works on a group's tasks
	Test    Purpose = "test"    // the QA expert tests a group's work
	Review  Purpose = "review"  // the tech lead reviews a group's work
	Unblock Purpose = "unblock" // the tech lead helps an agent that cannot continue
	Merge   Purpose = "merge"   // gaffer merges a group's branch into the session's branch and runs the tests
	Deliver Purpose = "deliver" // gaffer merges the session's branch into the user's branch
)

// Step is one step of a team's session: a task of the engine that starts an agent or merges a
// branch.
type Step struct {
	ID      string    `json:"id"`             // id of the engine's task, such as pm-1, A-developer-2 or A-merge-1
	Role    team.Role `json:"role,omitempty"` // role of the agent; empty if gaffer does the step itself
	Group   string    `json:"group,omitempty"`
	Purpose Purpose   `json:"purpose"`
	// Again is set if the step repeats an earlier step because the agent's answer could not be
	// used. It says what was wrong with that answer.
	Again  string `json:"again,omitempty"`
	Reason string `json:"reason"` // why the step is started, for the log
}

// Ending describes how the task of a step ended.
type Ending struct {
	At     time.Time
	Class  failure.Class // how the agent or the merge failed; failure.None if it did not
	Answer string        // the agent's last message; for a merge, a [Merged] as JSON
	Reason string        // why the task failed; empty if it did not
}

// Merged is the result of a merge step.
type Merged struct {
	Outcome   MergeOutcome `json:"outcome"`
	Commit    string       `json:"commit,omitempty"`    // new tip of the target branch
	Conflicts []string     `json:"conflicts,omitempty"` // files with conflicts
	Test      string       `json:"test,omitempty"`      // test command that failed
	// Output is the last part of the test's output for MergeFailed. For MergeConflict, it says what
	// prevents the merge and what the user can do.
	Output string `json:"output,omitempty"`
}

// MergeOutcome says how a merge ended.
type MergeOutcome string

// The outcomes of a merge. Only MergeDone changes the target branch. MergeConflict is also used for
// other problems that prevent a merge, such as uncommitted files.
const (
	MergeDone     MergeOutcome = "merged"
	MergeConflict MergeOutcome = "conflict"
	MergeFailed   MergeOutcome = "tests_failed"
)

// Outcome is how a session ended.
type Outcome struct {
	Completed bool
	Problem   string // why the session did not complete; empty if it did
	Hint      string // what the user should do about the problem
}

// Change holds what the work on a group of tasks has changed so far, according to git.
type Change struct {
	Files   []string // paths of the changed files, sorted
	Commits []string // each as "abc1234 - subject", oldest first
}

// Changes holds the [Change] of each group of tasks, by group id. The caller reads it from git, so
// it is not part of the session's state.
type Changes map[string]Change

// Brief holds the information that the agent of a step needs.
type Brief struct {
	Step         Step
	Session      string
	Requirements string
	Items        []Item         // requirements, one by one
	Mode         team.Mode      // mode that the user or the plan has chosen, such as [team.Simple]
	Developers   int            // number of developers that may work at the same time
	Group        team.TaskGroup // the step's group of tasks, as planned
	Status       team.Group     // current state of the step's group
	Tasks        []team.Task    // tasks of the group; for the project manager, all tasks
	Change       Change         // files and commits of the work on the group so far
	Work         string         // the developer's last message about the group
	Messages     []team.Message // messages from other roles to the agent
	// Feedback says what a developer has to do after a review, a test or a failed merge. It is set
	// only if the agent is a developer or the purpose of the step is [Split].
	Feedback string
	Guidance string       // advice of the project manager and the tech lead to the group, newest last
	Groups   []team.Group // state of all groups; set for the project manager only
	Plan     []team.TaskGroup
	Phases   []team.ExecutionPhase
	// Missing says why the project manager's last answer had no effect: COMPLETE was refused, or
	// the user did not answer a question. It is set for the project manager only.
	Missing   string
	Words     []team.Word // status words that the agent's answer may have
	Tests     []string    // shell commands that test the result of merging a group's branch
	Issues    []Issue     // issues of the last review that requested changes, with the developer's replies
	Unmerged  string      // why the last merge of the group failed; empty if it did not
	Unusable  string      // the previous answer, if it could not be used and the step asks for a new one
	Escalated bool        // a stronger language model than usual must do the work
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
