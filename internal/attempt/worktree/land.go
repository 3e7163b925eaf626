package worktree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/internal/git"
)

// Method is a way to bring the commits of a branch into another.
type Method string

// The methods.
const (
	ByMerge  Method = "merge"  // one commit with two parents
	BySquash Method = "squash" // one commit with all changes
	ByRebase Method = "rebase" // a copy of each commit
)

// LandSpec describes how the work of a task is brought into a target branch.
type LandSpec struct {
	Tree    Tree
	Into    string // the target branch
	Method  Method // empty means ByMerge
	Title   string // title of the merge commit or the squashed commit
	Message string // added to its message; may be empty

	// MoveCheckedOut lets Land move a worktree forward that has the target branch
	// checked out. Without it, Land returns a [*ConsentError].
	MoveCheckedOut bool

	// Check and Scratch are those of a [MergeSpec].
	Check   func(ctx context.Context, dir string) error `json:"-"`
	Scratch string
}

// Landing is a task's work that was brought into a branch. It is kept in the repository
// by the ref Undo, which is created together with the move of the branch.
type Landing struct {
	Run    string    `json:"run"`
	Task   string    `json:"task"`
	Into   string    `json:"into"`
	Method Method    `json:"method"`
	Before string    `json:"before"` // the tip of Into before and after
	After  string    `json:"after"`
	Branch string    `json:"branch"`
	Tip    string    `json:"tip"` // the commit of Branch that was landed
	At     time.Time `json:"at"`
	Revert string    `json:"revert,omitempty"` // the commit that took it back, if the branch was not simply moved back

	Undo    string `json:"-"` // the ref that keeps these commits
	Present bool   `json:"-"` // Into contains After
	Earlier bool   `json:"-"` // Land found it: the same work was landed before
	Updated string `json:"-"` // the worktree with Into checked out that was moved, only from Land and Undo
}

// ConsentError reports that a branch is checked out in a worktree whose files would
// change. Nothing was changed.
type ConsentError struct{ Branch, Path string }

func (e *ConsentError) Error() string {
	return fmt.Sprintf("branch %s is checked out in %s, whose files would change", e.Branch, e.Path)
}

// Conflict marks the error as a conflict with the current state.
func (e *ConsentError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ConsentError) Hint() string { return "allow that with --yes" }

// NothingError reports that the target branch already contains the work of a task, or
// that the task has changed nothing.
type NothingError struct{ Branch, Into string }

func (e *NothingError) Error() string {
	return fmt.Sprintf("branch %s has no commit that %s lacks", e.Branch, e.Into)
}

// RevertedError reports that the work was landed before and then reverted. Git would
// treat it as merged and leave it out.
type RevertedError struct {
	Branch, Into string
	Commit       string // the commit that reverted it
}

func (e *RevertedError) Error() string {
	return fmt.Sprintf("branch %s was merged into %s before, and commit %.12s has reverted that", e.Branch, e.Into, e.Commit)
}

// Conflict marks the error as a conflict with the current state.
func (e *RevertedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *RevertedError) Hint() string {
	return fmt.Sprintf("bring it back with 'git revert %.12s' on %s, then merge again", e.Commit, e.Into)
}

// MergesError reports that a branch with merge commits cannot be rebased.
type MergesError struct{ Branch string }

func (e *MergesError) Error() string {
	return fmt.Sprintf("branch %s has merge commits, which a rebase would lose", e.Branch)
}

// Conflict marks the error as a conflict with the current state.
func (e *MergesError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *MergesError) Hint() string { return "use --merge or --squash" }

const (
	undoPrefix   = "refs/gaffer/undo/"   // landings that the target contains
	undonePrefix = "refs/gaffer/undone/" // landings that were taken back
)

