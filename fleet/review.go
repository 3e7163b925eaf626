package fleet

import "time"

// ReviewState is the state of a user's review of what a task has changed.
type ReviewState string

// The states of a review. A review starts as open. It becomes open again when the agent has
// answered the user's comments.
const (
	ReviewOpen      ReviewState = "open"
	ReviewCommented ReviewState = "commented" // the review has comments that were not sent to the agent yet
	ReviewSentBack  ReviewState = "sent_back" // the agent works on the user's comments
	ReviewApproved  ReviewState = "approved"
	ReviewMerged    ReviewState = "merged"
	ReviewDiscarded ReviewState = "discarded"
)

// Review is the user's review of everything that a task has changed, on its branch and in its
// worktree.
type Review struct {
	Run      string      `json:"run"`
	Task     string      `json:"task"`
	State    ReviewState `json:"state"`
	Round    int         `json:"round"`              // how many times the user has sent comments on the change to the agent
	Comments []Comment   `json:"comments,omitempty"` // the user's comments, oldest first
	// Viewed maps the path of each file that the user has marked as viewed to the digest that the
	// file's diff had then. If the diff has another digest now, the file counts as not viewed.
	Viewed map[string]string `json:"viewed,omitempty"`
	// Seen is the id of the git tree that the user saw when last approving the change or sending it
	// back to the agent.
	Seen    string    `json:"seen,omitempty"`
	By      string    `json:"by,omitempty"` // the user who changed the review last
	Updated time.Time `json:"updated,omitzero"`

	Landing *Landing `json:"landing,omitempty"` // the last merge of the change; nil if there was none or it was undone
	Rescue  string   `json:"rescue,omitempty"`  // git ref that keeps a discarded change; empty for other changes
}

// Landing describes a merge of a change into a branch.
type Landing struct {
	Into   string    `json:"into"`
	Method string    `json:"method"` // merge, squash or rebase
	Before string    `json:"before"` // commit of the branch before the merge
	After  string    `json:"after"`
	Tip    string    `json:"tip"`            // last commit of the change that was merged
	Undo   string    `json:"undo,omitempty"` // git ref that keeps the commit Before, so that the merge can be undone
	At     time.Time `json:"at"`
}

// Side is one side of a diff: old or new.
type Side string

// The sides of a diff.
const (
	OldSide Side = "old"
	NewSide Side = "new"
)

// Comment is a user's comment on a change. The comment is on lines of a file, on a whole file if
// First is 0, or on the whole change if Path is empty.
type Comment struct {
	ID string `json:"id"`
	// Key is chosen by the client. A repeated request with the same key adds no second comment.
	Key   string    `json:"key,omitempty"`
	Path  string    `json:"path,omitempty"`
	Side  Side      `json:"side,omitempty"`
	First int       `json:"first,omitempty"` // number of the first commented line, from 1
	Last  int       `json:"last,omitempty"`
	Tree  string    `json:"tree,omitempty"`  // id of the git tree or commit that the user commented on
	Lines string    `json:"lines,omitempty"` // text of the commented lines
	Text  string    `json:"text"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"`

	// Round is the value that [Review.Round] got when the comment was sent to the agent. It is 0 if
	// the comment was not sent yet.
	Round    int            `json:"round,omitempty"`
	Answer   *CommentAnswer `json:"answer,omitempty"`
	Resolved bool           `json:"resolved,omitempty"`
}

// CommentAnswer is the agent's answer to a comment.
type CommentAnswer struct {
	// Fixed says whether the agent did what the comment asks. If not, Text is the reason.
	Fixed   bool      `json:"fixed"`
	Text    string    `json:"text,omitempty"`
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
}

