package step

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"gaffer/workflow"
)

var missing = &workflow.PrerequisiteError{
	Step: workflow.Interviewer, Missing: []workflow.Need{{workflow.StateOwnerScan}}, Next: workflow.StateOwnerScan,
}

func TestTheUserIsAskedUntilTheChoiceIsValid(t *testing.T) {
	for input, want := range map[string]int{
		"1\n": workflow.RunMissing, "yes\n 2 \n": workflow.Skip, "3\n": workflow.Abort, "": workflow.Abort, "9\n": workflow.Abort,
	} {
		var shown strings.Builder
		got, err := ask(t.Context(), strings.NewReader(input), &shown, missing)
		if err != nil || got != want {
			t.Errorf("%q: choice %d, %v, want %d", input, got, err, want)
		}
		if !strings.HasPrefix(shown.String(), missing.Error()+"\nChoose 1, 2 or 3: ") {
			t.Errorf("shown: %s", shown.String())
		}
	}
}

func TestAnInterruptedQuestionChoosesNothing(t *testing.T) {
	in, silent := io.Pipe()
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if choice, err := ask(ctx, in, io.Discard, missing); choice != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("choice %d, %v", choice, err)
	}
}
