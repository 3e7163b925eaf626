package supervisor

import "errors"

// Sweep cannot be done on macOS: nothing tells what belongs to an attempt whose
// supervisor is gone.
func Sweep(string) (left []int, err error) {
	return nil, errors.New("on macOS the processes of an attempt cannot be found without its supervisor")
}

func sweepAttempt(attempt string, _ *group) (left []int, err error) { return Sweep(attempt) }

// Living cannot see other processes' environments here.
func Living() []Marked { return nil }

// SweepMarked cannot be done either.
func SweepMarked(string, string) (left []int, err error) {
	return nil, errors.New("on macOS the variables of other processes cannot be seen")
}