// Land brings the commits of a task's branch into a target branch. Landings in the same
// target wait for each other. The result is checked before the branch moves. If any of
// the branches moves during the check, everything is computed and checked again.
//
// The branch moves in one transaction with the creation of the ref [Landing.Undo]. If
// the branch is checked out in a worktree, git moves both, and the ref is created
// before. So after a crash [Repo.Landings] tells whether the branch has moved. Land
// repeated with the same work returns the first landing.
//
// Land returns a [*MergeError] on a conflict, a [*CheckError] if the check fails, a
// [*TargetError] or [*ConsentError] if the target may not be moved, a [*NothingError] if
// there is nothing to land.
func (r *Repo) Land(ctx context.Context, s LandSpec) (done Landing, err error) {
	if s.Method == "" {
		s.Method = ByMerge
	}
	if s.Method != ByMerge && s.Method != BySquash && s.Method != ByRebase {
		return done, &git.SpecError{Problem: fmt.Sprintf("%q is not a way to merge: want merge, squash or rebase", s.Method)}
	}
	if s.Into == s.Tree.Branch {
		return done, &git.SpecError{Problem: fmt.Sprintf("branch %s cannot be merged into itself", s.Into)}
	}
	if err := r.MayWrite(); err != nil {
		return done, err
	}
	at, err := r.claimSite(ctx, s.Into, s.Scratch)
	if err != nil {
		return done, err
	}
	defer at.release()
	r.sweepSites(ctx)
	for range tries {
		l := lander{LandSpec: s, merger: merger{repo: r, site: at, spec: MergeSpec{
			Into: s.Into, Branches: []string{s.Tree.Branch}, Check: s.Check, Scratch: s.Scratch,
		}}}
		err = l.land(ctx)
		if done = l.done; !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return Landing{}, fmt.Errorf("merge into %s: %w", s.Into, err)
	}
	return done, nil
}

// lander is one try to land a task's work.
type lander struct {
	LandSpec
	merger
	before []string // tips of the branch, and of those that it started from, which were landed already in another form
	number int      // of the next undo ref
	done   Landing
}

func (l *lander) land(ctx context.Context) error {
	defer l.site.clean()
	err := l.locked(ctx, l.takeAway, l.resolve, l.settle, l.build)
	if err != nil || l.done.Undo != "" { // landed already
		return err
	}
	if l.Check != nil {
		if err := l.locked(ctx, l.checkOut); err != nil {
			return err
		}
		if err := l.check(ctx); err != nil {
			l.drop(ctx)
			return err
		}
	}
	return l.locked(ctx, l.takeAway, l.checkUnmoved, l.publish)
}

// settle reads the earlier landings. It finishes the record of one whose branch was
// moved back, or never moved because of a crash.
func (l *lander) settle(ctx context.Context) error {
	list, err := l.repo.landings(ctx, l.git, l.Tree.Run)
	if err != nil {
		return err
	}
	tip := l.tips[0]
	for _, e := range list {
		own := e.Task == l.Tree.Task
		if own {
			l.number = max(l.number, landingNumber(e.Undo))
		}
		if e.Into != l.Into {
			continue
		}
		contained, err := l.git.Contains(ctx, tip, e.Tip)
		if err != nil {
			return err
		}
		if undone := strings.HasPrefix(e.Undo, undonePrefix); undone {
			if e.Revert != "" && own && contained {
				if there, err := l.git.Contains(ctx, l.result.Before, e.Tip); err != nil {
					return err
				} else if there {
					return &RevertedError{l.Tree.Branch, l.Into, e.Revert}
				}
			}
			continue
		}
		if !e.Present {
			if own {
				if err := moveRecord(ctx, l.git, e.Undo, e.Undo); err != nil {
					return err
				}
			}
			continue
		}
		switch {
		case own && e.Tip == tip:
			l.done, l.done.Earlier = e, true
			return nil
		case contained:
			l.before = append(l.before, e.Tip)
		}
	}
	return nil
}

// build creates the commits, which no branch refers to before publish.
func (l *lander) build(ctx context.Context) error {
	if l.done.Undo != "" {
		return nil
	}
	target, tip := l.result.Before, l.tips[0]
	if has, err := l.git.Contains(ctx, target, tip); err != nil {
		return err
	} else if has {
		return &NothingError{l.Tree.Branch, l.Into}
	}
	if where := git.CheckedOut(l.list, l.Into); len(where) > 0 && !l.MoveCheckedOut {
		return &ConsentError{l.Into, where[0].Path}
	}
	if err := l.checkTarget(ctx); err != nil {
		return err
	}
	var err error
	switch l.Method {
	case ByRebase:
		l.result.After, err = l.replay(ctx, target, tip)
	default:
		l.result.After, err = l.combine(ctx, target, tip)
	}
	if err == nil && l.result.After == target {
		err = &NothingError{l.Tree.Branch, l.Into}
	}
	return err
}