// ReviewAction is one action of the user in a review.
type ReviewAction struct {
	// Action is the kind of the action: comment, edit, delete, resolve, view, approve, send_back or
	// reopen. It decides which fields below are used.
	Action string `json:"action"`
	// Comment is the new comment, if Action is comment. If Action is edit, Comment.Text is the new
	// text of an existing comment.
	Comment Comment `json:"comment,omitzero"`
	// ID is the id of the comment to edit, delete or resolve. If it is empty, Comment.ID is used.
	ID string `json:"id,omitempty"`
	// Resolved is used only if Action is resolve. True marks the comment as resolved, and false as
	// not resolved. Nil means the value of Comment.Resolved if Comment.ID is set, and true if it is
	// empty.
	Resolved *bool  `json:"resolved,omitempty"`
	Path     string `json:"path,omitempty"` // path of the file, if Action is view
	// Digest is the digest of the file's diff, if Action is view. An empty digest marks the file as
	// not viewed.
	Digest string `json:"digest,omitempty"`
	Tree   string `json:"tree,omitempty"` // git tree that the user saw, if Action is approve or send_back
}

// The actions of a user in a review.
const (
	ActComment  = "comment"
	ActEdit     = "edit"
	ActDelete   = "delete"
	ActResolve  = "resolve"
	ActView     = "view"
	ActApprove  = "approve"
	ActSendBack = "send_back"
	ActReopen   = "reopen"
)

// Message is a text from the user to the agent of a task.
type Message struct {
	ID   string    `json:"id"`
	Run  string    `json:"run"`
	Task string    `json:"task"`
	Text string    `json:"text"`
	By   string    `json:"by,omitempty"`
	Sent time.Time `json:"sent"`
	// Now asks the agent's program to cut its current answer short and read the message at once.
	// Programs that cannot do this ignore Now.
	Now bool `json:"now,omitempty"`
	// Round is the [Comment.Round] of the review comments in the message. It is 0 if there are
	// none.
	Round int `json:"round,omitempty"`

	Attempt   string    `json:"attempt,omitempty"`   // id of the attempt whose agent received the message
	Delivered time.Time `json:"delivered,omitzero"`  // when the agent's program accepted the message; zero if not yet
	Withdrawn bool      `json:"withdrawn,omitempty"` // the message was withdrawn before its delivery
}

// Waiting reports whether the message was neither delivered nor withdrawn.
func (m Message) Waiting() bool { return m.Delivered.IsZero() && !m.Withdrawn }

// Change is everything that a task has changed since the commit that its branch started
// from.
type Change struct {
	Run    string `json:"run"`
	Task   string `json:"task"`
	Branch string `json:"branch"`
	// Base is the commit that the change is compared with. Usually it is the commit from which the
	// branch of the task started. But if that branch contains later commits of the branch into
	// which the change will be merged, Base is the newest of those commits.
	Base    string       `json:"base"`
	Tip     string       `json:"tip"`     // last commit of the branch
	Tree    string       `json:"tree"`    // id of the git tree with all files, including uncommitted changes
	Commits []Commit     `json:"commits"` // commits of the branch since Base, oldest first
	Files   []ChangeFile `json:"files"`   // all changed files, sorted by path
	Added   int          `json:"added"`   // number of added lines, in all files
	Removed int          `json:"removed"`
	Dirty   bool         `json:"dirty,omitempty"` // the worktree has changes that are not committed
}

// Commit is a commit of a change.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	At      time.Time `json:"at"`
}

// ChangeFile says how a change affects one file.
type ChangeFile struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"` // old path of a renamed or copied file
	// Status is "added", "changed", "deleted", "renamed", "copied" or "type". The last one means
	// that the type of the file has changed, for example from a regular file to a symbolic link.
	Status  string `json:"status"`
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldBlob string `json:"old_blob,omitempty"`
	NewBlob string `json:"new_blob,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`   // the file is not text, so it has no hunks
	OldSize int64  `json:"old_size,omitempty"` // size of the old file in bytes; only for binary and large files
	NewSize int64  `json:"new_size,omitempty"`
	Digest  string `json:"digest"` // digest of the file's diff, which shows whether the diff has changed; see [Review.Viewed]
}

