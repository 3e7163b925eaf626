// Package review implements the rules of a review: what a user may do in each state, the prompt
// that sends comments to the agent, and the parser for the agent's answers. Its functions only
// change the review that they are given; they store nothing.
//
//	open ──comment──> commented ──send back──> sent back ──answered──> open
//	  └──approve──> approved ──merge──> merged
//
// A change can also be merged in the states open and commented. It can be discarded in every state
// except merged. Merging and discarding can be undone. An approval becomes void if the task is
// queued again.
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

// RefusedError reports that the review's current state does not allow what the user wants to do.
type RefusedError struct{ What, Why string }

func (e *RefusedError) Error() string { return e.What + ": " + e.Why }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *RefusedError) Conflict() bool { return true }

// InvalidError reports that a value in the user's request is not valid.
type InvalidError struct{ What, Why string }

func (e *InvalidError) Error() string { return e.What + ": " + e.Why }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *InvalidError) Invalid() bool { return true }

// NotFoundError reports that a review has no comment with the id ID.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return "comment " + e.ID + ": not found" }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// The maximum sizes of a review's parts.
const (
	MaxText     = 16 << 10 // maximum length of a comment's text, in bytes
	MaxLines    = 64 << 10 // maximum total length of the lines that one comment refers to, in bytes
	MaxPath     = 4 << 10  // maximum length of a file's path, in bytes
	MaxKey      = 200      // maximum length of a comment's idempotency key, in bytes
	MaxComments = 1000     // maximum number of comments in one review
	MaxViewed   = 20_000   // maximum number of files in one review that are marked as viewed
)

// Apply performs the user's action a on a review. It does not support the action "send back"; use
// [SendBack].
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

// Drafts returns the number of drafts: comments that were not sent to the agent yet.
func Drafts(r fleet.Review) (n int) {
	for _, c := range r.Comments {
		if c.Round == 0 {
			n++
		}
	}
	return n
}

// AddComment adds the comment c as a draft, and returns it with its id. A draft is a comment that
// was not sent to the agent yet. It stays a draft until the user sends the drafts, even if the
// agent is working on earlier comments now.
//
// The caller sets the text and the location of c. It also sets a key if the client may repeat the
// request: a second comment with the same key is not added, and the first one is returned.
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

// validComment returns c, or an error if c is not valid. If c refers to lines of a file,
// validComment sets the fields that the caller may leave empty: the side of the diff and the last
// line.
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

// EditComment changes the text of a comment that was not sent to the agent yet.
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

// DeleteComment deletes a comment that was not sent to the agent yet.
func DeleteComment(r *fleet.Review, id string) error {
	i, err := draftIndex(*r, id, "cannot be deleted: resolve it")
	if err != nil {
		return err
	}
	r.Comments = slices.Delete(slices.Clone(r.Comments), i, i+1)
	updateState(r)
	return nil
}

// draftIndex returns the index in r.Comments of the comment with this id. If the comment was
// already sent to the agent, it returns an error whose text ends with the parameter refusal, for
// example "cannot be deleted".
func draftIndex(r fleet.Review, id, refusal string) (int, error) {
	i := slices.IndexFunc(r.Comments, func(c fleet.Comment) bool { return c.ID == id })
	if i < 0 {
		return i, &NotFoundError{id}
	}
	if r.Comments[i].Round > 0 {
		return i, &RefusedError{"comment " + id, "was sent to the agent and " + refusal}
	}
	return i, nil
}

// Resolve marks a comment as resolved if resolved is true, and as not resolved if it is false.
func Resolve(r *fleet.Review, id string, resolved bool) error {
	i := slices.IndexFunc(r.Comments, func(c fleet.Comment) bool { return c.ID == id })
	if i < 0 {
		return &NotFoundError{id}
	}
	r.Comments = slices.Clone(r.Comments)
	r.Comments[i].Resolved = resolved
	return nil
}

