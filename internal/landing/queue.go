package landing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Queue merges changes of a run one after the other. If an agent resolves a conflict of an approved
// change, the change loses its approval. The queue merges the change nevertheless, because it
// remembers which changes were approved before.
type Queue struct {
	l        *Lander
	request  fleet.MergeRequest
	approved map[string]bool
}

// Queue returns a queue that merges the changes which a request selects.
func (l *Lander) Queue(request fleet.MergeRequest) *Queue {
	return &Queue{l, request, map[string]bool{}}
}

// Merge merges the changes that a request selects, with a new queue that it uses only once.
func (l *Lander) Merge(ctx context.Context, request fleet.MergeRequest) ([]fleet.MergeResult, error) {
	return l.Queue(request).Merge(ctx, request.Yes)
}

// Merge merges the changes of the queue in order, and returns the result of each. It stops if a
// target branch cannot be moved. It also stops when it has sent a change back to its agent; the
// caller can call Merge again after the agent has ended. If a worktree has a target branch checked
// out, the merge changes the files in that worktree. The parameter confirmed says that the user
// agrees to that.
func (q *Queue) Merge(ctx context.Context, confirmed bool) ([]fleet.MergeResult, error) {
	q.request.Yes = confirmed
	list, err := q.l.changes(ctx, q.request.Run)
	if err != nil {
		return nil, err
	}
	if q.request.Task != "" {
		if _, _, err := q.l.find(ctx, q.request.Run, q.request.Task); err != nil {
			return nil, err
		}
	} else if len(list) == 0 {
		return nil, &NoChangeError{"run " + q.request.Run, "no task of it works in a worktree of its own"}
	}
	var results []fleet.MergeResult
	for _, c := range list {
		if q.request.Task != "" && c.task.Task != q.request.Task {
			continue
		}
		m, err := q.merge(ctx, c, list)
		if err != nil {
			return results, err
		}
		results = append(results, m)
		if m.State == fleet.MergeBlocked || m.State == fleet.MergeSent {
			break
		}
	}
	return results, nil
}

// Auto merges the changes of those tasks of a run that have 'land: merge' in the plan. If a change
// has a conflict or fails a check, Auto sends it back to its agent.
func (l *Lander) Auto(ctx context.Context, run string) ([]fleet.MergeResult, error) {
	list, err := l.changes(ctx, run)
	if err != nil {
		return nil, err
	}
	q := l.Queue(fleet.MergeRequest{Run: run, Fix: true, Yes: true, All: true})
	var results []fleet.MergeResult
	for _, c := range list {
		if c.spec.Land != plan.LandMerge || c.review.State == fleet.ReviewMerged || c.review.State == fleet.ReviewDiscarded {
			continue
		}
		if c.task.Status != store.Complete {
			// The task is not complete. For example, its agent is working on a conflict. Later
			// changes wait for this one.
			break
		}
		m, err := q.merge(ctx, c, list)
		if err != nil {
			return results, err
		}
		results = append(results, m)
		if m.State == fleet.MergeBlocked || m.State == fleet.MergeSent {
			break
		}
	}
	return results, nil
}

// merge merges the change c into its target branch. The parameter list has all changes of the run.
func (q *Queue) merge(ctx context.Context, c *change, list []*change) (fleet.MergeResult, error) {
	m := fleet.MergeResult{Run: c.task.Run, Task: c.task.Task, Into: cmp.Or(q.request.Into, c.into)}
	if m.Into == "" {
		m.State, m.Why, m.Hint = fleet.MergeBlocked, "no branch is checked out in "+c.repo.Main(), "name the branch with --into"
		return m, nil
	}
	if err := q.mayMerge(ctx, c, list, &m); err != nil || m.State != "" {
		return m, err
	}
	if !c.gone {
		if err := workspace.CommitWork(ctx, c.repo, c.tree, c.spec.Name); err != nil {
			return q.failed(ctx, c, m, err)
		}
	}
	if q.needsApproval() && c.review.Seen != "" && !q.approved[c.task.Task] {
		tree, err := c.repo.TreeOf(ctx, c.tree.Branch)
		if err != nil {
			return m, err
		}
		if tree != c.review.Seen {
			m.State, m.Why, m.Hint = fleet.MergeSkipped, "its files have changed since it was approved", fmt.Sprintf("look at it again: 'gaffer review %s/%s'", m.Run, m.Task)
			return m, nil
		}
	}
	q.approved[c.task.Task] = true
	spec := merge.LandSpec{
		Tree: c.tree, Into: m.Into, Method: merge.Method(q.request.Method), Title: workspace.MergeTitle(c.task.Task, c.spec.Name),
		Message: fmt.Sprintf("Run: %s\nTask: %s\n", m.Run, m.Task), MoveCheckedOut: q.request.Yes, Scratch: q.l.opts.Scratch,
	}
	if len(c.spec.Verify) > 0 {
		spec.Check = func(ctx context.Context, dir string) error { return q.l.verify(ctx, c, dir) }
	}
	done, err := merge.Land(ctx, c.repo, spec)
	if err != nil {
		return q.failed(ctx, c, m, err)
	}
	landing := landingOf(done)
	m.State, m.Landing, m.Updated = fleet.MergeDone, &landing, done.Updated
	if done.Earlier {
		// The change was merged before. The review already describes that merge, or a later merge
		// into another branch, so the review need not change.
		m.State = fleet.MergeAlready
		return m, nil
	}
	return m, q.l.record(ctx, c, func(r *fleet.Review) error { return merged(r, landing) })
}