// combine returns the commit of a merge or of a squash.
func (l *lander) combine(ctx context.Context, target, tip string) (string, error) {
	ours, err := l.bridge(ctx, target)
	if err != nil {
		return "", err
	}
	tree, files, err := mergeTrees(ctx, l.git, ours, tip)
	if err != nil {
		return "", fmt.Errorf("branch %s: %w", l.Tree.Branch, err)
	}
	if len(files) > 0 {
		return "", l.stopAt(l.Tree.Branch, files)
	}
	if l.Method == ByMerge {
		text := l.Title
		if text == "" {
			text = fmt.Sprintf("Merge branch '%s' into %s", l.Tree.Branch, l.Into)
		}
		return l.git.CommitTree(ctx, tree, withBody(text, l.Message), target, tip)
	}
	if same, err := l.git.Resolve(ctx, target+"^{tree}"); err != nil || same == tree {
		return target, err
	}
	return l.squash(ctx, tree, target, tip)
}

// bridge returns the commit to merge into. The target has the content of commits that
// were landed as other commits. For git they are unrelated, and their lines would
// conflict. So the result has the target's content, and those commits as parents.
func (l *lander) bridge(ctx context.Context, target string) (string, error) {
	if len(l.before) == 0 {
		return target, nil
	}
	tree, err := l.git.Resolve(ctx, target+"^{tree}")
	if err != nil {
		return "", err
	}
	return l.git.CommitTree(ctx, tree, "gaffer: bridge\n", append([]string{target}, l.before...)...)
}

// squash creates one commit with the authors and subjects of all commits.
func (l *lander) squash(ctx context.Context, tree, target, tip string) (string, error) {
	out, err := l.git.Run(ctx, append([]string{
		"log", "--reverse", "--no-merges", "--encoding=UTF-8",
		"--format=%x00%an%x01%ae%x01%aI%x01%s%x01%(trailers:key=Co-authored-by,valueonly,separator=%x02)", tip, "--not", target,
	}, l.before...)...)
	if err != nil {
		return "", err
	}
	var subjects, authors []string
	g := l.git
	for entry := range strings.SplitSeq(out, "\x00") {
		part := strings.Split(strings.TrimSuffix(entry, "\n"), "\x01")
		if len(part) != 5 {
			continue
		}
		author := fmt.Sprintf("%s <%s>", part[0], part[1])
		if len(subjects) == 0 { // the first author is that of the squashed commit
			g = g.With("GIT_AUTHOR_NAME="+part[0], "GIT_AUTHOR_EMAIL="+part[1], "GIT_AUTHOR_DATE="+part[2])
			authors = append(authors, author)
		}
		subjects = append(subjects, "* "+git.CleanSubject(part[3]))
		for _, also := range append([]string{author}, strings.Split(part[4], "\x02")...) {
			if also = strings.TrimSpace(also); also != "" && !slices.Contains(authors, also) {
				authors = append(authors, also)
			}
		}
	}
	text := l.Title
	if text == "" {
		text = fmt.Sprintf("Squash branch '%s'", l.Tree.Branch)
	}
	if len(subjects) > 1 {
		text = withBody(text, strings.Join(subjects, "\n"))
	}
	text = withBody(text, l.Message)
	if len(authors) > 1 {
		text += "\n"
		for _, also := range authors[1:] {
			text += "Co-authored-by: " + also + "\n"
		}
	}
	return g.CommitTree(ctx, tree, text, target)
}

func withBody(title, body string) string {
	title = strings.TrimRight(title, "\n") + "\n"
	if body = strings.Trim(body, "\n"); body == "" {
		return title
	}
	return title + "\n" + body + "\n"
}

// replay copies the commits of the branch onto a commit, oldest first. A commit that
// already is there keeps its id.
func (l *lander) replay(ctx context.Context, onto, tip string) (string, error) {
	out, err := l.git.Run(ctx, append([]string{"rev-list", "--reverse", "--topo-order", "--parents", tip, "--not", onto}, l.before...)...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		switch {
		case len(ids) > 2:
			return "", &MergesError{l.Tree.Branch}
		case len(ids) == 2 && ids[1] == onto:
			onto = ids[0]
			continue
		}
		if onto, err = l.pick(ctx, onto, ids[0], ids[1:]); err != nil {
			return "", err
		}
	}
	return onto, nil
}

