package app_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/plan"
)

// A process that finds an owner of a run does not start another process. So the owner must check
// the run once more after it has released it.
func TestATaskThatIsRetriedJustBeforeItsRunIsReleasedIsWorkedOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var id string
	var once sync.Once
	retried := error(nil)
	a := p.open()
	defer func() { _ = a.Close() }()
	p.notices.each = func(string) { // called for the notice about the box, which is printed after the run's end and before its release
		once.Do(func() {
			if r, err := a.Fleet.Run(t.Context(), id); err != nil || r.Status != fleet.Failed || !r.Owner.Alive {
				t.Errorf("when it is retried the run is %s, owned by %+v, %v; want one that has failed and has an owner", r.Status, r.Owner, err)
			}
			retried = a.Fleet.Retry(t.Context(), id, "again")
		})
	}
	box := filepath.Join(p.root, "boxes.md") // a folder, so the checkbox cannot be ticked
	if err := os.Mkdir(box, 0o700); err != nil {
		t.Fatal(err)
	}
	ticked := shell("ticked", "true")
	ticked.CheckboxFile = box
	id, err := a.Submit(t.Context(), plan.Plan{Name: "test", Source: plan.SourceOrchestrate, Tasks: []plan.Task{
		ticked, shell("again", "echo x >> ran; test $(wc -l < ran) = 2"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Runs.Work(t.Context(), id)
	if err != nil || retried != nil {
		t.Fatal(err, retried)
	}
	if r.Status != fleet.Complete {
		t.Errorf("the run is %s when the work on it is over, want complete", r.Status)
	}
}