// View marks a file as viewed. The parameter digest identifies the diff of the file that the user
// has seen. If the file's diff changes later, the file no longer counts as viewed. If digest is
// empty, View removes the mark.
func View(r *fleet.Review, path, digest string) error {
	if path == "" || len(path) > MaxPath || len(digest) > 200 || !utf8.ValidString(path+digest) || strings.ContainsRune(path+digest, 0) {
		return &InvalidError{"viewed", "want the path of a file and the digest of its diff"}
	}
	viewed := make(map[string]string, len(r.Viewed)+1) // copy the map, because other goroutines may read the old one
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

// Approve approves the change. The parameter tree is the id of the git tree that the user has seen.
// If it is empty, the review keeps the id that it has stored before. Approve returns a
// [*RefusedError] if there are comments that were not sent to the agent, if the agent is working on
// comments, or if the change was merged or discarded.
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

// Reopen withdraws the user's approval of a change.
func Reopen(r *fleet.Review) error {
	if r.State != fleet.ReviewApproved {
		return &RefusedError{"reopen", fmt.Sprintf("the review is %s, and only an approved one can be reopened", StateText(r.State))}
	}
	r.State = fleet.ReviewOpen
	updateState(r)
	return nil
}

// SendBack marks all comments that were not sent yet as sent, and returns the prompt that sends
// them to the agent. These comments form a new round of the review. The parameter tree is the id of
// the git tree that the user has seen. If it is empty, the review keeps the id that it has stored
// before.
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

// ReturnToDrafts marks the comments of a round as not sent, because the agent did not receive them,
// and ends the round. A round is the set of comments that were sent to the agent together.
func ReturnToDrafts(r *fleet.Review, round int) {
	r.Comments = slices.Clone(r.Comments)
	for i := range r.Comments {
		if r.Comments[i].Round == round {
			r.Comments[i].Round = 0
		}
	}
	EndRound(r)
}

// RecordAnswers stores the agent's answers in the comments of the given rounds. found reports
// whether any of these comments got an answer.
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

// EndRound changes the state of a review that was sent back to the agent, because the agent no
// longer works on the comments. The new state is open, or commented if the review has comments that
// were not sent yet. If the review is not in the state "sent back", EndRound does nothing.
func EndRound(r *fleet.Review) {
	if r.State == fleet.ReviewSentBack {
		r.State = fleet.ReviewOpen
		updateState(r)
	}
}

// VoidApproval sets the state of an approved review to open, because the agent works on the change
// again. It does the same with a merged review, because the agent's next commits are not merged
// yet. In both cases, if the review has comments that were not sent yet, the new state is commented
// instead of open. r.Landing still describes the last merge.
func VoidApproval(r *fleet.Review) {
	if r.State == fleet.ReviewApproved || r.State == fleet.ReviewMerged {
		r.State = fleet.ReviewOpen
		updateState(r)
	}
}

// Merge records that the change was merged. The parameter l describes the merge. The change can be
// merged without the user's approval, but not while the agent is working on comments.
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

// Discard records that the change was discarded. rescue is the git ref that still points to the
// discarded change.
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
	case r.Landing != nil: // the change was merged, and then the agent worked on it again
		r.Landing = nil
	default:
		return &RefusedError{"undo", fmt.Sprintf("the change is neither merged nor discarded; its review is %s", StateText(r.State))}
	}
	return nil
}

// StateText returns a review's state as words for a sentence, for example "sent back".
func StateText(s fleet.ReviewState) string { return strings.ReplaceAll(string(s), "_", " ") }

// checkNotLanded returns an error if the change was merged or discarded. The parameter action is
// what the user wants to do, for example "approve"; it is part of the error's text.
func checkNotLanded(r fleet.Review, action string) error {
	if r.State == fleet.ReviewMerged || r.State == fleet.ReviewDiscarded {
		return &RefusedError{action, fmt.Sprintf("the change is %s; undo that first", r.State)}
	}
	return nil
}

// updateState sets the state of a review after its comments have changed. A review with comments
// that were not sent yet gets the state commented. A review in the state commented without such
// comments gets the state open. A review that was sent back to the agent stays in that state.
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

// seenTree returns tree or, if tree is empty, the tree that the review has stored as seen.
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
