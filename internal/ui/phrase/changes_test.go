package phrase

import (
	"testing"

	"gaffer/fleet"
)

func TestChangesAreCountedByWhatIsNext(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]fleet.Changes{
		"": {},
		"5 changes: 3 ready to merge, 1 with comments, 1 conflicts with main": {Total: 5, Ready: 3, Commented: 1, Conflicts: 1, Into: "main"},
		"2 changes: 2 conflict with their branches":                           {Total: 2, Conflicts: 2},
		"4 changes: 1 sent back, 1 merged, 1 discarded, 1 not examined":       {Total: 4, SentBack: 1, Merged: 1, Discarded: 1, Unknown: 1},
		"1 change: 1 conflicts with its branch":                               {Total: 1, Conflicts: 1},
	} {
		if got := Changes(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
