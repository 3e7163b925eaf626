package change

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"gaffer/fleet"
	"gaffer/internal/attempt/snapshot"
	"gaffer/internal/git"
)

// Anchors returns, for each of the comments of a review, the lines of the change c at which the
// comment is shown. The result has the same order as the parameter comments. To find the commented
// lines, Anchors compares two git trees: the tree that the comment was written on, and the tree of
// the change. It ignores all versions of the files between these trees. So if lines were changed
// and then changed back, their comment stays at them.
//
//   - Lines that no hunk touches keep their comment. Their numbers are shifted by the hunks before
//     them.
//   - Lines of which only white space has changed keep their comment too.
//   - Lines that were moved are found by their text. If several places match equally well, the
//     lines count as not found.
//   - If the lines are not found, the comment is outdated and is shown at the hunk that changed
//     them.
//   - If the file is gone, is not text or is too large, the comment is outdated and belongs to the
//     file as a whole.
//
// A comment may be on the old side of the diff. The comment's field Tree is then either the tree of
// the change that the user saw, or the commit or tree with which that change was compared.
func (r *Reader) Anchors(ctx context.Context, c fleet.Change, comments []fleet.Comment) ([]fleet.Anchor, error) {
	kept, err := snapshot.List(ctx, r.repo, c.Run, c.Task)
	if err != nil {
		return nil, err
	}
	t := &tracker{Reader: r, lists: map[[2]string]map[string]fleet.ChangeFile{}, texts: map[[2]string][]string{}}
	anchors := make([]fleet.Anchor, 0, len(comments))
	for _, comment := range comments {
		a := fleet.Anchor{Comment: comment.ID, Path: comment.Path, Side: comment.Side, First: comment.First, Last: max(comment.First, comment.Last)}
		if comment.Path == "" {
			anchors = append(anchors, fleet.Anchor{Comment: comment.ID})
			continue
		}
		from, to := comment.Tree, c.Tree
		if comment.Side == fleet.OldSide {
			to = c.Base
			if i := slices.IndexFunc(kept, func(k snapshot.Snapshot) bool { return k.Tree == from }); i >= 0 {
				from = kept[i].Base
			}
			if f, ok := find(c.Files, comment.Path); ok && f.From != "" { // the old side of a renamed file has the old name
				a.Path = f.From
			}
		}
		oldName := a.Path
		if err := t.follow(ctx, &a, from, to, comment.Lines); err != nil {
			return nil, err
		}
		if a.Path == oldName {
			a.Path = comment.Path
		}
		anchors = append(anchors, a)
	}
	return anchors, nil
}

// tracker finds lines of one tree in another tree. It caches what it has read from git.
type tracker struct {
	*Reader
	lists map[[2]string]map[string]fleet.ChangeFile // files that differ between two trees, by their old path, for each pair of trees
	texts map[[2]string][]string                    // lines of a file, by tree and path
}

// follow moves an anchor, which is the place of a review comment, from oldTree to newTree. The
// parameter text holds the commented lines. If the repository no longer has oldTree, follow
// searches newTree for this text.
func (t *tracker) follow(ctx context.Context, a *fleet.Anchor, oldTree, newTree, text string) error {
	if oldTree == newTree {
		return nil
	}
	list, err := t.changed(ctx, oldTree, newTree)
	if isMissing(err) {
		return t.search(ctx, a, newTree, text)
	}
	if err != nil {
		return err
	}
	f, ok := list[a.Path]
	switch {
	case !ok: // the file has the same content in both trees
		return nil
	case f.Status == "deleted":
		a.First, a.Last, a.Outdated = 0, 0, true
		return nil
	}
	old, now := [2]string{oldTree, a.Path}, [2]string{newTree, f.Path}
	a.Path = f.Path
	if a.First < 1 || f.OldBlob == f.NewBlob {
		return nil
	}
	sizes, err := t.sizes(ctx, []string{f.OldBlob, f.NewBlob})
	if err != nil {
		return err
	}
	var hunks []*gitdiff.TextFragment
	if max(sizes[f.OldBlob], sizes[f.NewBlob]) <= maxBlob {
		hunks, err = t.fragments(ctx, oldTree, newTree, f, "-U0")
	} else {
		err = errBinary
	}
	if errors.Is(err, errBinary) { // not text or too large, so its lines cannot be followed
		a.First, a.Last, a.Outdated = 0, 0, true
		return nil
	}
	if err != nil {
		return err
	}
	if first, last, ok := shift(hunks, a.First, a.Last); ok {
		a.First, a.Last = first, last
		return nil
	}
	before, err := t.lines(ctx, old, f.OldBlob)
	if err != nil {
		return err
	}
	after, err := t.lines(ctx, now, f.NewBlob)
	if err != nil {
		return err
	}
	if a.Last <= len(before) {
		if at := moved(before, after, hunks, a.First, a.Last); at > 0 {
			a.First, a.Last = at, at+a.Last-a.First
			return nil
		}
	}
	indented, err := t.fragments(ctx, oldTree, newTree, f, "-U0", "-w")
	if err != nil {
		return err
	}
	if first, last, ok := shift(indented, a.First, a.Last); ok {
		a.First, a.Last = first, last
		return nil
	}
	a.First, a.Last = nearest(hunks, a.First, false), nearest(hunks, a.Last, true)
	a.First = min(max(a.First, 1), len(after))
	a.Last = min(max(a.Last, a.First), len(after))
	a.Outdated = true
	return nil
}

