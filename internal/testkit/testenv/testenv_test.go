package testenv

import (
	"errors"
	"os"
	"testing"
)

func TestWaitEndsWhenTheCheckHolds(t *testing.T) {
	calls := 0
	Wait(t, "three calls", func() error {
		if calls++; calls < 3 {
			return errors.New("too few")
		}
		return nil
	})
	if calls != 3 {
		t.Errorf("check was called %d times, want 3", calls)
	}
}

func TestProveRunsTheLongVersion(t *testing.T) {
	t.Setenv(proveVar, "1")
	if n := Count(1, 2, 3); n != 3 {
		t.Errorf("Count = %d with %s set, want 3", n, proveVar)
	}
}

func TestProgramIsTheOneThatTheScriptsBuilt(t *testing.T) {
	if os.Getenv(programVar) == "" {
		t.Setenv(programVar, os.Args[0])
	}
	if got := Program(t); got != os.Getenv(programVar) {
		t.Errorf("Program = %s, want %s", got, os.Getenv(programVar))
	}
}
