package fleet

// MergeState is the result of merging one change, or of undoing its merge.
type MergeState string

// The results of a merge. Only MergeDone and MergeUndone change the target branch.
const (
	MergeDone     MergeState = "merged"
	MergeAlready  MergeState = "already"      // the target branch already contains the change
	MergeNothing  MergeState = "nothing"      // the task has changed nothing
	MergeSkipped  MergeState = "skipped"      // the change must not be merged now, for example because it is not approved; MergeResult.Why is the reason
	MergeConflict MergeState = "conflict"     // MergeResult.Files have conflicts
	MergeFailed   MergeState = "check_failed" // a check of the merged files failed
	MergeSent     MergeState = "sent_back"    // the change was sent back to its agent, which works on the conflict or the failed check
	MergeRunning  MergeState = "running"      // the checks of the merged files are still running; the task's review will contain the result
	MergeUndone   MergeState = "undone"       // the merge was undone
	MergeBlocked  MergeState = "blocked"      // the target branch is unknown, or must not be updated because of git or of files in a worktree; MergeResult.Why is the reason
)

// MergeRequest says which changes to merge, into which branch, and how.
type MergeRequest struct {
	Run    string `json:"run"`
	Task   string `json:"task,omitempty"`   // id of the task; empty means all approved changes of the run
	Into   string `json:"into,omitempty"`   // target branch; empty means the branch that the plan names or, if it names none, the checked-out one
	Method string `json:"method,omitempty"` // merge (the default), squash or rebase
	All    bool   `json:"all,omitempty"`    // also merge changes that are not approved
	Fix    bool   `json:"fix,omitempty"`    // send conflicts and failed checks back to the agent
	Yes    bool   `json:"yes,omitempty"`    // the user agrees that the merge changes files in a worktree that has the branch checked out
	Revert bool   `json:"revert,omitempty"` // used only to undo a merge: add a reverting commit if the branch has got other commits since the merge
}

// MergeResult describes the result of merging one change, or of undoing its merge.
type MergeResult struct {
	Run      string     `json:"run"`
	Task     string     `json:"task"`
	Into     string     `json:"into"`
	State    MergeState `json:"state"`
	Landing  *Landing   `json:"landing,omitempty"`
	Updated  string     `json:"updated,omitempty"`       // path of the worktree whose files were updated, because it has the branch checked out; empty if none has
	Files    []string   `json:"files,omitempty"`         // paths of the files with conflicts
	Why      string     `json:"why,omitempty"`           // why the change was not merged
	Hint     string     `json:"hint,omitempty"`          // what the user can do next
	Commands []string   `json:"commands,omitempty"`      // shell commands with which the user can resolve the conflict
	Message  string     `json:"message,omitempty"`       // id of the message that sent the conflict or the failed check back to the agent; empty if none was sent
	Consent  bool       `json:"needs_consent,omitempty"` // the user must first agree that files in a worktree change; see MergeRequest.Yes
}

// Failed reports whether the merge failed and the user has to act.
func (m MergeResult) Failed() bool {
	return m.State == MergeConflict || m.State == MergeFailed || m.State == MergeBlocked
}

// Changes counts the changes of a run's tasks by what can be done with them.
type Changes struct {
	Run       string `json:"run"`
	Into      string `json:"into,omitempty"` // target branch of all changes; empty if they have different ones
	Total     int    `json:"total"`
	Ready     int    `json:"ready"`               // changes that can be merged: the task is complete, and there are no conflicts
	Approved  int    `json:"approved"`            // ready changes that the user has approved
	Unlanded  int    `json:"unlanded,omitempty"`  // ready changes that gaffer merges by itself, because the plan says so
	Commented int    `json:"commented"`           // changes with comments that were not sent to the agent yet
	SentBack  int    `json:"sent_back"`           // changes on which the agent works, because of the user's comments
	Conflicts int    `json:"conflicts"`           // changes of complete tasks that conflict with the target branch
	Merged    int    `json:"merged"`              // changes that are already merged
	Discarded int    `json:"discarded"`           // changes that the user has discarded
	Unknown   int    `json:"unknown,omitempty"`   // changes that were not examined, because that would take too long
	First     string `json:"first,omitempty"`     // id of the first task whose change the user can review or merge
	Elsewhere bool   `json:"elsewhere,omitempty"` // the changes are on another machine, so they were not counted
}
