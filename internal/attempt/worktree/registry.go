package worktree

import (
	"context"
	"slices"
	"strings"
)

// entry is a worktree in git's list.
type entry struct {
	path   string
	head   string // empty if there is no commit
	branch string // without refs/heads/; empty if detached
	locked bool
	reason string // reason of the lock
}

// initializing is the reason of git's own lock on a worktree that it is creating.
const initializing = "initializing"

// entries lists the worktrees, the main one first.
func (r *Repo) entries(ctx context.Context, g git) ([]entry, error) {
	out, err := g.run(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	list := parseEntries(out)
	if len(list) > 0 {
		list[0].path = r.main // git reports its git folder instead if that is elsewhere
	}
	return list, nil
}

func parseEntries(out string) []entry {
	var list []entry
	for block := range strings.SplitSeq(out, "\x00\x00") {
		var e entry
		for line := range strings.SplitSeq(block, "\x00") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				e.path = value
			case "HEAD":
				e.head = strings.Trim(value, "0")
				if e.head != "" {
					e.head = value
				}
			case "branch":
				e.branch = strings.TrimPrefix(value, headsPrefix)
			case "locked":
				e.locked, e.reason = true, value
			}
		}
		if e.path != "" {
			list = append(list, e)
		}
	}
	return list
}

// linked returns the linked worktree with that path.
func linked(list []entry, path string) (entry, bool) {
	for i, e := range list {
		if i > 0 && e.path == path {
			return e, true
		}
	}
	return entry{}, false
}

// holders returns the worktrees that have a branch checked out.
func holders(list []entry, branch string) []entry {
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.branch != branch })
}