// needsApproval reports whether the queue merges only changes that the user has approved.
func (q *Queue) needsApproval() bool { return !q.request.All && q.request.Task == "" }

// mayMerge checks whether the change c can be merged now. If not, it sets m.State, and stores the
// reason or the earlier merge in m.
func (q *Queue) mayMerge(ctx context.Context, c *change, list []*change, m *fleet.MergeResult) error {
	skip := func(why, hint string) error {
		m.State, m.Why, m.Hint = fleet.MergeSkipped, why, hint
		return nil
	}
	name := m.Run + "/" + m.Task
	switch r := c.review; {
	case r.State == fleet.ReviewMerged && r.Landing != nil && (q.request.Into == "" || q.request.Into == r.Landing.Into):
		m.State, m.Landing, m.Into = fleet.MergeAlready, r.Landing, r.Landing.Into
		return nil
	case r.State == fleet.ReviewDiscarded:
		return skip("it was discarded", fmt.Sprintf("'gaffer discard %s --undo' brings it back", name))
	case !c.task.Status.Final():
		return skip(fmt.Sprintf("it is %s", c.task.Status), "wait until it has ended")
	case q.request.Task == "" && c.task.Status != store.Complete:
		return skip(fmt.Sprintf("it is %s", c.task.Status), fmt.Sprintf("'gaffer merge %s' merges what it has done", name))
	case r.State == fleet.ReviewSentBack:
		return skip("its agent works on the comments", "wait for its answers")
	case r.State == fleet.ReviewCommented && !q.request.All:
		return skip("it has comments that were not sent", fmt.Sprintf("send them to its agent or delete them: 'gaffer review %s'", name))
	case q.needsApproval() && r.State != fleet.ReviewApproved && !q.approved[m.Task]:
		return skip("it was not approved", fmt.Sprintf("approve it: 'gaffer review %s'; 'gaffer merge %s --all' merges all", name, m.Run))
	}
	tip, err := c.repo.Tip(ctx, c.tree.Branch)
	if err != nil {
		return err
	}
	if tip == "" {
		return skip("its branch "+c.tree.Branch+" is gone", "")
	}
	if q.request.All {
		return nil
	}
	// If the branch of this change contains commits of another task, they would be merged too. So
	// the other task's change must be approved or merged, or its commits must already be in the
	// target branch.
	for _, other := range list {
		if other == c || other.repo != c.repo || other.review.State == fleet.ReviewMerged || other.review.State == fleet.ReviewApproved || q.approved[other.task.Task] {
			continue
		}
		theirs, err := c.repo.Tip(ctx, other.tree.Branch)
		if err != nil {
			return err
		}
		if theirs == "" || theirs == other.tree.Base.Commit {
			continue
		}
		with, err := c.repo.Contains(ctx, c.tree.Branch, theirs)
		if err != nil || !with {
			if err != nil {
				return err
			}
			continue
		}
		if there, err := c.repo.Contains(ctx, m.Into, theirs); err != nil {
			return err
		} else if !there {
			return skip(fmt.Sprintf("it contains the work of %s, which is neither approved nor merged", other.task.Task),
				fmt.Sprintf("merge that one first: 'gaffer merge %s/%s'; --all merges both", m.Run, other.task.Task))
		}
	}
	return nil
}

