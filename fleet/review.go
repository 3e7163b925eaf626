package fleet

import "time"

// ReviewState is the state of the review of a task's change.
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
	Round    int         `json:"round"`              // how many times the change was sent back to the agent
	Comments []Comment   `json:"comments,omitempty"` // the user's comments, oldest first
	// Viewed has the files that the user has marked as viewed, by path. The value is the digest
	// that the file's diff had at that moment. If the digest has changed, the mark does not count.
	Viewed  map[string]string `json:"viewed,omitempty"`
	Seen    string            `json:"seen,omitempty"` // id of the git tree of the change that the user saw when sending it back or approving it the last time
	By      string            `json:"by,omitempty"`   // the user who changed the review last
	Updated time.Time         `json:"updated,omitzero"`

	Landing *Landing `json:"landing,omitempty"` // the last merge of the change; nil if it was not merged
	Rescue  string   `json:"rescue,omitempty"`  // git ref that keeps a discarded change; empty if it was not discarded
}

// Landing describes a merge of a change into a branch.
type Landing struct {
	Into   string    `json:"into"`
	Method string    `json:"method"` // merge, squash or rebase
	Before string    `json:"before"` // commit of the branch before the merge
	After  string    `json:"after"`
	Tip    string    `json:"tip"`            // last commit of the change that was merged
	Undo   string    `json:"undo,omitempty"` // git ref that keeps the commit Before, for an undo
	At     time.Time `json:"at"`
}

// Side is one side of a diff: old or new.
type Side string

// The sides of a diff.
const (
	OldSide Side = "old"
	NewSide Side = "new"
)

// Comment is a user's comment on lines of a change, on a file (First is 0), or on the whole change
// (Path is empty).
type Comment struct {
	ID    string    `json:"id"`
	Key   string    `json:"key,omitempty"` // chosen by the client; a repeated request with the same key adds no second comment
	Path  string    `json:"path,omitempty"`
	Side  Side      `json:"side,omitempty"`
	First int       `json:"first,omitempty"` // number of the first commented line, from 1
	Last  int       `json:"last,omitempty"`
	Tree  string    `json:"tree,omitempty"`  // git tree in which First and Last are line numbers
	Lines string    `json:"lines,omitempty"` // text of the commented lines
	Text  string    `json:"text"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"`

	Round    int            `json:"round,omitempty"` // number of the round in which the comment was sent to the agent; 0 if it was not sent yet
	Answer   *CommentAnswer `json:"answer,omitempty"`
	Resolved bool           `json:"resolved,omitempty"`
}

// CommentAnswer is the agent's answer to a comment.
type CommentAnswer struct {
	Fixed   bool      `json:"fixed"` // whether the agent did what the comment asks; if not, Text is the reason
	Text    string    `json:"text,omitempty"`
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
}

// ReviewAction is one action of the user in a review.
type ReviewAction struct {
	// Action is comment, edit, delete, resolve, view, approve, send_back or reopen. It decides
	// which fields below are used.
	Action string `json:"action"`
	// Comment is the new comment, if Action is comment. If Action is edit, its Text is the new text
	// of an existing comment.
	Comment Comment `json:"comment,omitzero"`
	ID      string  `json:"id,omitempty"` // id of the comment to edit, delete or resolve; if empty, Comment.ID
	// Resolved says whether the comment is resolved, if Action is resolve. Nil means true or, if
	// Comment has an ID, Comment.Resolved.
	Resolved *bool  `json:"resolved,omitempty"`
	Path     string `json:"path,omitempty"`   // path of the file, if Action is view
	Digest   string `json:"digest,omitempty"` // digest of the file's diff, if Action is view; empty marks the file as not viewed
	Tree     string `json:"tree,omitempty"`   // git tree that the user saw, if Action is approve or send_back
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
	Now  bool      `json:"now,omitempty"` // interrupt the agent's current turn, if its program can do that
	// Round is the review round whose comments are in the message; 0 if it has none.
	Round int `json:"round,omitempty"`

	Attempt   string    `json:"attempt,omitempty"`   // id of the attempt whose agent received the message
	Delivered time.Time `json:"delivered,omitzero"`  // when the agent's program accepted the message; zero if not yet
	Withdrawn bool      `json:"withdrawn,omitempty"` // the user withdrew the message before its delivery
}

