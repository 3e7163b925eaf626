package fleet

import "time"

// ReviewState says how far the review of a task's change has come.
type ReviewState string

// The states of a review. A review is open until the user does something, and it returns
// to open when the agent has answered a review that was sent back.
const (
	ReviewOpen      ReviewState = "open"
	ReviewCommented ReviewState = "commented" // has comments that were not sent yet
	ReviewSentBack  ReviewState = "sent_back" // the agent works on the comments
	ReviewApproved  ReviewState = "approved"
	ReviewMerged    ReviewState = "merged"
	ReviewDiscarded ReviewState = "discarded"
)

// Review is what the user says about the change of a task: everything that the task has
// changed on its branch and in its worktree.
type Review struct {
	Run      string            `json:"run"`
	Task     string            `json:"task"`
	State    ReviewState       `json:"state"`
	Round    int               `json:"round"`              // how often it was sent back
	Comments []Comment         `json:"comments,omitempty"` // oldest first
	Viewed   map[string]string `json:"viewed,omitempty"`   // by path: the digest of the file's diff when the user marked it as viewed
	Seen     string            `json:"seen,omitempty"`     // the tree of the change when the user last sent it back or approved it
	By       string            `json:"by,omitempty"`       // the user who changed it last
	Updated  time.Time         `json:"updated,omitzero"`

	Landing *Landing `json:"landing,omitempty"` // the last merge of the change
	Rescue  string   `json:"rescue,omitempty"`  // the ref that keeps a discarded change
}

// Landing is a merge of a change into a branch.
type Landing struct {
	Into   string    `json:"into"`
	Method string    `json:"method"` // merge, squash, rebase
	Before string    `json:"before"` // the commit of the branch before and after
	After  string    `json:"after"`
	Tip    string    `json:"tip"`            // the commit of the change that was merged
	Undo   string    `json:"undo,omitempty"` // the ref that keeps Before
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
	Path  string    `json:"path,omitempty"`
	Side  Side      `json:"side,omitempty"`
	First int       `json:"first,omitempty"` // from 1
	Last  int       `json:"last,omitempty"`
	Tree  string    `json:"tree,omitempty"`  // the tree in which the lines have these numbers
	Lines string    `json:"lines,omitempty"` // their text
	Text  string    `json:"text"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"`

	Round    int            `json:"round,omitempty"` // the round in which it was sent; 0 is a draft
	Answer   *CommentAnswer `json:"answer,omitempty"`
	Resolved bool           `json:"resolved,omitempty"`
}

// CommentAnswer is what the agent says about a comment.
type CommentAnswer struct {
	Fixed   bool      `json:"fixed"` // or else Text says why not
	Text    string    `json:"text,omitempty"`
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
}

// ReviewAction is what a user does to a review.
type ReviewAction struct {
	// Action is comment, edit, delete, resolve, view, approve, send_back or reopen.
	Action string `json:"action"`
	// Comment is the new comment, or the new text of an edited one.
	Comment Comment `json:"comment,omitzero"`
	ID      string  `json:"id,omitempty"` // of the comment; that of Comment if it is empty
	// Resolved says whether the comment is resolved; it is if that is missing.
	Resolved *bool  `json:"resolved,omitempty"`
	Path     string `json:"path,omitempty"`   // of the viewed file
	Digest   string `json:"digest,omitempty"` // of its diff; empty if the file is not viewed any more
	Tree     string `json:"tree,omitempty"`   // the shown tree, which is approved or sent back
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
	Now  bool      `json:"now,omitempty"` // cut the agent's current answer short, where its program can do that
	// Round is set if the message sends a review back: the round of its comments.
	Round int `json:"round,omitempty"`

	Attempt   string    `json:"attempt,omitempty"`   // the attempt that received it
	Delivered time.Time `json:"delivered,omitzero"`  // when the agent's program took it
	Withdrawn bool      `json:"withdrawn,omitempty"` // the user took it back before that
}