// failed stores in m that err has prevented the merge of a change, and returns m. If err is a
// conflict or a failed check, and the request asks for fixes, failed sends the change back to its
// agent. If err is unexpected, failed also returns err, so that the caller merges no further
// changes.
func (q *Queue) failed(ctx context.Context, c *change, m fleet.MergeResult, err error) (fleet.MergeResult, error) {
	m.Why = strings.TrimPrefix(err.Error(), "merge into "+m.Into+": ")
	if hint, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		m.Hint = hint.Hint()
	}
	if _, ok := errors.AsType[*merge.NothingError](err); ok {
		m.State = fleet.MergeNothing
		return m, nil
	}
	if _, ok := errors.AsType[*merge.ConsentError](err); ok {
		m.State, m.Consent = fleet.MergeBlocked, true
		return m, nil
	}
	if _, ok := errors.AsType[*merge.TargetError](err); ok {
		m.State = fleet.MergeBlocked
		return m, nil
	}
	text := ""
	if e, ok := errors.AsType[*merge.ConflictError](err); ok {
		m.State, m.Files, m.Commands = fleet.MergeConflict, e.Files, e.Commands
		text = conflictText(m, merge.Method(q.request.Method))
	} else if e, ok := errors.AsType[*checkError](err); ok {
		m.State, m.Why = fleet.MergeFailed, e.Error()
		text = fmt.Sprintf("Your change was merged with branch %s to test the result, and a check fails there:\n\n$ %s\n%s\n\n"+
			"Merge %[1]s into your branch with 'git merge %[1]s', make the check pass, and commit. Do not push, and do not change the branch %[1]s.\n",
			m.Into, e.command, e.output)
	} else if e, ok := errors.AsType[*worktree.UnfinishedError](err); ok {
		m.State, m.Files = fleet.MergeConflict, e.Files
		text = "A merge in your worktree is not finished. Resolve the conflicts and commit, on your branch " + c.tree.Branch + ".\n"
	} else {
		return m, err
	}
	if !q.request.Fix {
		return m, nil
	}
	return q.sendBack(ctx, c, m, text)
}

func conflictText(m fleet.MergeResult, method merge.Method) string {
	how := fmt.Sprintf("Merge %s into your branch with 'git merge %[1]s', resolve the conflicts so that both changes keep their meaning, run the checks, and commit.", m.Into)
	if method == merge.ByRebase {
		how = fmt.Sprintf("Rebase your branch with 'git rebase %s', and resolve the conflicts so that both changes keep their meaning. Then run the checks.", m.Into)
	}
	return fmt.Sprintf("Your change cannot be merged into branch %s: other changes there touch the same lines.\n\nFiles with conflicts:\n- %s\n\n%s Do not push, and do not change the branch %[1]s.\n",
		m.Into, strings.Join(m.Files, "\n- "), how)
}

// maxFixes is how many times gaffer sends a change back to its agent because of conflicts or failed
// checks. After that, the user must decide.
const maxFixes = 3

// fixPrefix is the prefix of the ids of messages to agents about conflicts and failed checks.
const fixPrefix = "land-"

// sendBack sends the message text about a conflict or a failed check to the agent of the change c.
// The id of the message is derived from the text and the commits, so that a repeated call does not
// send it twice. If maxFixes messages were already sent, sendBack only sets a hint in m.
func (q *Queue) sendBack(ctx context.Context, c *change, m fleet.MergeResult, text string) (fleet.MergeResult, error) {
	earlier, err := q.l.opts.Reviews.Messages(ctx, c.key())
	if err != nil {
		return m, err
	}
	target, err := c.repo.Tip(ctx, m.Into)
	if err != nil {
		return m, err
	}
	tip, err := c.repo.Tip(ctx, c.tree.Branch)
	if err != nil {
		return m, err
	}
	id := fixPrefix + fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join([]string{m.Run, m.Task, m.Into, target, tip, text}, "\x00"))))[:24]
	sent := slices.DeleteFunc(slices.Clone(earlier), func(e fleet.Message) bool { return !strings.HasPrefix(e.ID, fixPrefix) })
	if slices.ContainsFunc(sent, func(e fleet.Message) bool { return e.ID == id && !e.Waiting() }) {
		m.Hint = strings.TrimSpace("its agent was asked to fix it, and has changed nothing\n" + m.Hint)
		return m, nil
	}
	if len(sent) >= maxFixes {
		m.Hint = strings.TrimSpace(fmt.Sprintf("its agent has tried %d times\n%s", len(sent), m.Hint))
		return m, nil
	}
	message, err := q.l.opts.Reviews.Send(ctx, fleet.Message{ID: id, Run: m.Run, Task: m.Task, Text: text, By: q.l.opts.Who})
	if err != nil {
		return m, fmt.Errorf("send the conflict of %s to its agent: %w", m.Task, err)
	}
	m.State, m.Message, m.Hint = fleet.MergeSent, message.ID, "its agent works on it"
	return m, nil
}

// mergeOrder returns the ids of the tasks in the order in which their changes are merged: the order
// of the plan, but each task after the tasks that it needs.
func mergeOrder(tasks []store.Task) []string {
	needs := map[string][]string{}
	for _, t := range tasks {
		needs[t.Task] = t.Needs
	}
	var order []string
	seen := map[string]bool{}
	var add func(task string)
	add = func(task string) {
		if seen[task] {
			return
		}
		seen[task] = true
		for _, before := range needs[task] {
			add(before)
		}
		order = append(order, task)
	}
	for _, t := range tasks {
		add(t.Task)
	}
	return order
}
