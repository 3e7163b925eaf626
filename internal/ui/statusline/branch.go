package statusline

import "strings"

// shortCommit is how many characters of a commit id are shown.
const shortCommit = 7

// Branch returns the name of the current branch. head is the content of git's HEAD file. If HEAD is
// detached, Branch returns the first characters of the commit id. It returns "" if head contains
// neither a branch nor a commit id. It also returns "" for the branch .invalid: git writes this
// name into the file if it stores refs in the reftable format.
func Branch(head []byte) string {
	line, _, _ := strings.Cut(string(head), "\n")
	line = strings.TrimSpace(line)
	if ref, ok := strings.CutPrefix(line, "ref:"); ok {
		ref = strings.TrimSpace(ref)
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok && branch != ".invalid" {
			return branch
		}
		return ""
	}
	if len(line) < 40 || strings.Trim(line, "0123456789abcdef") != "" {
		return ""
	}
	return line[:shortCommit]
}
