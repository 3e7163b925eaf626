package worktree

import (
	"context"
	"slices"
	"strings"
	"unicode"
)

// maxSubject is what is told of a commit's subject, in bytes.
const maxSubject = 200

// Changes returns what a branch has done by itself since a commit, without what
// was merged into it: the files, sorted and with the names that git has, which
// need not be text; and the commits as "abc1234 - subject", the oldest first. A
// merge is among them if its result differs from what git makes of it alone:
// then it resolves a conflict, or changes something else. Of a branch that is not
// there it returns nothing.
func (r *Repo) Changes(ctx context.Context, base, branch string) (files, commits []string, err error) {
	tip, err := r.git.commit(ctx, headsPrefix+branch)
	if err != nil || tip == "" {
		return nil, nil, err
	}
	from, err := r.git.commit(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	if from == "" {
		return nil, nil, &MissingError{"commit", base, ""}
	}
	out, err := r.git.run(ctx, "rev-list", "--first-parent", "--reverse",
		"--no-commit-header", "--abbrev=7", "--encoding=UTF-8", "--format=%P%x09%H %h - %s", tip, "--not", from)
	if err != nil {
		return nil, nil, err
	}
	var names, ids strings.Builder
	for line := range strings.Lines(out) {
		parents, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		id, text, _ := strings.Cut(text, " ")
		if !strings.Contains(parents, " ") {
			ids.WriteString(id + "\n")
			commits = append(commits, oneLine(text))
			continue
		}
		changed, err := r.git.run(ctx, "show", "--remerge-diff", "-z", "--no-renames", "--no-ext-diff", "--name-only",
			"--no-color", "--no-show-signature", "--format=", id)
		if err != nil {
			return nil, nil, err
		}
		if changed != "" {
			names.WriteString(changed)
			commits = append(commits, oneLine(text))
		}
	}
	out, err = r.git.feed(ctx, ids.String(), "diff-tree", "--stdin", "--root", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id")
	if err != nil {
		return nil, nil, err
	}
	return distinct(names.String() + out), commits, nil
}

// oneLine makes what anybody may have written fit for a document.
func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "�"))
	if len(text) > maxSubject {
		text = cut(text, maxSubject) + "…"
	}
	return text
}

// distinct sorts names that are separated by NUL.
func distinct(out string) []string {
	all := strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
	slices.Sort(all)
	return slices.Compact(all)
}

// Contains tells whether a branch has a commit. One that is not there has none.
func (r *Repo) Contains(ctx context.Context, branch, commit string) (bool, error) {
	tip, err := r.git.commit(ctx, headsPrefix+branch)
	if err != nil || tip == "" {
		return false, err
	}
	return r.git.has(ctx, tip, commit)
}
