package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// MergeSpec is a wish to bring branches together.
type MergeSpec struct {
	Into     string   // a branch
	Branches []string // in the order in which they are merged
	Titles   []string // of the merges' commits, by branch; git's own words where there is none
	Message  string   // below the title of each merge's commit; may be empty

	// Check looks at what the merge makes before anybody else sees it, in a
	// worktree of its own at dir, and says what is wrong with it. Others may use
	// the repository meanwhile. Nil for none.
	Check func(ctx context.Context, dir string) error `json:"-"`
	// Scratch is the folder in which that worktree is made. It has the same path
	// each time, so that what tools remember by paths is of use again.
	Scratch string
}

// MergeResult is what was done, also if that ended with an error.
type MergeResult struct {
	Before, After string   // the tip of the branch that was merged into
	Merged        []Merged // in order
	Skipped       []string // branches that it had already
	Updated       string   // the worktree that has it checked out and was moved forward, or empty
}

// Merged is a branch and the commit that merged it.
type Merged struct{ Branch, Commit string }

// tries is how often a merge starts again since a branch was moved meanwhile.
const tries = 5

var errMoved = errors.New("the branch was moved by another program again and again")

// Merge merges branches into another, one after the other, each with a commit
// of its own. Those that it has already are passed over, so it may be repeated.
// All branches must be there: one that [Repo.Remove] has deleted is merged.
//
// No worktree is used for it. One that has the target branch checked out is
// moved forward with it if none of its files is changed; otherwise nothing is
// done, with a [*TargetError]. The first branch that cannot be merged without a
// person is a [*MergeError]: those before it are merged then, and nothing else
// is changed.
//
// With a Check the branch is moved only to what the check has seen; if any of
// the branches is moved meanwhile, all is made and checked anew. What the check
// refuses is a [*CheckError], and nothing is changed. Merges into one branch
// that are checked wait for each other.
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

// merger is one try.
type merger struct {
	repo    *Repo
	git     git
	spec    MergeSpec
	site    *site // nil if nothing is checked
	list    []entry
	tips    []string // of each branch
	stopped error    // the branch that could not be merged
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

// locked takes steps alone, until one fails.
func (m *merger) locked(ctx context.Context, steps ...func(context.Context) error) error {
	return m.repo.locked(ctx, func(g git) (err error) {
		if m.git, err = g.signed(ctx); err != nil {
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

// resolve finds all branches before anything is done.
func (m *merger) resolve(ctx context.Context) (err error) {
	if m.list, err = m.repo.entries(ctx, m.git); err != nil {
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
	tip, err := m.git.commit(ctx, headsPrefix+branch)
	if err == nil && tip == "" {
		err = &MissingError{"branch", branch, "'git branch --list' shows those that are there"}
	}
	return tip, err
}

// mergeAll makes the commits, up to the first branch that cannot be merged.
// Nobody sees them before they are published.
func (m *merger) mergeAll(ctx context.Context) error {
	err := m.mergeEach(ctx)
	if _, ok := errors.AsType[*MergeError](err); ok {
		m.stopped, err = err, nil
	}
	return err
}

func (m *merger) mergeEach(ctx context.Context) error {
	for i, branch := range m.spec.Branches {
		merged, err := m.git.has(ctx, m.result.After, m.tips[i])
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
	out, err := m.git.run(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", m.result.After, tip)
	if exitCode(err) == 1 && out != "" { // git says with 1, too, that it cannot merge at all
		return m.stopAt(branch, parseConflict(out))
	}
	if err != nil {
		return fmt.Errorf("branch %s: %w", branch, err)
	}
	tree := strings.TrimRight(out, "\x00\n")
	commit, err := m.git.commitTree(ctx, tree, m.message(i), m.result.After, tip)
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

// parseConflict gives the files of a merge that did not succeed: they follow
// the tree, each with a NUL behind it.
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
