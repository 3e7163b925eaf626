package step

import (
	"strings"
	"testing"

	"gaffer/workflow"
)

func TestAPersonIsAskedUntilTheyChoose(t *testing.T) {
	missing := &workflow.PrerequisiteError{
		Step: workflow.Interviewer, Missing: []workflow.Need{{workflow.StateOwnerScan}}, Next: workflow.StateOwnerScan,
	}
	for input, want := range map[string]int{
		"1\n": workflow.RunMissing, "yes\n 2 \n": workflow.Skip, "3\n": workflow.Abort, "": workflow.Abort, "9\n": workflow.Abort,
	} {
		var shown strings.Builder
		if got := ask(strings.NewReader(input), &shown, missing); got != want {
			t.Errorf("%q: choice %d, want %d", input, got, want)
		}
		if !strings.HasPrefix(shown.String(), missing.Error()+"\nChoose 1, 2 or 3: ") {
			t.Errorf("shown: %s", shown.String())
		}
	}
}
