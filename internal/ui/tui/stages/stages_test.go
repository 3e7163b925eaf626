package stages

import (
	"slices"
	"testing"

	"gaffer/fleet"
)

func TestStagesComeFromThePlanOrFromDependencies(t *testing.T) {
	tasks := []fleet.Task{{ID: "c", After: []string{"b"}}, {ID: "b", After: []string{"a", "gone"}}, {ID: "a"}}
	if got := Of(tasks); !slices.Equal(got, []int{3, 2, 1}) {
		t.Errorf("by dependencies: %v", got)
	}
	tasks = []fleet.Task{{ID: "a", Wave: 2}, {ID: "b", Wave: 1}}
	if got := Of(tasks); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("by waves: %v", got)
	}
	tasks = []fleet.Task{{ID: "a", After: []string{"b"}}, {ID: "b", After: []string{"a"}}}
	if got := Of(tasks); len(got) != 2 {
		t.Errorf("a cycle: %v", got)
	}
}
