package fleet

import "time"

// ReviewState is the state of the review of a task's change.
type ReviewState string

// The states of a review. A review starts as open. It becomes open again when the agent
// has answered the comments that were sent back.
const (
	ReviewOpen      ReviewState = "open"
	ReviewCommented ReviewState = "commented" // has comments that were not sent yet
	ReviewSentBack  ReviewState = "sent_back" // the agent works on the comments
	ReviewApproved  ReviewState = "approved"
	ReviewMerged    ReviewState = "merged"
	ReviewDiscarded ReviewState = "discarded"
)

// Review is the user's review of a task's change: of everything that the task has changed
// on its branch and in its worktree.
type Review struct {
	Run      string            `json:"run"`
	Task     string            `json:"task"`
	State    ReviewState       `json:"state"`
	Round    int               `json:"round"`              // how often the review was sent back to the agent
	Comments []Comment         `json:"comments,omitempty"` // oldest first
	Viewed   map[string]string `json:"viewed,omitempty"`   // by path: the digest of the file's diff when the user marked it as viewed
	Seen     string            `json:"seen,omitempty"`     // the tree of the change when the user last sent it back or approved it
	By       string            `json:"by,omitempty"`       // user who changed the review last
	Updated  time.Time         `json:"updated,omitzero"`

	Landing *Landing `json:"landing,omitempty"` // the last merge of the change
	Rescue  string   `json:"rescue,omitempty"`  // the ref that keeps a discarded change
}

// Landing is a merge of a change into a branch.
type Landing struct {
	Into   string    `json:"into"`
	Method string    `json:"method"` // merge, squash, rebase
	Before string    `json:"before"` // commit of the branch before the merge
	After  string    `json:"after"`
	Tip    string    `json:"tip"`            // the commit of the change that was merged
	Undo   string    `json:"undo,omitempty"` // git ref that keeps the commit Before
	At     time.Time `json:"at"`
}

// Side is the side of a diff.
type Side string

// The sides of a diff.
const (
	OldSide Side = "old"
	NewSide Side = "new"
)

// Comment is a user's comment on lines of a change, on a file (First is 0) or on the
// whole change (Path is empty).
type Comment struct {
	ID    string    `json:"id"`
	Key   string    `json:"key,omitempty"` // chosen by the client, so that a repeated request adds nothing
	Path  string    `json:"path,omitempty"`
	Side  Side      `json:"side,omitempty"`
	First int       `json:"first,omitempty"` // first line, from 1
	Last  int       `json:"last,omitempty"`
	Tree  string    `json:"tree,omitempty"`  // git tree that First and Last refer to
	Lines string    `json:"lines,omitempty"` // text of the commented lines
	Text  string    `json:"text"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"`

	Round    int            `json:"round,omitempty"` // round in which the comment was sent; 0 means not sent yet
	Answer   *CommentAnswer `json:"answer,omitempty"`
	Resolved bool           `json:"resolved,omitempty"`
}

// CommentAnswer is the agent's answer to a comment.
type CommentAnswer struct {
	Fixed   bool      `json:"fixed"` // if false, Text is the reason
	Text    string    `json:"text,omitempty"`
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
}

// ReviewAction is one action of the user in a review.
type ReviewAction struct {
	// Action is comment, edit, delete, resolve, view, approve, send_back or reopen.
	Action string `json:"action"`
	// Comment is the new comment, or the new text of an edited one.
	Comment Comment `json:"comment,omitzero"`
	ID      string  `json:"id,omitempty"` // id of the comment; defaults to Comment.ID
	// Resolved is the new state of the comment. It defaults to true.
	Resolved *bool  `json:"resolved,omitempty"`
	Path     string `json:"path,omitempty"`   // path of the viewed file
	Digest   string `json:"digest,omitempty"` // digest of the file's diff; empty means not viewed
	Tree     string `json:"tree,omitempty"`   // tree that the user saw when approving or sending back
}

// The actions on a review.
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

// Message is a text of the user for the agent of a task.
type Message struct {
	ID   string    `json:"id"`
	Run  string    `json:"run"`
	Task string    `json:"task"`
	Text string    `json:"text"`
	By   string    `json:"by,omitempty"`
	Sent time.Time `json:"sent"`
	Now  bool      `json:"now,omitempty"` // interrupt the agent's current answer, if its program can do that
	// Round is the review round whose comments the message contains; 0 if none.
	Round int `json:"round,omitempty"`

	Attempt   string    `json:"attempt,omitempty"`   // id of the attempt that received the message
	Delivered time.Time `json:"delivered,omitzero"`  // when the agent's program accepted the message
	Withdrawn bool      `json:"withdrawn,omitempty"` // the user withdrew the message before its delivery
}

