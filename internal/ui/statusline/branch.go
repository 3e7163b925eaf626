package statusline

import "strings"

// shortCommit is how many characters of a commit id are shown.
const shortCommit = 7

// Branch returns the branch that the content of git's HEAD file names. If HEAD is detached, it
// returns the first characters of the commit id. It returns "" if the content names neither. That
// is also the case for the branch .invalid, which git writes into the file if it stores refs in
// another format.
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
