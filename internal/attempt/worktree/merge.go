package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/git"
)

// MergeSpec describes a merge of branches into another.
type MergeSpec struct {
	Into     string   // the target branch
	Branches []string // in the order of merging
	Titles   []string // titles of the merge commits, by branch; git's default where empty
	Message  string   // added to each merge commit's message; may be empty

	// Check examines the result of the merge before it is published, in a temporary
	// worktree at dir. It returns an error to reject it. Other processes may use the
	// repository meanwhile. Nil means no check.
	Check func(ctx context.Context, dir string) error `json:"-"`
	// Scratch is the parent folder of that worktree. The worktree has the same path
	// each time, so that caches of tools by path remain useful.
	Scratch string
}

// MergeResult describes what was merged, even if Merge returned an error.
type MergeResult struct {
	Before, After string   // tip of the target branch
	Merged        []Merged // in the order of merging
	Skipped       []string // branches that the target already contained
	Updated       string   // the worktree with the target branch that was moved forward, or empty
}

// Merged is a branch and its merge commit.
type Merged struct{ Branch, Commit string }

// tries is the number of attempts if other programs move a branch meanwhile.
const tries = 5

var errMoved = errors.New("the branch was moved by another program again and again")

// Merge merges branches into another, one after the other, with one commit for each. It
// skips branches that the target already contains, so it may be repeated. All branches
// must exist. A branch that [Repo.Remove] has deleted is merged already.
//
// Merge needs no worktree. If a worktree has the target branch checked out, Merge moves
// it forward, provided that none of its files is changed. Otherwise it changes nothing
// and returns a [*TargetError]. At the first branch with a conflict it returns a
// [*MergeError]: the branches before it are merged, and nothing else is changed.
//
// With a Check, the target moves only to a commit that the check has accepted. If any
// of the branches moves during the check, everything is merged and checked again. If
// the check rejects the result, Merge changes nothing and returns a [*CheckError].
// Checked merges into the same branch wait for each other.
func (r *Repo) Merge(ctx context.Context, s MergeSpec) (MergeResult, error) {
	result, err := r.merge(ctx, s)
	if err != nil {
		return result, fmt.Errorf("merge into %s: %w", s.Into, err)
	}
	return result, nil
}

func (r *Repo) merge(ctx context.Context, s MergeSpec) (result MergeResult, err error) {
	if err := r.MayWrite(); err != nil {
		return result, err
	}
	var at *site
	if s.Check != nil {
		if at, err = r.claimSite(ctx, s.Into, s.Scratch); err != nil {
			return result, err
		}
		defer at.release()
	}
	r.sweepSites(ctx)
	for range tries {
		m := merger{repo: r, spec: s, site: at}
		err = m.merge(ctx)
		if result = m.result; !errors.Is(err, errMoved) {
			break
		}
	}
	return result, err
}

// merger is one try of a merge.
type merger struct {
	repo    *Repo
	git     git.Client
	spec    MergeSpec
	site    *site // nil without a check
	list    []git.Worktree
	tips    []string // tip of each branch
	stopped error    // the conflict at which merging stopped
	result  MergeResult
}

func (m *merger) merge(ctx context.Context) (err error) {
	if m.site == nil {
		err = m.locked(ctx, m.resolve, m.mergeAll, m.publish)
	} else {
		err = m.checked(ctx)
	}
	if err != nil {
		m.result.After, m.result.Merged = m.result.Before, nil
		return err
	}
	return m.stopped
}

// locked runs steps under the repository's lock, until one fails.
func (m *merger) locked(ctx context.Context, steps ...func(context.Context) error) error {
	return m.repo.Locked(ctx, func(g git.Client) (err error) {
		if m.git, err = g.WithAuthor(ctx); err != nil {
			return err
		}
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// resolve looks up all branches before anything is changed.
func (m *merger) resolve(ctx context.Context) (err error) {
	if m.list, err = m.repo.Worktrees(ctx, m.git); err != nil {
		return err
	}
	if m.result.Before, err = m.tip(ctx, m.spec.Into); err != nil {
		return err
	}
	m.result.After = m.result.Before
	for _, name := range m.spec.Branches {
		tip, err := m.tip(ctx, name)
		if err != nil {
			return err
		}
		m.tips = append(m.tips, tip)
	}
	return nil
}

func (m *merger) tip(ctx context.Context, branch string) (string, error) {
	tip, err := m.git.CommitID(ctx, git.Heads+branch)
	if err == nil && tip == "" {
		err = &git.MissingError{What: "branch", Name: branch, Advice: "'git branch --list' shows those that are there"}
	}
	return tip, err
}

// mergeAll creates the merge commits, up to the first branch with a conflict. No branch
// refers to them before publish.
func (m *merger) mergeAll(ctx context.Context) error {
	err := m.mergeEach(ctx)
	if _, ok := errors.AsType[*MergeError](err); ok {
		m.stopped, err = err, nil
	}
	return err
}

func (m *merger) mergeEach(ctx context.Context) error {
	for i, branch := range m.spec.Branches {
		merged, err := m.git.Contains(ctx, m.result.After, m.tips[i])
		if err != nil {
			return err
		}
		if merged {
			m.result.Skipped = append(m.result.Skipped, branch)
			continue
		}
		if m.result.Before == m.result.After {
			if err := m.checkTarget(ctx); err != nil {
				return err
			}
		}
		if err := m.mergeOne(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) mergeOne(ctx context.Context, i int) error {
	branch, tip := m.spec.Branches[i], m.tips[i]
	tree, conflicts, err := mergeTrees(ctx, m.git, m.result.After, tip)
	if err != nil {
		return fmt.Errorf("branch %s: %w", branch, err)
	}
	if len(conflicts) > 0 {
		return m.stopAt(branch, conflicts)
	}
	commit, err := m.git.CommitTree(ctx, tree, m.message(i), m.result.After, tip)
	if err != nil {
		return err
	}
	m.result.After = commit
	m.result.Merged = append(m.result.Merged, Merged{branch, commit})
	return nil
}

// message names both branches, in the title or below it.
func (m *merger) message(i int) string {
	text := fmt.Sprintf("Merge branch '%s' into %s\n", m.spec.Branches[i], m.spec.Into)
	if i < len(m.spec.Titles) && m.spec.Titles[i] != "" {
		text = m.spec.Titles[i] + "\n\n" + text
	}
	if m.spec.Message != "" {
		text += "\n" + strings.TrimRight(m.spec.Message, "\n") + "\n"
	}
	return text
}

// parseConflict returns the conflicting files of a merge. They follow the tree's id in
// the output, each terminated by NUL.
func parseConflict(out string) []string {
	_, rest, _ := strings.Cut(out, "\x00")
	var files []string
	for file := range strings.SplitSeq(rest, "\x00") {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}