// FileChange is the diff of one file.
type FileChange struct {
	ChangeFile
	Hunks []Hunk `json:"hunks,omitempty"`
	// TooLarge says why the diff is not shown: the file, one of its lines or the diff is too large.
	// It is empty if the diff is shown.
	TooLarge string `json:"too_large,omitempty"`
}

// Hunk is a group of adjacent lines of a diff.
type Hunk struct {
	// OldFirst is the number of the hunk's first line in the old file, from 1. It is 0 if the hunk
	// has no old lines.
	OldFirst int `json:"old_first"`
	OldLines int `json:"old_lines"`
	NewFirst int `json:"new_first"`
	NewLines int `json:"new_lines"`
	// Section is the text after the second @@ of the hunk header, such as the name of a function.
	Section string     `json:"section,omitempty"`
	Lines   []DiffLine `json:"lines"`
}

// DiffLine is a line of a hunk.
type DiffLine struct {
	Op   string `json:"op"` // "+" for an added line, "-" for a deleted line, " " for an unchanged line
	Text string `json:"text"`
	// NoEOL is set for the last line of a file if the file does not end with a newline.
	NoEOL bool `json:"no_eol,omitempty"`
}

// Anchor is the place in a change at which a comment is shown.
type Anchor struct {
	Comment string `json:"comment"` // id of the comment
	Path    string `json:"path,omitempty"`
	Side    Side   `json:"side,omitempty"`
	// First is the number of the first commented line. It is 0 if the comment is shown at the whole
	// file or, if Path is empty, at the whole change.
	First int `json:"first,omitempty"`
	Last  int `json:"last,omitempty"`
	// Outdated is set if the commented lines cannot be found in the change, for example because
	// they were edited later. Their old text is in [Comment.Lines].
	Outdated bool `json:"outdated,omitempty"`
}

// ChangeQuery selects which part of a task's change is shown. The zero value means the whole
// current change.
type ChangeQuery struct {
	// Since is the id of a git tree, for example that in [Review.Seen]. If it is set, only files
	// that differ from this tree are shown.
	Since string
	// Attempt is the number of an attempt, from 1. If it is set, the change is shown as it was at
	// the end of that attempt.
	Attempt int
}

// FileQuery selects one file of a change.
type FileQuery struct {
	Path    string
	Tree    string // id of the git tree with the new version of the file
	From    string // id of the git tree with the old version of the file; empty means [Change.Base]
	Context int    // number of unchanged lines around a hunk; 0 means 3
}

// TaskChange is the change of a task with its review, messages and checks.
type TaskChange struct {
	Change   Change    `json:"change"`
	Review   Review    `json:"review"`
	Anchors  []Anchor  `json:"anchors"`  // where the review's comments are shown, in the order of the comments
	Messages []Message `json:"messages"` // the user's messages to the agent, oldest first
	Checks   []Check   `json:"checks"`   // results of the checks of the latest attempt
}

// RunReviews holds the reviews of those tasks of a run that have a change to review, in the order
// of the plan.
type RunReviews struct {
	Reviews []Review `json:"reviews"`
	// The fields below count the changes by state. Changes is the number of all changes. A change
	// is ready if its task is complete, its review is open or approved, and it has no conflicts.
	Changes   int `json:"changes"`
	Ready     int `json:"ready"`
	Commented int `json:"commented"`
	SentBack  int `json:"sent_back"`
	Merged    int `json:"merged"`
	Discarded int `json:"discarded"`
	// Conflicts counts the changes of complete tasks that conflict with their target branch. These
	// changes are not counted in Ready.
	Conflicts int `json:"conflicts"`
	// Into is the target branch of all changes. It is empty if the changes have different target
	// branches, or if the server did not determine the branch, for example because no change is
	// ready.
	Into string `json:"into,omitempty"`
}
