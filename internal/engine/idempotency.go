package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/engine/store"
)

// IdempotencyRecordRun returns the id of the run to which an idempotency record belongs. bound is
// true if the record must be kept as long as that run. There are two kinds of such records. One
// stores that a conductor, a program that adds tasks to a run, has added tasks. The other stores
// which task was queued last for a work item, such as an issue. If bound is false, the record
// belongs to no run. It only keeps an operation from running twice, and may be deleted when it is
// old.
func IdempotencyRecordRun(p store.IdempotencyRecord) (run string, bound bool) {
	operation, rest, _ := strings.Cut(p.Key, " ")
	switch operation {
	case "bead", "item":
		var key store.TaskKey
		_ = json.Unmarshal(p.Answer, &key) // if this fails, the returned run id is empty
		return key.Run, true
	case "extend":
		run, _, _ := strings.Cut(rest, " ")
		return run, true
	}
	return "", false
}

// once makes an operation idempotent. The first call with a key runs fn and stores its answer.
// Later calls with the same key return the stored answer and do not run fn. An answer whose JSON is
// null is not stored. If key is empty, fn always runs.
func once[A any](c *txContext, operation, key string, fn func() (A, error)) (A, error) {
	if key == "" {
		return fn()
	}
	before, err := c.IdempotencyRecord(operation + " " + key)
	if err == nil {
		return storedAnswer[A](before)
	}
	var answer A
	if !errors.Is(err, store.ErrNotFound) {
		return answer, err
	}
	if answer, err = fn(); err != nil {
		return answer, err
	}
	return answer, storeAnswer(c, operation, key, answer)
}

// storedAnswer decodes the stored answer of an idempotency record.
func storedAnswer[A any](p store.IdempotencyRecord) (answer A, err error) {
	return answer, json.Unmarshal(p.Answer, &answer)
}

// storeAnswer stores an answer in an idempotency record, for later requests with the same
// key. An answer whose JSON is null is not stored.
func storeAnswer[A any](c *txContext, operation, key string, answer A) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if string(text) != "null" {
		c.PutIdempotencyRecord(store.IdempotencyRecord{Key: operation + " " + key, Answer: text, Made: c.now})
	}
	return nil
}
