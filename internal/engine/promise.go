package engine

import (
	"encoding/json"
	"strings"

	"gaffer/internal/engine/store"
)

// PromisedTo returns the run that a promise is for: who has a bead is known for
// as long as that run is there, and so is what its conductor has added. Any other
// promise is for whoever repeats a request, and for a while.
func PromisedTo(p store.Promise) (run string, bound bool) {
	operation, rest, _ := strings.Cut(p.Key, " ")
	switch operation {
	case "bead":
		var key store.TaskKey
		_ = json.Unmarshal(p.Answer, &key) // one that cannot be read is nobody's
		return key.Run, true
	case "extend":
		run, _, _ := strings.Cut(rest, " ")
		return run, true
	}
	return "", false
}
