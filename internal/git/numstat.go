package git

import (
	"strconv"
	"strings"
)

// FileDiff describes a file that differs between two trees. Binary files have neither
// insertions nor deletions.
type FileDiff struct {
	Path                  string // path as git prints it; need not be valid UTF-8
	Insertions, Deletions int
}

// ParseNumstat parses the output of git diff-tree -z --numstat.
func ParseNumstat(out string) (list []FileDiff) {
	for line := range strings.SplitSeq(out, "\x00") {
		added, rest, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		removed, path, _ := strings.Cut(rest, "\t")
		f := FileDiff{Path: path}
		// For a binary file, git prints a dash instead of each number. Then the numbers stay 0.
		f.Insertions, _ = strconv.Atoi(added)
		f.Deletions, _ = strconv.Atoi(removed)
		list = append(list, f)
	}
	return list
}