// Waiting reports whether the message must still be delivered.
func (m Message) Waiting() bool { return m.Delivered.IsZero() && !m.Withdrawn }

// Change is everything that a task has changed since the commit that its branch started
// from.
type Change struct {
	Run     string       `json:"run"`
	Task    string       `json:"task"`
	Branch  string       `json:"branch"`
	Base    string       `json:"base"`    // the commit that the branch started from
	Tip     string       `json:"tip"`     // last commit of the branch
	Tree    string       `json:"tree"`    // git tree with the shown files, including uncommitted ones
	Commits []Commit     `json:"commits"` // oldest first
	Files   []ChangeFile `json:"files"`   // all changed files, sorted by path
	Added   int          `json:"added"`   // number of added lines, in all files
	Removed int          `json:"removed"`
	Dirty   bool         `json:"dirty,omitempty"` // some changes are not committed
}

// Commit is a commit of a change.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	At      time.Time `json:"at"`
}

// ChangeFile is one changed file.
type ChangeFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // old path of a renamed or copied file
	Status  string `json:"status"`         // added, changed, deleted, renamed, copied, type
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldBlob string `json:"old_blob,omitempty"`
	NewBlob string `json:"new_blob,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`   // it is not text, so it has no hunks
	OldSize int64  `json:"old_size,omitempty"` // in bytes; only of binary and of large files
	NewSize int64  `json:"new_size,omitempty"`
	Digest  string `json:"digest"` // digest of the file's diff; see [Review.Viewed]
}

// FileChange is the diff of one file.
type FileChange struct {
	ChangeFile
	Hunks []Hunk `json:"hunks,omitempty"`
	// TooLarge is why the diff is not shown: the file or one of its lines is too large.
	TooLarge string `json:"too_large,omitempty"`
}

// Hunk is a group of adjacent lines of a diff.
type Hunk struct {
	OldFirst int        `json:"old_first"` // first old line, from 1; 0 if the hunk has no old lines
	OldLines int        `json:"old_lines"`
	NewFirst int        `json:"new_first"`
	NewLines int        `json:"new_lines"`
	Section  string     `json:"section,omitempty"` // the text after the @@, such as the function
	Lines    []DiffLine `json:"lines"`
}

// DiffLine is a line of a hunk.
type DiffLine struct {
	Op   string `json:"op"` // " ", "+" or "-"
	Text string `json:"text"`
	// NoEOL is set for the last line of a file that does not end with a newline.
	NoEOL bool `json:"no_eol,omitempty"`
}

// Anchor is where a comment is shown in a change.
type Anchor struct {
	Comment string `json:"comment"` // id of the comment
	Path    string `json:"path,omitempty"`
	Side    Side   `json:"side,omitempty"`
	First   int    `json:"first,omitempty"` // 0 means the file, or the whole change if Path is empty
	Last    int    `json:"last,omitempty"`
	// Outdated is set if the commented lines were changed later. The comment keeps their
	// text.
	Outdated bool `json:"outdated,omitempty"`
}

// ChangeQuery selects what is shown of a task's change. Zero values mean the whole current
// change.
type ChangeQuery struct {
	Since   string // only files that differ from this tree; see [Review.Seen]
	Attempt int    // the change at the end of this attempt, from 1
}

// FileQuery selects one file of a change.
type FileQuery struct {
	Path    string
	Tree    string // tree of the shown change
	From    string // the tree to compare with; empty means the base of the change
	Context int    // number of lines around a hunk; 0 means the default
}

// TaskChange is the change of a task with everything that is shown beside it.
type TaskChange struct {
	Change   Change    `json:"change"`
	Review   Review    `json:"review"`
	Anchors  []Anchor  `json:"anchors"`  // positions of the review's comments, in the comments' order
	Messages []Message `json:"messages"` // oldest first
	Checks   []Check   `json:"checks"`   // checks of the latest attempt
}

// RunReviews are the reviews of a run's tasks that have a change, in the order of the
// plan.
type RunReviews struct {
	Reviews []Review `json:"reviews"`
	// The fields below count the changes by state. A change is ready if its task is
	// complete, and it is approved, or open without a comment for the agent.
	Changes   int    `json:"changes"`
	Ready     int    `json:"ready"`
	Commented int    `json:"commented"`
	SentBack  int    `json:"sent_back"`
	Merged    int    `json:"merged"`
	Discarded int    `json:"discarded"`
	Conflicts int    `json:"conflicts"`      // changes of completed tasks that conflict with their target branch; not part of Ready
	Into      string `json:"into,omitempty"` // the target branch, if all changes have the same one
}