// Waiting reports whether the message must still be delivered.
func (m Message) Waiting() bool { return m.Delivered.IsZero() && !m.Withdrawn }

// Change is what a task has changed, compared with the commit that its branch started
// from.
type Change struct {
	Run     string       `json:"run"`
	Task    string       `json:"task"`
	Branch  string       `json:"branch"`
	Base    string       `json:"base"`    // the commit that the branch started from
	Tip     string       `json:"tip"`     // the commit of the branch
	Tree    string       `json:"tree"`    // the shown state, with uncommitted files
	Commits []Commit     `json:"commits"` // oldest first
	Files   []ChangeFile `json:"files"`   // sorted by path; all of them
	Added   int          `json:"added"`   // lines, in all files
	Removed int          `json:"removed"`
	Dirty   bool         `json:"dirty,omitempty"` // Tree has changes that are in no commit of the branch
}

// Commit is a commit of a change.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	At      time.Time `json:"at"`
}

// ChangeFile is a file of a change.
type ChangeFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // its old path, if it was renamed or copied
	Status  string `json:"status"`         // added, changed, deleted, renamed, copied, type
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldBlob string `json:"old_blob,omitempty"`
	NewBlob string `json:"new_blob,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`
	Digest  string `json:"digest"` // of the file's diff; see [Review.Viewed]
}

// FileChange is the diff of one file.
type FileChange struct {
	ChangeFile
	Hunks []Hunk `json:"hunks,omitempty"`
	// TooLarge says why the diff is not shown, if it is not: the file is large, or a line is.
	TooLarge string `json:"too_large,omitempty"`
}

// Hunk is a run of lines of a diff.
type Hunk struct {
	OldFirst int        `json:"old_first"` // from 1; 0 if it has no old lines
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
	// NoEOL says that the line has no line end, because the file ends with it.
	NoEOL bool `json:"no_eol,omitempty"`
}

// Anchor is where a comment is shown in a change.
type Anchor struct {
	Comment string `json:"comment"` // its id
	Path    string `json:"path,omitempty"`
	Side    Side   `json:"side,omitempty"`
	First   int    `json:"first,omitempty"` // 0: at the file, or at the whole change if Path is empty
	Last    int    `json:"last,omitempty"`
	// Outdated says that the commented lines were changed since; the comment keeps their
	// text.
	Outdated bool `json:"outdated,omitempty"`
}

// ChangeQuery selects what is shown of a task's change. Zero values mean the whole current
// change.
type ChangeQuery struct {
	Since   string // only files that differ from this earlier tree; see [Review.Seen]
	Attempt int    // the change at the end of this attempt, from 1
}

// FileQuery selects one file of a change.
type FileQuery struct {
	Path    string
	Tree    string // of the shown change
	From    string // the tree to compare with; empty means the base of the change
	Context int    // lines around a hunk; 0 means the usual number
}

// TaskChange is the change of a task with everything that is shown beside it.
type TaskChange struct {
	Change   Change    `json:"change"`
	Review   Review    `json:"review"`
	Anchors  []Anchor  `json:"anchors"`  // of the review's comments, in their order
	Messages []Message `json:"messages"` // oldest first
	Checks   []Check   `json:"checks"`   // of the latest attempt
}

// RunReviews are the reviews of a run's tasks that have a change, in the order of the
// plan.
type RunReviews struct {
	Reviews []Review `json:"reviews"`
	// How many of the changes are in which state. Ready changes are those of completed
	// tasks that are approved, or open without a comment that waits for the agent.
	Changes   int    `json:"changes"`
	Ready     int    `json:"ready"`
	Commented int    `json:"commented"`
	SentBack  int    `json:"sent_back"`
	Merged    int    `json:"merged"`
	Discarded int    `json:"discarded"`
	Conflicts int    `json:"conflicts"`      // completed, but in conflict with the branch that they are for; not among Ready
	Into      string `json:"into,omitempty"` // that branch, if it is the same for all
}
