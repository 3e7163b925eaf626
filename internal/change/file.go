package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"gaffer/fleet"
	"gaffer/internal/git"
	"gaffer/internal/text/truncate"
)

// Options select what is shown of a changed file.
type Options struct {
	Context int    // number of unchanged lines around a hunk; 0 means 3
	From    string // id of the tree to compare with; empty means the commit on which the change is based
}

const usualContext = 3

// File returns the diff of one file of a change. The parameter path may have U+FFFD in place of
// bytes that are not UTF-8, like a path that was read from JSON. The diff of a binary file has no
// hunks. If the file, one of its lines or the diff is too large, the result has no hunks either,
// and its field TooLarge says why. File returns a [*git.MissingError] if the change does not have
// the file.
func (r *Reader) File(ctx context.Context, c fleet.Change, path string, o Options) (fleet.FileChange, error) {
	files := c.Files
	if o.From != "" {
		since, err := r.Since(ctx, c, o.From)
		if err != nil {
			return fleet.FileChange{}, err
		}
		files = since.Files
	}
	found, ok := find(files, path)
	if !ok {
		return fleet.FileChange{}, &git.MissingError{What: "file of the change", Name: truncate.Bytes(path, 300), Advice: "'gaffer diff TASK --stat' lists the files"}
	}
	f := fleet.FileChange{ChangeFile: found}
	// A binary file, or a file of which only the name or mode differs, has no lines to show.
	if f.Binary || f.OldBlob == f.NewBlob {
		return f, nil
	}
	sizes, err := r.sizes(ctx, []string{f.OldBlob, f.NewBlob})
	if err != nil {
		return f, err
	}
	from := cmp.Or(o.From, c.Base)
	if size := max(sizes[f.OldBlob], sizes[f.NewBlob]); size > maxBlob {
		f.TooLarge = fmt.Sprintf("the file has %d MB; %d MB are shown at most", (size+1<<20-1)>>20, maxBlob>>20)
		return f, nil
	}
	fragments, err := r.fragments(ctx, from, c.Tree, found, "-U"+strconv.Itoa(cmp.Or(max(o.Context, 0), usualContext)))
	if err != nil {
		return f, err
	}
	added, removed, lines := 0, 0, 0
	for _, fragment := range fragments {
		h := hunkOf(fragment)
		for _, line := range h.Lines {
			if len(line.Text) > maxLineBytes {
				f.TooLarge = fmt.Sprintf("a line has %d bytes; lines of at most %d are shown", len(line.Text), maxLineBytes)
			}
		}
		added, removed, lines = added+int(fragment.LinesAdded), removed+int(fragment.LinesDeleted), lines+len(h.Lines)
		f.Hunks = append(f.Hunks, h)
	}
	if lines > maxDiffLines && f.TooLarge == "" {
		f.TooLarge = fmt.Sprintf("the diff has %d lines; at most %d are shown", lines, maxDiffLines)
	}
	if f.TooLarge != "" {
		f.Hunks = nil
		return f, nil
	}
	// Do not return an incomplete diff, whose hunks lack some of the lines that git has counted.
	if added != f.Added || removed != f.Removed {
		return f, fmt.Errorf("diff of %s: git counts +%d -%d lines, and its diff has +%d -%d", found.Path, f.Added, f.Removed, added, removed)
	}
	return f, nil
}

func find(files []fleet.ChangeFile, path string) (found fleet.ChangeFile, ok bool) {
	for _, f := range files {
		if f.Path == path {
			return f, true
		}
		if strings.ToValidUTF8(f.Path, "\uFFFD") == path || jsonText(f.Path) == path {
			found, ok = f, true
		}
	}
	return found, ok
}

// jsonText replaces each byte of text that is not UTF-8 by U+FFFD, as a JSON decoder does.
func jsonText(text string) string { return string([]rune(text)) }

// errBinary reports that a file is not text and so has no lines.
var errBinary = errors.New("the file is not text")

