package fleet

// MergeState is the result of merging one change.
type MergeState string

// The results of a merge. Only MergeDone and MergeUndone move the branch.
const (
	MergeDone     MergeState = "merged"
	MergeAlready  MergeState = "already"      // an earlier merge contains the change
	MergeNothing  MergeState = "nothing"      // the task has changed nothing
	MergeSkipped  MergeState = "skipped"      // MergeResult.Why is the reason
	MergeConflict MergeState = "conflict"     // MergeResult.Files have conflicts
	MergeFailed   MergeState = "check_failed" // a check of the merged files failed
	MergeSent     MergeState = "sent_back"    // the agent works on the conflict or the check
	MergeRunning  MergeState = "running"      // the checks take long; the review will contain the result
	MergeUndone   MergeState = "undone"       // the merge was undone
	MergeBlocked  MergeState = "blocked"      // git or the user's files do not allow the branch to move
)

// MergeRequest selects the changes to merge, and the method.
type MergeRequest struct {
	Run    string `json:"run"`
	Task   string `json:"task,omitempty"`   // empty means all approved changes of the run
	Into   string `json:"into,omitempty"`   // empty means the branch of the plan
	Method string `json:"method,omitempty"` // merge (the default), squash or rebase
	All    bool   `json:"all,omitempty"`    // also merge changes that are not approved
	Fix    bool   `json:"fix,omitempty"`    // send conflicts and failed checks back to the agent
	Yes    bool   `json:"yes,omitempty"`    // the user agrees that files change in a worktree that has the branch checked out
	Revert bool   `json:"revert,omitempty"` // for an undo: revert the merge if the branch has moved since
}

// MergeResult is the result of merging one change.
type MergeResult struct {
	Run      string     `json:"run"`
	Task     string     `json:"task"`
	Into     string     `json:"into"`
	State    MergeState `json:"state"`
	Landing  *Landing   `json:"landing,omitempty"`
	Updated  string     `json:"updated,omitempty"`       // path of the worktree whose files changed with the branch
	Files    []string   `json:"files,omitempty"`         // files with conflicts
	Why      string     `json:"why,omitempty"`           // what went wrong
	Hint     string     `json:"hint,omitempty"`          // what the user can do
	Commands []string   `json:"commands,omitempty"`      // commands that resolve a conflict by hand
	Message  string     `json:"message,omitempty"`       // the id of the message to the agent
	Consent  bool       `json:"needs_consent,omitempty"` // the merge needs the user's consent to change files of a worktree
}

// Failed reports whether the merge failed and the user has to act.
func (m MergeResult) Failed() bool {
	return m.State == MergeConflict || m.State == MergeFailed || m.State == MergeBlocked
}

// Changes counts the changes of a run's tasks by their next step.
type Changes struct {
	Run       string `json:"run"`
	Into      string `json:"into,omitempty"` // the target branch, if all changes have the same one
	Total     int    `json:"total"`
	Ready     int    `json:"ready"`               // changes that can be merged
	Approved  int    `json:"approved"`            // ready changes that the user has approved
	Unlanded  int    `json:"unlanded,omitempty"`  // ready changes that the plan merges by itself, and has not merged yet
	Commented int    `json:"commented"`           // changes with comments that were not sent yet
	SentBack  int    `json:"sent_back"`           // changes whose agent works on the user's comments
	Conflicts int    `json:"conflicts"`           // changes that conflict with the target branch
	Merged    int    `json:"merged"`              // changes that are already merged
	Discarded int    `json:"discarded"`           // changes that the user has discarded
	Unknown   int    `json:"unknown,omitempty"`   // changes that were not examined, because that would take too long
	First     string `json:"first,omitempty"`     // id of the first task whose change the user can review or merge
	Elsewhere bool   `json:"elsewhere,omitempty"` // the changes are on another machine
}
