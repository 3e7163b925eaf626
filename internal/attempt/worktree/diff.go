package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// FileDiff is a file that is different from the base. A binary file has neither
// insertions nor deletions.
type FileDiff struct {
	Path                  string // as git has it, which need not be text
	Insertions, Deletions int
}

// Diff lists what is different in the tree of a task from the commit that its
// branch started from, counting what is not committed and not ignored, by path. It
// changes nothing, and reports false of a task that has no tree, or none any more.
func (r *Repo) Diff(ctx context.Context, run, task string) (list []FileDiff, there bool, err error) {
	rec, err := r.read(run, task)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	list, err = r.differences(ctx, rec.Tree)
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("diff of %s: %w", rec.Path, err)
	}
	return list, true, nil
}

func (r *Repo) differences(ctx context.Context, t Tree) ([]FileDiff, error) {
	g, err := r.at(r.git, t)
	if err != nil {
		return nil, err
	}
	dirty, err := files(ctx, g)
	if err != nil {
		return nil, err
	}
	inner, err := nested(ctx, g, dirty)
	if err != nil {
		return nil, err
	}
	return r.compare(ctx, g, t, inner)
}

// compare compares all files with the base. What it has to write for that is
// thrown away.
func (r *Repo) compare(ctx context.Context, g git, t Tree, without []string) ([]FileDiff, error) {
	s, err := newScratch(ctx, g)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.apart(r.common); err != nil {
		return nil, err
	}
	snap, err := s.take(ctx, without)
	if err != nil {
		return nil, err
	}
	out, err := s.git.run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", t.Base.Commit, snap.tree)
	return parseNumstat(out), err
}

func parseNumstat(out string) (list []FileDiff) {
	for line := range strings.SplitSeq(out, "\x00") {
		added, rest, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		removed, path, _ := strings.Cut(rest, "\t")
		f := FileDiff{Path: path}
		f.Insertions, _ = strconv.Atoi(added) // a dash for a binary file
		f.Deletions, _ = strconv.Atoi(removed)
		list = append(list, f)
	}
	return list
}
