// Package review implements the rules of a review: what a user may do in each state, the
// prompt for the agent when a review is sent back, and the parser of the agent's answers.
// Its functions are pure: they change the given review and store nothing.
//
//	open ──comment──> commented ──send back──> sent back ──answered──> open
//	  └────approve────────┴──────> approved ──merge──> merged
//
// A change can be discarded in every state except merged. Merging and discarding can be
// undone. If the task runs again, an approval is void.
package review

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/fleet"
)

// RefusedError reports that the state of a review does not allow a change.
type RefusedError struct{ What, Why string }

func (e *RefusedError) Error() string { return e.What + ": " + e.Why }

// Conflict marks the error as a conflict with the current state.
func (e *RefusedError) Conflict() bool { return true }

// InvalidError reports a mistake in the user's input.
type InvalidError struct{ What, Why string }

func (e *InvalidError) Error() string { return e.What + ": " + e.Why }

// Invalid marks the error as the caller's mistake.
func (e *InvalidError) Invalid() bool { return true }

// NotFoundError reports that a review has no comment with this id.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return "comment " + e.ID + ": not found" }

// NotFound marks the error as one about a missing comment.
func (e *NotFoundError) NotFound() bool { return true }

// The limits of a review, in bytes unless noted.
const (
	MaxText     = 16 << 10 // text of a comment
	MaxLines    = 64 << 10 // text of the lines that a comment refers to
	MaxPath     = 4 << 10
	MaxKey      = 200
	MaxComments = 1000   // number of comments
	MaxViewed   = 20_000 // number of files that are marked as viewed
)

// Apply performs a user's action on a review, except sending it back, which [SendBack]
// does.
func Apply(r *fleet.Review, a fleet.ReviewAction, who string, now time.Time) error {
	id := cmp.Or(a.ID, a.Comment.ID)
	switch a.Action {
	case fleet.ActComment:
		_, err := AddComment(r, a.Comment, who, now)
		return err
	case fleet.ActEdit:
		return EditComment(r, id, a.Comment.Text, now)
	case fleet.ActDelete:
		return DeleteComment(r, id)
	case fleet.ActResolve:
		resolved := a.Comment.ID == "" || a.Comment.Resolved
		if a.Resolved != nil {
			resolved = *a.Resolved
		}
		return Resolve(r, id, resolved)
	case fleet.ActView:
		return View(r, a.Path, a.Digest)
	case fleet.ActApprove:
		return Approve(r, a.Tree)
	case fleet.ActReopen:
		return Reopen(r)
	}
	return &InvalidError{"action", fmt.Sprintf("%.40q: want comment, edit, delete, resolve, view, approve, send_back or reopen", a.Action)}
}

// Drafts returns the number of drafts, which are comments that were not sent to the agent
// yet.
func Drafts(r fleet.Review) (n int) {
	for _, c := range r.Comments {
		if c.Round == 0 {
			n++
		}
	}
	return n
}

// AddComment adds a comment as a draft, and returns it with its id. c contains the
// comment's location and text, and a key if the client may repeat the request: a comment
// with the key of an earlier one is not added again. While the agent works on a review
// that was sent back, new comments wait for the next round.
func AddComment(r *fleet.Review, c fleet.Comment, who string, now time.Time) (fleet.Comment, error) {
	c, err := validComment(c)
	if err != nil {
		return c, err
	}
	if i := slices.IndexFunc(r.Comments, func(other fleet.Comment) bool { return c.Key != "" && other.Key == c.Key }); i >= 0 {
		known := r.Comments[i]
		if known.Text != c.Text || known.Path != c.Path || known.Side != c.Side || known.First != c.First || known.Last != c.Last {
			return c, &RefusedError{"comment", fmt.Sprintf("%s has the same key and is another comment: use a new key", known.ID)}
		}
		return known, nil
	}
	if err := checkNotLanded(*r, "comment"); err != nil {
		return c, err
	}
	if len(r.Comments) >= MaxComments {
		return c, &RefusedError{"comment", fmt.Sprintf("the review has %d comments, which is the most", MaxComments)}
	}
	highest := 0
	for _, other := range r.Comments {
		n, _ := strconv.Atoi(strings.TrimPrefix(other.ID, "c"))
		highest = max(highest, n)
	}
	c.ID, c.By, c.At = "c"+strconv.Itoa(highest+1), who, now
	c.Round, c.Answer, c.Resolved = 0, nil, false
	r.Comments = append(slices.Clone(r.Comments), c)
	updateState(r)
	return c, nil
}

