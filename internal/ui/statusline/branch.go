package statusline

import "strings"

// shortCommit is how much of a commit's name is shown.
const shortCommit = 7

// Branch is the branch that git's HEAD names, or the beginning of the commit if
// it names none. Where git keeps branches in another way, HEAD names .invalid.
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
