package fleet

// MergeState is the result of merging the change of one task into its target branch, or of undoing
// this merge.
type MergeState string

// The values of MergeState. The target branch was changed only if the state is MergeDone or
// MergeUndone.
const (
	MergeDone     MergeState = "merged"
	MergeAlready  MergeState = "already"      // the change was merged into the target branch before
	MergeNothing  MergeState = "nothing"      // nothing to merge: the task changed nothing, or the target branch has all its commits
	MergeSkipped  MergeState = "skipped"      // the change must not be merged now; MergeResult.Why is the reason
	MergeConflict MergeState = "conflict"     // MergeResult.Files have conflicts
	MergeFailed   MergeState = "check_failed" // a check of the merged files failed
	MergeSent     MergeState = "sent_back"    // the change was sent back to its agent to fix a conflict or a check
	MergeRunning  MergeState = "running"      // the request ended before the merge did; repeat the request to get the result
	MergeUndone   MergeState = "undone"       // the merge was undone
	MergeBlocked  MergeState = "blocked"      // the target branch is unknown or must not change; MergeResult.Why is the reason
)

// MergeRequest says which changes to merge, into which branch, and how.
type MergeRequest struct {
	Run  string `json:"run"`
	Task string `json:"task,omitempty"` // id of the task; empty means all approved changes of the run
	// Into is the target branch. Empty means the branch that the plan names or, if the plan names
	// none, the branch that is checked out in the repository.
	Into   string `json:"into,omitempty"`
	Method string `json:"method,omitempty"` // merge (the default), squash or rebase
	All    bool   `json:"all,omitempty"`    // also merge changes that are not approved
	Fix    bool   `json:"fix,omitempty"`    // if there is a conflict or a check fails, send the change back to its agent
	// Yes says that the user allows the merge to change files in a worktree in which the target
	// branch is checked out.
	Yes bool `json:"yes,omitempty"`
	// Revert is used only to undo a merge. If the branch has further commits after the merge,
	// Revert allows gaffer to add a commit that reverts the merge.
	Revert bool `json:"revert,omitempty"`
}

// MergeResult describes the result of merging the change of one task, or of undoing this merge.
type MergeResult struct {
	Run      string     `json:"run"`
	Task     string     `json:"task"`
	Into     string     `json:"into"`
	State    MergeState `json:"state"`
	Landing  *Landing   `json:"landing,omitempty"`
	Updated  string     `json:"updated,omitempty"`       // path of the worktree whose files were updated because it has the target branch checked out
	Files    []string   `json:"files,omitempty"`         // paths of the files with conflicts
	Why      string     `json:"why,omitempty"`           // why the change was not merged, or the merge not undone
	Hint     string     `json:"hint,omitempty"`          // what the user can do next
	Commands []string   `json:"commands,omitempty"`      // shell commands with which the user can resolve the conflict
	Message  string     `json:"message,omitempty"`       // id of the message to the agent if State is MergeSent
	Consent  bool       `json:"needs_consent,omitempty"` // the user must agree first: the request must set MergeRequest.Yes
}

// Failed reports whether the merge failed and the user has to act.
func (m MergeResult) Failed() bool {
	return m.State == MergeConflict || m.State == MergeFailed || m.State == MergeBlocked
}

// Changes counts the changes that the tasks of a run have made to files, by state: ready to be
// merged, merged, discarded, and so on.
type Changes struct {
	Run       string `json:"run"`
	Into      string `json:"into,omitempty"` // target branch, if it is the same for all changes
	Total     int    `json:"total"`
	Ready     int    `json:"ready"`               // changes of complete tasks that can be merged without conflicts
	Approved  int    `json:"approved"`            // changes in Ready that the user has approved
	Unlanded  int    `json:"unlanded,omitempty"`  // changes in Ready that gaffer will merge without the user, because the plan says so
	Commented int    `json:"commented"`           // changes with comments that were not sent to the agent yet
	SentBack  int    `json:"sent_back"`           // changes that the user has sent back to the agent
	Conflicts int    `json:"conflicts"`           // changes of complete tasks that conflict with the target branch
	Merged    int    `json:"merged"`              // changes that are already merged
	Discarded int    `json:"discarded"`           // changes that the user has discarded
	Unknown   int    `json:"unknown,omitempty"`   // changes that were not checked for conflicts: there was no time, or no target branch
	First     string `json:"first,omitempty"`     // id of the first task whose change the user can review or merge
	Elsewhere bool   `json:"elsewhere,omitempty"` // the changes are on another machine, so all counts are 0
}
