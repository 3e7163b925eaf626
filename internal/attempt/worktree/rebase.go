package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gaffer/internal/git"
)

// Rebased is the result of a rebase.
type Rebased struct {
	Before string   `json:"before"` // tip of the task's branch before and after
	After  string   `json:"after"`
	Base   git.Base `json:"base"`   // the new start of the branch
	Rescue string   `json:"rescue"` // the ref that keeps Before; empty if nothing changed
}

// Rebase copies the commits of a task's branch onto the tip of another branch, and moves
// the task's worktree there. It keeps the old commits under a rescue ref. It returns a
// [*MergeError] on a conflict, and an [*UnfinishedError] if the worktree has files that
// are not committed.
func (r *Repo) Rebase(ctx context.Context, t Tree, onto string) (done Rebased, err error) {
	if err := r.MayWrite(); err != nil {
		return done, err
	}
	err = r.Locked(ctx, func(g git.Client) error {
		rec, err := r.findRecord(t)
		if err != nil {
			return err
		}
		l := lander{LandSpec: LandSpec{Tree: rec.Tree, Into: onto}}
		l.repo, l.spec = r, MergeSpec{Into: onto, Branches: []string{rec.Branch}}
		if l.git, err = g.WithAuthor(ctx); err != nil {
			return err
		}
		for _, step := range []func(context.Context) error{l.resolve, l.settle} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		done.Before, done.Base = l.tips[0], git.Base{Commit: l.result.Before, Branch: onto}
		if done.After, err = l.replay(ctx, done.Base.Commit, done.Before); err != nil {
			return err
		}
		if done.After != done.Before {
			if done.Rescue, err = r.keep(ctx, l.git, rec.Tree, done.Before); err != nil {
				return err
			}
			if err := r.moveTree(ctx, l.git, rec.Tree, done); err != nil {
				return err
			}
		}
		rec.Base = done.Base // a repeated call does this if we crash before
		return r.save(rec)
	})
	if err != nil {
		return done, fmt.Errorf("rebase %s onto %s: %w", t.Branch, onto, err)
	}
	return done, nil
}

// moveTree moves a task's branch, together with its worktree if there is one.
func (r *Repo) moveTree(ctx context.Context, g git.Client, t Tree, to Rebased) error {
	at, err := r.at(g, t)
	if missing := (*git.MissingError)(nil); errors.As(err, &missing) {
		_, err := g.Run(ctx, "update-ref", "-m", "gaffer: rebase", git.Heads+t.Branch, to.After, to.Before)
		return err
	}
	if err != nil {
		return err
	}
	on, err := at.HeadBranch(ctx)
	if err != nil {
		return err
	}
	dirty, err := files(ctx, at)
	if err != nil {
		return err
	}
	if on != t.Branch || len(dirty) > 0 {
		e := &UnfinishedError{Tree: t, On: on}
		for _, f := range dirty {
			e.Files = append(e.Files, f.Path)
		}
		return e
	}
	_, err = at.Run(ctx, "reset", "--keep", "--quiet", to.After)
	return err
}

// Prospect says what a merge of a branch into another would do.
type Prospect struct {
	Tip       string   // of the branch; empty if it does not exist
	Merged    bool     // the target contains the branch, or its work under other commits
	Conflicts []string // the files with conflicts
}

// Prospects predicts merges of branches of a run into another branch, each alone. It
// changes nothing, and writes no objects to the repository.
func (r *Repo) Prospects(ctx context.Context, run, into string, branches []string) ([]Prospect, error) {
	dir, err := os.MkdirTemp("", "gaffer-worktree-")
	if err != nil {
		return nil, err
	}
	s := scratch{git: r.Git, dir: dir}
	defer s.close()
	if err := s.apart(r.Folder); err != nil {
		return nil, err
	}
	m := merger{repo: r, spec: MergeSpec{Into: into}, git: s.git}
	target, err := m.tip(ctx, into)
	if err != nil {
		return nil, err
	}
	landed, err := r.Landings(ctx, run)
	if err != nil {
		return nil, err
	}
	g, err := s.git.WithAuthor(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Prospect, len(branches))
	for i, branch := range branches {
		p := &list[i]
		if p.Tip, err = g.CommitID(ctx, git.Heads+branch); err != nil {
			return nil, err
		}
		if p.Tip == "" {
			continue
		}
		if p.Merged, err = g.Contains(ctx, target, p.Tip); err != nil {
			return nil, err
		}
		l := lander{LandSpec: LandSpec{Tree: Tree{Branch: branch}, Into: into}, merger: merger{repo: r, git: g, spec: MergeSpec{Into: into}}}
		for _, e := range landed {
			if e.Into != into || !e.Present {
				continue
			}
			if e.Tip == p.Tip {
				p.Merged = true
			} else if has, err := g.Contains(ctx, p.Tip, e.Tip); err != nil {
				return nil, err
			} else if has {
				l.before = append(l.before, e.Tip)
			}
		}
		if p.Merged {
			continue
		}
		ours, err := l.bridge(ctx, target)
		if err != nil {
			return nil, err
		}
		if _, p.Conflicts, err = mergeTrees(ctx, g, ours, p.Tip); err != nil {
			return nil, fmt.Errorf("branch %s: %w", branch, err)
		}
	}
	return list, nil
}
