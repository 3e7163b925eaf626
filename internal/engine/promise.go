package engine

import (
	"encoding/json"
	"strings"

	"gaffer/internal/engine/store"
)

// IdempotencyRecordRun returns the run that an idempotency record belongs to. Records of a bead's
// holder and of tasks added by a conductor must live as long as that run. For any other
// record bound is false: it only serves repeated requests and may expire.
func IdempotencyRecordRun(p store.IdempotencyRecord) (run string, bound bool) {
	operation, rest, _ := strings.Cut(p.Key, " ")
	switch operation {
	case "bead":
		var key store.TaskKey
		_ = json.Unmarshal(p.Answer, &key) // an unreadable answer belongs to no run
		return key.Run, true
	case "extend":
		run, _, _ := strings.Cut(rest, " ")
		return run, true
	}
	return "", false
}