// Waiting reports whether the message was neither delivered nor withdrawn.
func (m Message) Waiting() bool { return m.Delivered.IsZero() && !m.Withdrawn }

// Change is everything that a task has changed since the commit that its branch started
// from.
type Change struct {
	Run     string       `json:"run"`
	Task    string       `json:"task"`
	Branch  string       `json:"branch"`
	Base    string       `json:"base"`    // commit that the change is compared with; usually the one that the branch started from
	Tip     string       `json:"tip"`     // last commit of the branch
	Tree    string       `json:"tree"`    // git tree of the changed files, including changes that are not committed
	Commits []Commit     `json:"commits"` // commits of the branch, oldest first
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
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // old path of a renamed or copied file
	Status  string `json:"status"`         // added, changed, deleted, renamed, copied, or type if the file has become, for example, a link
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	OldBlob string `json:"old_blob,omitempty"`
	NewBlob string `json:"new_blob,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`   // the file is not text, so it has no hunks
	OldSize int64  `json:"old_size,omitempty"` // in bytes; set only for binary and large files
	NewSize int64  `json:"new_size,omitempty"`
	Digest  string `json:"digest"` // digest of the file's diff; see [Review.Viewed]
}

// FileChange is the diff of one file.
type FileChange struct {
	ChangeFile
	Hunks []Hunk `json:"hunks,omitempty"`
	// TooLarge says why the diff is not shown: the file or one of its lines is too large. It is
	// empty if the diff is shown.
	TooLarge string `json:"too_large,omitempty"`
}

// Hunk is a group of adjacent lines of a diff.
type Hunk struct {
	OldFirst int        `json:"old_first"` // number of the hunk's first line in the old file, from 1; 0 if the hunk has no old lines
	OldLines int        `json:"old_lines"`
	NewFirst int        `json:"new_first"`
	NewLines int        `json:"new_lines"`
	Section  string     `json:"section,omitempty"` // text after the second @@ of the hunk header, such as the name of a function
	Lines    []DiffLine `json:"lines"`
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
	First   int    `json:"first,omitempty"` // number of the first line; 0 means the file, or the whole change if Path is empty
	Last    int    `json:"last,omitempty"`
	// Outdated is set if the commented lines have changed since the comment was made. The comment
	// still has the old text of these lines.
	Outdated bool `json:"outdated,omitempty"`
}

// ChangeQuery selects which part of a task's change is shown. The zero value means the whole
// current change.
type ChangeQuery struct {
	Since   string // id of a git tree: only files that differ from it are shown; empty means all files; see [Review.Seen]
	Attempt int    // number of an attempt, from 1: the change as it was at the end of that attempt; 0 means now
}

// FileQuery selects one file of a change.
type FileQuery struct {
	Path    string
	Tree    string // git tree of the change that is shown
	From    string // git tree to compare with; empty means the base of the change
	Context int    // number of unchanged lines around a hunk; 0 means the default
}

// TaskChange is the change of a task with its review, messages and checks.
type TaskChange struct {
	Change   Change    `json:"change"`
	Review   Review    `json:"review"`
	Anchors  []Anchor  `json:"anchors"`  // where the review's comments are shown, in the order of the comments
	Messages []Message `json:"messages"` // the user's messages to the agent, oldest first
	Checks   []Check   `json:"checks"`   // checks of the latest attempt
}

// RunReviews holds the reviews of those tasks of a run that have a change, in the order of the
// plan.
type RunReviews struct {
	Reviews []Review `json:"reviews"`
	// The fields below count the changes by state. Changes is the number of all changes. A change
	// is ready if its task is complete, its review is open or approved, and it has no conflicts.
	Changes   int    `json:"changes"`
	Ready     int    `json:"ready"`
	Commented int    `json:"commented"`
	SentBack  int    `json:"sent_back"`
	Merged    int    `json:"merged"`
	Discarded int    `json:"discarded"`
	Conflicts int    `json:"conflicts"`      // changes of complete tasks that conflict with their target branch; not counted in Ready
	Into      string `json:"into,omitempty"` // target branch of all changes; empty if they have different ones
}
