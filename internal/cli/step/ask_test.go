package step

import (
	"os"
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

func TestAPipeIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if atTerminal(r) || atTerminal(null) || atTerminal(strings.NewReader("1")) {
		t.Error("taken for a terminal")
	}
}
