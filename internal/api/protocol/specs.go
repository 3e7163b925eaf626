package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"gaffer/internal/engine/store"
)

// specs remembers what was read of the specs of tasks: whoever claims a task asks
// for it again when it is done. The zero value is ready, and it is safe for
// concurrent use.
type specs struct {
	mu    sync.Mutex
	tasks map[store.TaskKey]readSpec
}

type readSpec struct {
	text json.RawMessage
	spec spec
}

const (
	maxSpecs = 4096    // that are remembered
	longSpec = 8 << 10 // bytes, of one that is not
)

// of returns what the service has put into the spec of a task. A spec may have become
// another since it was read.
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
	if err := json.Unmarshal(t.Spec, &s); err != nil {
		return s, fmt.Errorf("stored task %s: %w", wireID(t.TaskKey), err)
	}
	return s, nil
}
