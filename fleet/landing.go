package fleet

// MergeState says what became of a change that should be merged.
type MergeState string

// The results of a merge. In all but MergeDone and MergeAlready the branch is as it was.
const (
	MergeDone     MergeState = "merged"
	MergeAlready  MergeState = "already"      // it was merged before
	MergeNothing  MergeState = "nothing"      // the task has changed nothing
	MergeSkipped  MergeState = "skipped"      // Why says why
	MergeConflict MergeState = "conflict"     // Files have conflicts
	MergeFailed   MergeState = "check_failed" // a check of the merged files failed
	MergeSent     MergeState = "sent_back"    // the agent works on the conflict or the check
	MergeRunning  MergeState = "running"      // the checks take long; the review tells the result
	MergeUndone   MergeState = "undone"       // the merge was taken back
	MergeBlocked  MergeState = "blocked"      // the target branch may not be moved
)

// MergeRequest says what to merge, and how.
type MergeRequest struct {
	Run    string `json:"run"`
	Task   string `json:"task,omitempty"`   // empty means all approved changes of the run
	Into   string `json:"into,omitempty"`   // empty means the branch of the plan
	Method string `json:"method,omitempty"` // merge (also if empty), squash, rebase
	All    bool   `json:"all,omitempty"`    // also changes that were not approved
	Fix    bool   `json:"fix,omitempty"`    // send conflicts and failed checks back to the agent
	Yes    bool   `json:"yes,omitempty"`    // the files of a worktree that has the branch checked out may change
	Revert bool   `json:"revert,omitempty"` // of an undo: revert the merge if the branch has moved since
}

// MergeResult is the result for one change.
type MergeResult struct {
	Run      string     `json:"run"`
	Task     string     `json:"task"`
	Into     string     `json:"into"`
	State    MergeState `json:"state"`
	Landing  *Landing   `json:"landing,omitempty"`
	Updated  string     `json:"updated,omitempty"`       // the worktree whose files have changed with the branch
	Files    []string   `json:"files,omitempty"`         // with conflicts
	Why      string     `json:"why,omitempty"`           // what went wrong
	Hint     string     `json:"hint,omitempty"`          // what the user can do
	Commands []string   `json:"commands,omitempty"`      // that resolve a conflict by hand
	Message  string     `json:"message,omitempty"`       // the id of the message to the agent
	Consent  bool       `json:"needs_consent,omitempty"` // it can be done if the user agrees that files of a worktree change
}

// Failed reports whether the user has to do something.
func (m MergeResult) Failed() bool {
	return m.State == MergeConflict || m.State == MergeFailed || m.State == MergeBlocked
}

// Changes counts the changes of a run's tasks by what is next.
type Changes struct {
	Run       string `json:"run"`
	Into      string `json:"into,omitempty"` // the branch that they are for, if it is the same for all
	Total     int    `json:"total"`
	Ready     int    `json:"ready"`               // can be merged
	Approved  int    `json:"approved"`            // of those
	Commented int    `json:"commented"`           // with comments that were not sent
	SentBack  int    `json:"sent_back"`           // the agent works on comments
	Conflicts int    `json:"conflicts"`           // with the branch
	Merged    int    `json:"merged"`              // already
	Discarded int    `json:"discarded"`           // by the user
	Unknown   int    `json:"unknown,omitempty"`   // not examined, because that would take too long
	First     string `json:"first,omitempty"`     // the first task that the user can do something about
	Elsewhere bool   `json:"elsewhere,omitempty"` // they are on another machine
}