// search finds the lines of a review comment by their text alone. It is used if the repository no
// longer has the tree on which the comment was written. The parameter to is the id of the tree to
// search. If the text is not at exactly one place of the file, the comment is outdated and belongs
// to the file as a whole.
func (t *tracker) search(ctx context.Context, a *fleet.Anchor, to, text string) error {
	first, last := a.First, a.Last
	a.First, a.Last, a.Outdated = 0, 0, true
	out, err := t.repo.Inspect(ctx, "", "ls-tree", "-z", to, "--", a.Path)
	about := strings.Fields(out)
	if err != nil || len(about) < 3 || first < 1 || !isDistinctive(text) {
		if isGit(err) {
			err = nil
		}
		return err
	}
	after, err := t.lines(ctx, [2]string{to, a.Path}, about[2])
	if err != nil {
		return err
	}
	want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if found := occurrences(after, want); len(found) == 1 && len(want) == last-first+1 {
		a.First, a.Last, a.Outdated = found[0]+1, found[0]+len(want), false
	}
	return nil
}

// changed returns the files of oldTree that are changed, renamed or deleted in newTree, by their
// path in oldTree. It leaves out added and copied files, because they do not replace any file of
// oldTree.
func (t *tracker) changed(ctx context.Context, oldTree, newTree string) (map[string]fleet.ChangeFile, error) {
	if list, ok := t.lists[[2]string{oldTree, newTree}]; ok {
		return list, nil
	}
	if err := t.checkTree(ctx, oldTree); err != nil {
		return nil, err
	}
	files, err := t.list(ctx, oldTree, newTree)
	if err != nil {
		return nil, err
	}
	list := map[string]fleet.ChangeFile{}
	for _, f := range files {
		if f.Status != "copied" && f.Status != "added" {
			list[cmp.Or(f.From, f.Path)] = f
		}
	}
	t.lists[[2]string{oldTree, newTree}] = list
	return list, nil
}

func (t *tracker) lines(ctx context.Context, at [2]string, blob string) ([]string, error) {
	if lines, ok := t.texts[at]; ok {
		return lines, nil
	}
	data, err := t.Blob(ctx, blob)
	if isMissing(err) { // the path is a submodule, which has no text
		data, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(data) == 0 {
		lines = nil
	}
	t.texts[at] = lines
	return lines, nil
}

func isMissing(err error) bool {
	missing := (*git.MissingError)(nil)
	return errors.As(err, &missing)
}

// covers returns the first and the last old line that a hunk changes. The hunk must have no context
// lines. If the hunk only inserts lines after line n, covers returns the empty range from n+1 to n.
func covers(h *gitdiff.TextFragment) (first, last int) {
	if h.OldLines == 0 {
		return int(h.OldPosition) + 1, int(h.OldPosition)
	}
	return int(h.OldPosition), int(h.OldPosition + h.OldLines - 1)
}

// shift returns the new line numbers of the old lines first to last. It returns false if a hunk
// changes one of these lines, or inserts lines between them.
func shift(hunks []*gitdiff.TextFragment, first, last int) (newFirst, newLast int, ok bool) {
	by := 0
	for _, h := range hunks {
		from, to := covers(h)
		switch {
		case to < first && from <= first:
			by += int(h.NewLines - h.OldLines)
		case from > last:
		default:
			return 0, 0, false
		}
	}
	return first + by, last + by, true
}

// nearest returns the new line number of an old line. If a hunk has changed the line, nearest
// returns the first new line of that hunk or, if the parameter wantLast is true, the last one.
func nearest(hunks []*gitdiff.TextFragment, line int, wantLast bool) int {
	by := 0
	for _, h := range hunks {
		from, to := covers(h)
		switch {
		case to < line && from <= line:
			by += int(h.NewLines - h.OldLines)
		case from <= line && wantLast:
			return int(h.NewPosition + max(h.NewLines, 1) - 1)
		case from <= line:
			return int(h.NewPosition)
		}
	}
	return line + by
}

// moved searches the new version of a file for the text of the old lines first to last. It returns
// the new line number of the first of them. moved considers only places at which a hunk has added
// lines, because all other lines of the new version are unchanged old lines. If there are several
// places, it chooses the one with the most equal lines around it. It returns 0 in two cases:
//   - No place is found, or several places are equally good.
//   - The text has no letters or digits, and no line around it is equal.
func moved(before, after []string, hunks []*gitdiff.TextFragment, first, last int) int {
	want := before[first-1 : last]
	added := map[int]bool{}
	for _, h := range hunks {
		for n := range int(h.NewLines) {
			added[int(h.NewPosition)-1+n] = true
		}
	}
	best, score, several := 0, -1, false
	for _, at := range occurrences(after, want) {
		inHunk := false
		for n := range want {
			inHunk = inHunk || added[at+n]
		}
		if !inHunk {
			continue
		}
		same := 0
		const around = 3
		for n := 1; n <= around && first-1-n >= 0 && at-n >= 0 && before[first-1-n] == after[at-n]; n++ {
			same++
		}
		for n := 0; n < around && last+n < len(before) && at+len(want)+n < len(after) && before[last+n] == after[at+len(want)+n]; n++ {
			same++
		}
		switch {
		case same > score:
			best, score, several = at+1, same, false
		case same == score:
			several = true
		}
	}
	if several || score < 1 && !isDistinctive(strings.Join(want, "\n")) {
		return 0
	}
	return best
}

// occurrences returns the indexes in lines at which the sequence part begins.
func occurrences(lines, part []string) (found []int) {
	for at := 0; at+len(part) <= len(lines) && len(part) > 0; at++ {
		if slices.Equal(lines[at:at+len(part)], part) {
			found = append(found, at)
		}
	}
	return found
}

// isDistinctive reports whether a text contains a letter or a digit. A text of only brackets and
// other punctuation occurs in many places.
func isDistinctive(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}
