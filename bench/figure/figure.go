// Package figure defines the format in which the benchmark commands write their results: one JSON
// object per line. The command bench/page makes docs/benchmarks.md and docs/scale.md from them.
package figure

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Kind is the role of a program in a comparison.
type Kind string

// The kinds of programs. A program of the kind Limit does only the least work that any program must
// do.
const (
	Gaffer Kind = "gaffer"
	Other  Kind = "other"
	Limit  Kind = "limit"
)

// Figure is one measured value, or a note about a value that is missing.
type Figure struct {
	Measure string  `json:"measure"` // what was measured, such as "idle.memory"; bench/page describes it
	Program string  `json:"program"`
	Kind    Kind    `json:"kind"`
	Size    int     `json:"size,omitempty"` // size of the workload, such as the number of tasks; 0 if none
	Value   float64 `json:"value"`
	Note    string  `json:"note,omitempty"` // why Value is missing; empty if Value was measured
}

// Append adds figures to a file. It does nothing if the path is empty.
func Append(path string, figures ...Figure) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := json.NewEncoder(f)
	for _, one := range figures {
		if err := lines.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// Read reads figures, one on each line. A figure of an unknown kind is an error.
func Read(r io.Reader) (list []Figure, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		var f Figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch f.Kind {
		case Gaffer, Other, Limit:
		default:
			return nil, fmt.Errorf("line %d: kind %q: want gaffer, other or limit", n, f.Kind)
		}
		list = append(list, f)
	}
	return list, lines.Err()
}
