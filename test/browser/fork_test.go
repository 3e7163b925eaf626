package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
)

// A task that a worker has done is forked on its page. The worker that has the conversation takes
// the new task.
func TestATaskIsForkedOnItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.WriteFile(filepath.Join(w.dir, "list.txt"), []byte("one\n"), 0o600))
	for _, args := range [][]string{{"config", "user.name", "t"}, {"config", "user.email", "t@example.com"}, {"add", "--all"}, {"commit", "--quiet", "-m", "start"}} {
		w.must(exec.Command("git", append([]string{"-C", w.dir}, args...)...).Run())
	}
	w.worker("one", "--slots", "2")
	file := filepath.Join(w.dir, "plan.yaml")
	w.must(os.WriteFile(file, []byte("name: first\ntasks:\n  - {id: api, agent: fake, worktree: true, prompt: \"fake: write one.txt first\"}\n"), 0o600))
	out, err := w.command("run", "--server", w.url, "--on", "one", "--detach", "--json", file).Output()
	w.must(err)
	var sent struct {
		Run string `json:"run"`
	}
	w.must(json.Unmarshal(out, &sent))
	run := sent.Run
	until(w, "the run ends", func() (string, bool) { r := w.run(run); return string(r.Status), r.Status.Final() })
	p := w.open("#/runs/" + run + "/tasks/api")
	p.Wait("there is a button", `[...document.querySelectorAll('.taskhead button')].some((b) => b.innerText === 'Fork…')`)
	p.Act(`[...document.querySelectorAll('.taskhead button')].find((b) => b.innerText === 'Fork…').click()`)
	p.Sees("Fork this task?")
	p.Accessible("fork dialog")
	p.Shot("fork")
	p.Act(`(() => { const i = document.querySelector('dialog input'); i.value = 'fake: write two.txt second'; document.querySelector('dialog button[type=submit]').click(); })()`)
	p.Wait("the new task is shown", `location.hash.endsWith('/tasks/api') && !location.hash.includes('`+run+`')`)
	p.Sees("Forked from", run)
	p.Shot("forked")
	made := strings.Split(eval[string](p, `location.hash`), "/")[2]
	until(w, "the fork ends", func() (string, bool) { r := w.run(made); return string(r.Status), r.Status.Final() })
	task := ask[fleet.Task](p, "/v1/runs/"+made+"/tasks/api", "task")
	text, err := json.Marshal(task)
	w.must(err)
	if task.Status != fleet.Complete || task.Fork == nil || !task.Fork.Copied || task.Attempt.Diff == nil || task.Attempt.Diff.Changed != 2 {
		t.Errorf("the fork is %s; want it complete, with both files", text)
	}
}