// pick copies a commit onto another, with its author and message. git merge-tree takes no
// merge base in the oldest supported version, so a commit with the content of onto and
// the parents of the copied commit replaces onto.
func (l *lander) pick(ctx context.Context, onto, commit string, parents []string) (string, error) {
	tree, err := l.git.Resolve(ctx, onto+"^{tree}")
	if err != nil {
		return "", err
	}
	ours, err := l.git.CommitTree(ctx, tree, "gaffer: base\n", parents...)
	if err != nil {
		return "", err
	}
	args := []string{ours, commit}
	if len(parents) == 0 {
		args = append([]string{"--allow-unrelated-histories"}, args...)
	}
	merged, files, err := mergeTrees(ctx, l.git, args...)
	if err != nil {
		return "", fmt.Errorf("commit %.12s: %w", commit, err)
	}
	if len(files) > 0 {
		stopped := l.stopAt(l.Tree.Branch, files)
		stopped.Commands = nil
		command := "git -C " + git.Quote(stopped.Dir)
		stopped.Commands = append(stopped.Commands, command+" rebase "+git.Quote(l.Into), command+" add --all", command+" rebase --continue")
		return "", stopped
	}
	if merged == tree {
		return onto, nil // the target has the same change
	}
	out, err := l.git.Run(ctx, "log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%an%x00%ae%x00%aI%x00%B", commit)
	if err != nil {
		return "", err
	}
	part := strings.SplitN(out, "\x00", 4)
	if len(part) != 4 {
		return "", fmt.Errorf("commit %.12s: cannot read its author", commit)
	}
	g := l.git.With("GIT_AUTHOR_NAME="+part[0], "GIT_AUTHOR_EMAIL="+part[1], "GIT_AUTHOR_DATE="+part[2])
	return g.CommitTree(ctx, merged, strings.TrimRight(part[3], "\n")+"\n", onto)
}

// mergeTrees merges two commits without a worktree. It returns the tree of the result,
// or the files with conflicts. Git exits with 1 for conflicts, but also if it cannot
// merge at all; only for conflicts it prints a tree.
func mergeTrees(ctx context.Context, g git.Client, args ...string) (tree string, conflicts []string, err error) {
	out, err := g.Run(ctx, append([]string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"}, args...)...)
	tree, _, _ = strings.Cut(strings.TrimSuffix(out, "\n"), "\x00")
	valid := git.IsID(tree)
	if git.ExitCode(err) == 1 && valid {
		if conflicts = parseConflict(out); len(conflicts) > 0 {
			return "", conflicts, nil
		}
	}
	if err == nil && !valid {
		err = errors.New("git merge-tree printed no tree")
	}
	return tree, nil, err
}

// publish moves the target branch and creates the undo ref.
func (l *lander) publish(ctx context.Context) error {
	l.done = Landing{
		Run: l.Tree.Run, Task: l.Tree.Task, Into: l.Into, Method: l.Method, Before: l.result.Before, After: l.result.After,
		Branch: l.Tree.Branch, Tip: l.tips[0], At: time.Now().UTC(),
	}
	record, err := recordLanding(ctx, l.git, l.done)
	if err != nil {
		return err
	}
	l.done.Undo, l.done.Present = fmt.Sprintf("%s%s/%s/%d", undoPrefix, git.RefPart(l.done.Run), git.RefPart(l.done.Task), l.number+1), true
	where := git.CheckedOut(l.list, l.Into)
	if len(where) > 0 && !l.MoveCheckedOut { // the user has checked it out during the check
		return &ConsentError{l.Into, where[0].Path}
	}
	steps := fmt.Sprintf("verify %s%s %s\ncreate %s %s\n", git.Heads, l.Tree.Branch, l.done.Tip, l.done.Undo, record)
	if len(where) == 0 {
		return l.orRaced(ctx, l.git.UpdateRefs(ctx, "gaffer: merge", fmt.Sprintf("update %s%s %s %s\n", git.Heads, l.Into, l.done.After, l.done.Before)+steps))
	}
	// Only git itself can move a branch together with the files of its worktree. So the
	// ref is created first. It counts only if the branch contains After.
	if err := l.git.UpdateRefs(ctx, "gaffer: merge", fmt.Sprintf("verify %s%s %s\n", git.Heads, l.Into, l.done.Before)+steps); err != nil {
		return l.orRaced(ctx, err)
	}
	if err := l.forward(ctx, where[0].Path); err != nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), dropGrace)
		defer stop()
		if moved, e := l.git.Contains(ctx, git.Heads+l.Into, l.done.After); e != nil || moved { // interrupted after the move
			return err
		}
		_, e := l.git.Run(ctx, "update-ref", "-d", l.done.Undo, record)
		return errors.Join(err, e)
	}
	l.done.Updated = where[0].Path
	return nil
}

