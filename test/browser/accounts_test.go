package browser

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheAccountAndTheFallbackOfAnAttemptAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := filepath.Join(w.home, ".config/gaffer/gaffer.yaml")
	w.must(os.MkdirAll(filepath.Dir(settings), 0o755))
	w.must(os.WriteFile(settings, []byte("agents:\n  other: {like: codex, argv: [gaffer, fake-agent, --protocol, codex]}\naccounts:\n  work: {agent: fake, env: {FAKE_KEY: sk-work}}\n"), 0o600))
	w.worker("one", "--slots", "4")
	run := w.submit(`
name: limited
tasks:
  - {id: busy, agent: fake, prompt: "fake: hang"}
  - id: moved
    agent: fake
    fallback: other
    prompt: |
      fake: on-attempt 1 limit 3600
      fake: hang
`)
	p := w.open(task(run, "moved"))
	p.Wait("the fallback works on it", `document.querySelector('.facts')?.innerText.includes('attempt 2 by other')`)
	p.Sees("Fallback", "other")
	p.Accessible("a task with a fallback")
	p.Shot("task-fallback")
	p.Click("Attempts 2")
	p.Sees("account work", "other in place of fake", "rate limited")
	p.Shot("task-accounts")
	p.Visit("#/")
	p.Sees("fake/work", "account work", "in place of fake")
	p.Shot("fleet-accounts")
	p.Visit("#/runs/" + run)
	p.Sees("fake/work paused")
}