// validComment returns a comment with defaults for its side and its last line, or an error
// if the comment is not valid.
func validComment(c fleet.Comment) (fleet.Comment, error) {
	c.Text = strings.TrimSpace(c.Text)
	if c.Side == "" && c.First > 0 {
		c.Side = fleet.NewSide
	}
	c.Last = max(c.Last, c.First)
	switch {
	case c.Text == "":
		return c, &InvalidError{"comment", "has no text"}
	case len(c.Text) > MaxText:
		return c, &InvalidError{"comment", fmt.Sprintf("has %d bytes, and may have %d", len(c.Text), MaxText)}
	case len(c.Key) > MaxKey:
		return c, &InvalidError{"comment", fmt.Sprintf("its key has %d bytes, and may have %d", len(c.Key), MaxKey)}
	case len(c.Path) > MaxPath:
		return c, &InvalidError{"comment", "its path is too long"}
	case len(c.Lines) > MaxLines:
		return c, &InvalidError{"comment", fmt.Sprintf("its lines have %d bytes, and may have %d: choose fewer lines", len(c.Lines), MaxLines)}
	case c.Side != "" && c.Side != fleet.OldSide && c.Side != fleet.NewSide:
		return c, &InvalidError{"comment", fmt.Sprintf("side %.20q: want old or new", c.Side)}
	case c.First < 0, c.Last > 0 && c.First == 0, c.First > 0 && c.Path == "":
		return c, &InvalidError{"comment", fmt.Sprintf("lines %d to %d: want lines of a file, from 1", c.First, c.Last)}
	}
	for _, text := range []string{c.Text, c.Key, c.Path, c.Lines} {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return c, &InvalidError{"comment", "is not text"}
		}
	}
	return c, checkTree(c.Tree)
}

// EditComment changes the text of a draft.
func EditComment(r *fleet.Review, id, text string, now time.Time) error {
	i, err := draftIndex(*r, id, "cannot be changed")
	if err != nil {
		return err
	}
	c := r.Comments[i]
	c.Text, c.At = text, now
	if c, err = validComment(c); err != nil {
		return err
	}
	r.Comments = slices.Clone(r.Comments)
	r.Comments[i] = c
	return nil
}

// DeleteComment deletes a draft.
func DeleteComment(r *fleet.Review, id string) error {
	i, err := draftIndex(*r, id, "cannot be deleted: resolve it")
	if err != nil {
		return err
	}
	r.Comments = slices.Delete(slices.Clone(r.Comments), i, i+1)
	updateState(r)
	return nil
}

// draftIndex returns the index of a draft. It returns an error with the text cannot if the
// comment was already sent.
func draftIndex(r fleet.Review, id, cannot string) (int, error) {
	i := slices.IndexFunc(r.Comments, func(c fleet.Comment) bool { return c.ID == id })
	if i < 0 {
		return i, &NotFoundError{id}
	}
	if r.Comments[i].Round > 0 {
		return i, &RefusedError{"comment " + id, "was sent to the agent and " + cannot}
	}
	return i, nil
}

// Resolve marks a comment as resolved, or as not resolved.
func Resolve(r *fleet.Review, id string, resolved bool) error {
	i := slices.IndexFunc(r.Comments, func(c fleet.Comment) bool { return c.ID == id })
	if i < 0 {
		return &NotFoundError{id}
	}
	r.Comments = slices.Clone(r.Comments)
	r.Comments[i].Resolved = resolved
	return nil
}

// View marks a file as viewed. The mark is valid as long as the file's diff has this
// digest. An empty digest removes the mark.
func View(r *fleet.Review, path, digest string) error {
	if path == "" || len(path) > MaxPath || len(digest) > 200 || !utf8.ValidString(path+digest) || strings.ContainsRune(path+digest, 0) {
		return &InvalidError{"viewed", "want the path of a file and the digest of its diff"}
	}
	viewed := make(map[string]string, len(r.Viewed)+1) // copy the map, because other readers may use it
	for p, d := range r.Viewed {
		viewed[p] = d
	}
	viewed[path] = digest
	if digest == "" {
		delete(viewed, path)
	}
	if len(viewed) > MaxViewed {
		return &RefusedError{"viewed", fmt.Sprintf("the review has %d viewed files, which is the most", MaxViewed)}
	}
	r.Viewed = viewed
	return nil
}

// Approve approves the change. tree is the id of the git tree that the user has seen, or
// empty.
func Approve(r *fleet.Review, tree string) error {
	if err := checkTree(tree); err != nil {
		return err
	}
	if err := checkNotLanded(*r, "approve"); err != nil {
		return err
	}
	if r.State == fleet.ReviewSentBack {
		return &RefusedError{"approve", "the agent works on the comments: wait for its answers"}
	}
	if n := Drafts(*r); n > 0 {
		return &RefusedError{"approve", fmt.Sprintf("%s: send them back or delete them", count(n, "comment was not sent", "comments were not sent"))}
	}
	r.State, r.Seen = fleet.ReviewApproved, seenTree(*r, tree)
	return nil
}

// Reopen withdraws an approval.
func Reopen(r *fleet.Review) error {
	if r.State != fleet.ReviewApproved {
		return &RefusedError{"reopen", fmt.Sprintf("the review is %s, and only an approved one can be reopened", StateText(r.State))}
	}
	r.State = fleet.ReviewOpen
	updateState(r)
	return nil
}

