package worktree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"gaffer/statefile"
)

const (
	headsPrefix  = "refs/heads/"
	rescuePrefix = "refs/gaffer/rescue/"
)

// maxPart leaves room for what git puts around a part of a ref's name, which
// becomes the name of a file.
const maxPart = 200

// refPart makes an id a part of a ref's name. What git refuses there is written
// as a percent sign and two digits, so that two ids never become one.
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
	return cut(b.String(), maxPart-14) + fmt.Sprintf("%%-%x", sha256.Sum256([]byte(id)))[:14]
}

func refused(id string, i int) bool {
	if id[i] == '.' {
		return i == len(id)-1 || i > 0 && id[i-1] == '.' || id[i:] == ".lock"
	}
	return strings.IndexByte(" ~^:?*[\\{%", id[i]) >= 0
}

// cut keeps at most n bytes and no half character.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// BranchOf is the branch of a task that names none.
func BranchOf(run, task string) string {
	return "gaffer/" + refPart(run) + "/" + refPart(task)
}

// checkIDs says whether the ids may be names of folders.
func checkIDs(run, task string) error {
	if err := statefile.CheckName("run", run); err != nil {
		return err
	}
	return statefile.CheckName("task", task)
}

// checkBranch lets git say whether a branch may have a name.
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

// Quote makes a word safe for a shell.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