// fragments returns the hunks of a file in the diff between two trees or commits. The parameter
// args holds further arguments for git diff-tree. fragments returns errBinary if the file is not
// text.
func (r *Reader) fragments(ctx context.Context, from, to string, f fleet.ChangeFile, args ...string) ([]*gitdiff.TextFragment, error) {
	args = append(args, "-p", from, to, "--", ":(top,literal)"+f.Path)
	if f.From != "" {
		args = append(args, ":(top,literal)"+f.From)
	}
	out, err := r.repo.Inspect(ctx, "", diffTree(args...)...)
	if err != nil {
		return nil, err
	}
	files, _, err := gitdiff.Parse(strings.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("diff of %s: %w", f.Path, err)
	}
	// Check that all files were parsed: git prints a line "diff --git …" for each file. No line of
	// a file's content begins like that, because git puts a space, + or - before it.
	want := strings.Count("\n"+out, "\ndiff --git ")
	if len(files) != want {
		return nil, fmt.Errorf("diff of %s: %d files were read of %d", f.Path, len(files), want)
	}
	var all []*gitdiff.TextFragment
	// If the type of a file has changed, for example to a symbolic link, its diff has two parts.
	for _, part := range files {
		if part.NewName == f.Path || part.IsDelete && part.OldName == f.Path {
			if part.IsBinary {
				return nil, errBinary
			}
			all = append(all, part.TextFragments...)
		}
	}
	return all, nil
}

func hunkOf(fragment *gitdiff.TextFragment) fleet.Hunk {
	h := fleet.Hunk{
		OldFirst: int(fragment.OldPosition), OldLines: int(fragment.OldLines), NewFirst: int(fragment.NewPosition), NewLines: int(fragment.NewLines),
		Section: fragment.Comment, Lines: make([]fleet.DiffLine, 0, len(fragment.Lines)),
	}
	if h.OldLines == 0 {
		h.OldFirst = 0
	}
	if h.NewLines == 0 {
		h.NewFirst = 0
	}
	for _, line := range fragment.Lines {
		h.Lines = append(h.Lines, fleet.DiffLine{Op: line.Op.String(), Text: strings.TrimSuffix(line.Line, "\n"), NoEOL: line.NoEOL()})
	}
	return h
}

// Blob returns the content of the blob with this id. It returns a [*LargeError] if the content is
// too large to be shown, and a [*git.MissingError] if there is no such blob.
func (r *Reader) Blob(ctx context.Context, id string) ([]byte, error) {
	if !git.IsID(id) {
		return nil, &git.MissingError{What: "blob", Name: truncate.Bytes(id, 70), Advice: "want the id of a file of the change"}
	}
	sizes, err := r.sizes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	size, ok := sizes[id]
	if !ok {
		return nil, &git.MissingError{What: "blob", Name: id, Advice: "the repository does not have it any more"}
	}
	if size > maxBlob {
		return nil, &LargeError{size}
	}
	out, err := r.repo.Inspect(ctx, "", "cat-file", "blob", id)
	return []byte(out), err
}

// Has reports whether blob is the id of the old or new content of a changed file in one of the
// task's snapshots.
func (r *Reader) Has(ctx context.Context, run, task, blob string) (bool, error) {
	list, err := r.keptAndAttempts(ctx, run, task)
	if err != nil {
		return false, err
	}
	for _, kept := range list {
		files, err := r.list(ctx, kept.Base, kept.Tree)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(files, func(f fleet.ChangeFile) bool { return f.OldBlob == blob || f.NewBlob == blob }) {
			return true, nil
		}
	}
	return false, nil
}

// LargeError reports a file that is too large to be shown.
type LargeError struct{ Size int64 }

func (e *LargeError) Error() string {
	return fmt.Sprintf("the file has %d bytes; %d MB are shown at most", e.Size, maxBlob>>20)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *LargeError) Conflict() bool { return true }

// Code returns the name of this kind of error, which programs can compare.
func (e *LargeError) Code() string { return "too_large" }