// SendBack marks all drafts as sent, in a new round, and returns the prompt for the agent.
// tree is the id of the git tree that the user has seen, or empty.
func SendBack(r *fleet.Review, tree string) (text string, err error) {
	if err := checkTree(tree); err != nil {
		return "", err
	}
	if err := checkNotLanded(*r, "send back"); err != nil {
		return "", err
	}
	if Drafts(*r) == 0 {
		return "", &RefusedError{"send back", "there is no comment that was not sent yet: add one first"}
	}
	r.Round++
	r.Comments = slices.Clone(r.Comments)
	var sent []fleet.Comment
	for i := range r.Comments {
		if c := &r.Comments[i]; c.Round == 0 {
			c.Round = r.Round
			sent = append(sent, *c)
		}
	}
	r.State, r.Seen = fleet.ReviewSentBack, seenTree(*r, tree)
	return Prompt(sent), nil
}

// ReturnToDrafts makes the comments of a round drafts again, because the agent did not
// receive them.
func ReturnToDrafts(r *fleet.Review, round int) {
	r.Comments = slices.Clone(r.Comments)
	for i := range r.Comments {
		if r.Comments[i].Round == round {
			r.Comments[i].Round = 0
		}
	}
	EndRound(r)
}

// RecordAnswers adds the agent's answers to the comments of the given rounds. It reports
// whether there were any.
func RecordAnswers(r *fleet.Review, rounds []int, answers map[string]Answer, attempt string, now time.Time) (found bool) {
	r.Comments = slices.Clone(r.Comments)
	for i := range r.Comments {
		c := &r.Comments[i]
		if a, ok := answers[c.ID]; ok && slices.Contains(rounds, c.Round) {
			c.Answer = &fleet.CommentAnswer{Fixed: a.Fixed, Text: a.Text, Attempt: attempt, At: now}
			found = true
		}
	}
	return found
}

// EndRound ends a round, because the agent no longer works on the comments.
func EndRound(r *fleet.Review) {
	if r.State == fleet.ReviewSentBack {
		r.State = fleet.ReviewOpen
		updateState(r)
	}
}

// VoidApproval voids an approval, because the agent works on the change again. A merged
// change is open again too, because its next commits are not merged yet. Landing still
// describes the last merge.
func VoidApproval(r *fleet.Review) {
	if r.State == fleet.ReviewApproved || r.State == fleet.ReviewMerged {
		r.State = fleet.ReviewOpen
		updateState(r)
	}
}

// Merge records that the change was merged.
func Merge(r *fleet.Review, l fleet.Landing) error {
	if err := checkNotLanded(*r, "merge"); err != nil {
		return err
	}
	if r.State == fleet.ReviewSentBack {
		return &RefusedError{"merge", "the agent works on the comments: wait for its answers"}
	}
	r.State, r.Landing = fleet.ReviewMerged, &l
	return nil
}

// Discard records that the change was discarded. rescue is the git ref under which the
// change is kept.
func Discard(r *fleet.Review, rescue string) error {
	if err := checkNotLanded(*r, "discard"); err != nil {
		return err
	}
	r.State, r.Rescue = fleet.ReviewDiscarded, rescue
	return nil
}

// Undo records that the last merge of a change was undone, or that a discarded change was
// restored.
func Undo(r *fleet.Review) error {
	switch {
	case r.State == fleet.ReviewDiscarded:
		r.State, r.Rescue = fleet.ReviewOpen, ""
		updateState(r)
	case r.State == fleet.ReviewMerged:
		r.State, r.Landing = fleet.ReviewApproved, nil
	case r.Landing != nil: // the agent has worked on the change since it was merged
		r.Landing = nil
	default:
		return &RefusedError{"undo", fmt.Sprintf("the change is neither merged nor discarded; its review is %s", StateText(r.State))}
	}
	return nil
}

// StateText returns the name of a state for use in a sentence.
func StateText(s fleet.ReviewState) string { return strings.ReplaceAll(string(s), "_", " ") }

// checkNotLanded returns an error if the change was merged or discarded. what is the
// refused action.
func checkNotLanded(r fleet.Review, what string) error {
	if r.State == fleet.ReviewMerged || r.State == fleet.ReviewDiscarded {
		return &RefusedError{what, fmt.Sprintf("the change is %s; undo that first", r.State)}
	}
	return nil
}

// updateState sets the state that follows from the number of drafts. A review that was
// sent back stays in that state.
func updateState(r *fleet.Review) {
	switch {
	case r.State == fleet.ReviewSentBack:
	case Drafts(*r) > 0:
		r.State = fleet.ReviewCommented
	case r.State == fleet.ReviewCommented:
		r.State = fleet.ReviewOpen
	}
}

func checkTree(tree string) error {
	if len(tree) > 64 || strings.Trim(tree, "0123456789abcdef") != "" {
		return &InvalidError{"tree", fmt.Sprintf("%.70q: want the id of a tree", tree)}
	}
	return nil
}

// seenTree returns the tree that the user has seen last.
func seenTree(r fleet.Review, tree string) string {
	if tree == "" {
		return r.Seen
	}
	return tree
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
