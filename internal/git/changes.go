package git

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"gaffer/internal/text/truncate"
)

// maxSubject is the maximum length of a commit subject, in bytes. Longer subjects are cut.
const maxSubject = 200

// Changes returns the commits that were made on a branch since the commit base, and the files that
// they change. It leaves out commits that came into the branch by a merge. The merge commit itself
// is included if its result differs from git's automatic merge, for example because it resolves a
// conflict. Files are sorted by name; a name need not be valid UTF-8. Commits have the form
// "abc1234 - subject", oldest first. If the branch does not exist, Changes returns nothing.
func (r *Repo) Changes(ctx context.Context, base, branch string) (files, commits []string, err error) {
	tip, err := r.Git.CommitID(ctx, Heads+branch)
	if err != nil || tip == "" {
		return nil, nil, err
	}
	from, err := r.Git.CommitID(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	if from == "" {
		return nil, nil, &MissingError{"commit", base, ""}
	}
	out, err := r.Git.Run(ctx, "rev-list", "--first-parent", "--reverse",
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
			commits = append(commits, CleanSubject(text))
			continue
		}
		changed, err := r.Git.Run(ctx, "show", "--remerge-diff", "-z", "--no-renames", "--no-ext-diff", "--name-only",
			"--no-color", "--no-show-signature", "--format=", id)
		if err != nil {
			return nil, nil, err
		}
		if changed != "" {
			names.WriteString(changed)
			commits = append(commits, CleanSubject(text))
		}
	}
	out, err = r.Git.Feed(ctx, ids.String(), "diff-tree", "--stdin", "--root", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id")
	if err != nil {
		return nil, nil, err
	}
	return distinct(names.String() + out), commits, nil
}

// CleanSubject makes a commit subject safe for a document: it is valid UTF-8, one line, and at most
// maxSubject bytes.
func CleanSubject(text string) string {
	return truncate.Bytes(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "�")), maxSubject)
}

// distinct sorts a NUL-separated list of names and removes duplicates.
func distinct(out string) []string {
	all := strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
	slices.Sort(all)
	return slices.Compact(all)
}
