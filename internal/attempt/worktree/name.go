package worktree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"gaffer/internal/text/truncate"
	"gaffer/statefile"
)

const (
	headsPrefix  = "refs/heads/"
	rescuePrefix = "refs/gaffer/rescue/"
)

// maxPart is the longest part of a ref's name, in bytes. A part becomes a file name,
// and git adds to it.
const maxPart = 200

// refPart converts an id to a part of a ref's name. Characters that git rejects become
// a percent sign and two hex digits, so that different ids stay different.
func refPart(id string) string {
	var b strings.Builder
	for i := 0; i < len(id); i++ {
		if refused(id, i) {
			fmt.Fprintf(&b, "%%%02X", id[i])
		} else {
			b.WriteByte(id[i])
		}
	}
	if b.Len() <= maxPart {
		return b.String()
	}
	return truncate.Head(b.String(), maxPart-14) + fmt.Sprintf("%%-%x", sha256.Sum256([]byte(id)))[:14]
}

func refused(id string, i int) bool {
	if id[i] == '.' {
		return i == len(id)-1 || i > 0 && id[i-1] == '.' || id[i:] == ".lock"
	}
	return strings.IndexByte(" ~^:?*[\\{%", id[i]) >= 0
}

// BranchOf returns the default branch of a task.
func BranchOf(run, task string) string {
	return "gaffer/" + refPart(run) + "/" + refPart(task)
}

// checkIDs returns an error if the ids are not valid folder names.
func checkIDs(run, task string) error {
	if err := statefile.CheckName("run", run); err != nil {
		return err
	}
	return statefile.CheckName("task", task)
}

// checkBranch returns an error if git does not accept the name of a branch.
func (g git) checkBranch(ctx context.Context, name string) error {
	bad := name == "HEAD" || strings.HasPrefix(name, "-")
	if !bad {
		_, err := g.run(ctx, "check-ref-format", headsPrefix+name)
		if exitCode(err) < 0 && err != nil {
			return err
		}
		bad = err != nil
	}
	if bad {
		return &SpecError{Problem: fmt.Sprintf("%q cannot be the name of a branch", name)}
	}
	return nil
}

// Quote quotes a word for a shell if necessary.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
