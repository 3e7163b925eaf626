package git

import (
	"strconv"
	"strings"
)

// FileDiff describes a file that differs between two trees. Binary files have neither
// insertions nor deletions.
type FileDiff struct {
	Path                  string // path as git has it; need not be valid UTF-8
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
		f.Insertions, _ = strconv.Atoi(added) // fails for a binary file, which has a dash here: then the number is 0
		f.Deletions, _ = strconv.Atoi(removed)
		list = append(list, f)
	}
	return list
}