// orRaced returns errMoved if a transaction failed because another process has moved a
// branch or has taken the number of the undo ref, or else err.
func (l *lander) orRaced(ctx context.Context, err error) error {
	if git.ExitCode(err) <= 0 {
		return err
	}
	if tip, e := l.git.CommitID(ctx, git.Heads+l.Tree.Branch); e == nil && tip != l.done.Tip {
		return errMoved
	}
	if taken, e := l.git.CommitID(ctx, l.done.Undo); e == nil && taken != "" {
		return errMoved
	}
	return l.orMoved(ctx, err)
}

// recordLanding creates the commit that an undo ref points to. Its parents keep the
// landing's commits, its message has the rest.
func recordLanding(ctx context.Context, g git.Client, l Landing) (string, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	tree, err := g.Resolve(ctx, l.Before+"^{tree}")
	if err != nil {
		return "", err
	}
	parents := slices.Compact([]string{l.Before, l.After, l.Tip})
	return g.CommitTree(ctx, tree, "gaffer: landing\n\n"+string(text)+"\n", parents...)
}

// moveRecord moves the record of a landing to the landings that were taken back. The
// transaction may contain further steps.
func moveRecord(ctx context.Context, g git.Client, undo, record string, steps ...string) error {
	undone := undonePrefix + strings.TrimPrefix(undo, undoPrefix)
	return g.UpdateRefs(ctx, "gaffer: undo", fmt.Sprintf("delete %s\nupdate %s %s\n", undo, undone, record)+strings.Join(steps, ""))
}

func landingNumber(ref string) int {
	n, _ := strconv.Atoi(ref[strings.LastIndexByte(ref, '/')+1:]) // every ref of this package has one
	return n
}

// Landings returns the landings of a run's tasks that were not taken back, oldest first,
// or those of all runs if run is empty. One that is not Present was moved back by
// another program, or a crash prevented it.
func (r *Repo) Landings(ctx context.Context, run string) ([]Landing, error) {
	list, err := r.landings(ctx, r.Git, run)
	return slices.DeleteFunc(list, func(l Landing) bool { return strings.HasPrefix(l.Undo, undonePrefix) }), err
}

func (r *Repo) landings(ctx context.Context, g git.Client, run string) ([]Landing, error) {
	args := []string{"for-each-ref", "--format=%(refname)%00%(contents:body)%00"}
	for _, prefix := range []string{undoPrefix, undonePrefix} {
		if run != "" {
			prefix += git.RefPart(run) + "/"
		}
		args = append(args, prefix)
	}
	out, err := g.Run(ctx, args...)
	if err != nil {
		return nil, err
	}
	var list []Landing
	parts := strings.Split(out, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		var l Landing
		if err := json.Unmarshal([]byte(parts[i+1]), &l); err != nil {
			continue // another program's ref
		}
		l.Undo = strings.TrimSpace(parts[i])
		if !git.IsID(l.Before) || !git.IsID(l.After) || !git.IsID(l.Tip) || run != "" && l.Run != run {
			continue
		}
		if strings.HasPrefix(l.Undo, undoPrefix) {
			tip, err := g.CommitID(ctx, git.Heads+l.Into)
			if err != nil {
				return nil, err
			}
			if tip != "" {
				if l.Present, err = g.Contains(ctx, tip, l.After); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b Landing) int {
		return cmp.Or(a.At.Compare(b.At), landingNumber(a.Undo)-landingNumber(b.Undo))
	})
	return list, nil
}
