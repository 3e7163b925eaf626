package git

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"gaffer/internal/text/truncate"
)

// Heads is the prefix of the full names of branches.
const Heads = "refs/heads/"

// maxPart is the maximum length of one part of a ref's name, in bytes. A part becomes a file name,
// to which git may append a suffix such as ".lock".
const maxPart = 200

// RefPart converts an id to a part of a ref's name. It replaces each character that git rejects by
// a percent sign and two hex digits. If the result is too long, it replaces the end by a checksum
// of the id. So different ids give different names.
func RefPart(id string) string {
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

// Quote quotes a word for a shell if the word needs it.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
