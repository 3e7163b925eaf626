package supervisor

import "errors"

// Sweep always fails: on macOS the processes of an attempt cannot be found without its
// supervisor.
func Sweep(string) (left []int, err error) {
	return nil, errors.New("on macOS the processes of an attempt cannot be found without its supervisor")
}

func sweepAttempt(attempt string, _ supervisorRecord) (left []int, err error) { return Sweep(attempt) }

// ListMarked returns nothing: on macOS gaffer cannot search the environment of other processes.
func ListMarked() ([]Marked, error) { return nil, nil }

// SweepMarked always fails: on macOS gaffer cannot search the environment of other processes.
func SweepMarked(string, string) (left []int, err error) {
	return nil, errors.New("on macOS the variables of other processes cannot be seen")
}
