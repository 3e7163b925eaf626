package browser

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSchedulesAreShownPausedAndRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/schedules")
	p.Sees("There are no schedules.", "gaffer schedule add")
	p.Accessible("no schedules")
	w.must(os.WriteFile(filepath.Join(w.dir, "plan.yaml"), []byte("name: nightly\ntasks: [{id: a, shell: 'true'}]\n"), 0o600))
	w.must(w.command("schedule", "add", "0 2 * * 1-5", "plan.yaml", "--tz", "Europe/Berlin").Run())
	p.Sees("nightly", "0 2 * * 1-5", "Europe/Berlin", "active")
	p.Click("Pause")
	p.Sees("nightly is paused.", "paused")
	p.Click("Resume")
	p.Sees("nightly continues.", "active")
	p.Click("Run now")
	p.Sees("A run of nightly has started.")
	p.Wait("the run is complete", `document.querySelector('.schedules .last .status')?.innerText.includes('complete')`)
	p.Accessible("schedules")
	p.looks("schedules")
	w.must(os.Remove(filepath.Join(w.dir, "plan.yaml")))
	p.Click("Run now")
	p.Sees("no run was started", "not started")
	p.harmless()
}
