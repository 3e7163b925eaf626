package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// specs caches decoded task specifications. The specification of a task is needed when a client
// claims the task, and again when the client reports the end of the task. The zero value is ready
// to use. It is safe for concurrent use.
type specs struct {
	mu    sync.Mutex
	tasks map[store.TaskKey]readSpec
}

type readSpec struct {
	text json.RawMessage
	spec spec
}

const (
	maxSpecs = 4096    // the cache is emptied when it has this many specs
	longSpec = 8 << 10 // specs with more bytes than this are not cached
)

// of returns the decoded specification of a task. It uses the cached value only if that was decoded
// from the JSON text that the task has now.
func (s *specs) of(t store.Task) (spec, error) {
	s.mu.Lock()
	known, ok := s.tasks[t.TaskKey]
	s.mu.Unlock()
	if ok && bytes.Equal(known.text, t.Spec) {
		return known.spec, nil
	}
	read, err := specOf(t)
	if err != nil || len(t.Spec) > longSpec {
		return read, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks == nil || len(s.tasks) >= maxSpecs {
		s.tasks = map[store.TaskKey]readSpec{}
	}
	s.tasks[t.TaskKey] = readSpec{t.Spec, read}
	return read, nil
}

func specOf(t store.Task) (s spec, err error) {
	task, err := plan.DecodeTask(t.Spec)
	if err == nil && len(task.Step) > 0 {
		err = json.Unmarshal(task.Step, &s.Step)
	}
	s.Name, s.Prompt = task.Name, task.Prompt
	if err != nil {
		return s, fmt.Errorf("stored task %s: %w", wireID(t.TaskKey), err)
	}
	return s, nil
}
