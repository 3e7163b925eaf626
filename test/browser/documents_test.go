package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writeDocument writes a document to the project, as another program would.
func (w *world) writeDocument(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o600))
}

// seesSoon waits until the page shows a text, and logs how long that took. It should take one
// second, but may take longer on a busy machine.
func (p *page) seesSoon(what, text string) {
	p.Helper()
	began := time.Now()
	p.Sees(text)
	p.Logf("%s was seen after %s", what, time.Since(began).Round(time.Millisecond))
}

const buildDocument = `{
 "currentCommand": "execute", "workflowStep": "executor-build", "activeSection": "#core-flow", "activeSectionNumber": "2.2",
 "scenarioScore": {"satisfied": 5, "total": 8}, "chunkProgress": "2 of 4",
 "buildEvents": [{"kind": "chunk-started", "chunk": "Glossary", "timestamp": "2026-02-17T04:00:00Z"}, {"kind": "a-kind-that-nobody-knows", "x": 1}],
 "buildRun": {"id": "run-1", "status": "awaiting-user", "startedAt": "2026-02-17T04:00:00+00:00", "plan": {"chunks": [
  {"id": "11a", "name": "Glossary <b>fix</b>", "status": "completed"},
  {"id": "MANUAL", "name": "By hand", "status": "awaiting-user", "blockedBy": ["11a"]},
  {"name": "No id", "status": "completed-partial", "deps": ["MANUAL"]}]}}}`

const teamDocument = `{"session_id": "v4_20260217_040000", "mode": "analysis_only", "all_tasks": ["write", "read"], "unknown_key": {"a": 1},
 "task_groups": {"auth": {"name": "Sign in <i>", "status": "in_progress_security_fixes"}, "docs": {"name": "Docs", "status": "COMPLETED"}}}`

const sessionDocument = `{"session_id": "20260217-040000", "source": "orchestrate", "status": "running", "started_at": "2026-02-17T04:00:00.123456+00:00",
 "waves": [{"wave": 1, "status": "pending", "agents": ["001", "002"]}],
 "agents": [{"id": "001", "name": "schema <u>", "status": "complete", "wave": 1, "started_at": "2026-02-17T04:00:00Z", "completed_at": "2026-02-17 04:01:00"},
  {"id": "002", "name": "writer", "status": "failed", "wave": 1, "error": "it broke <script>window.pwned=1</script>", "pid": "none"}, "odd", {"name": 7}],
 "summary": {"total": 2, "complete": 1, "failed": 1}}`

func TestDocumentsOfOtherToolsAppearAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/projects")
	p.Sees(filepath.Base(w.dir))
	project := "#/projects/" + escaped(p, eval[string](p, `fetch('/api/projects').then((r) => r.json()).then((all) => all[0].path)`))

	p.Visit(project + "/constructor") // a name that is a property of every JavaScript object
	p.Sees("There is no build in this project.")
	p.Visit(project + "/build")
	p.Sees("There is no build in this project.")
	w.writeDocument(".fctry/state.json", buildDocument[:200])
	w.writeDocument(".fctry/state.json", buildDocument)
	p.seesSoon("the build", "By hand")
	p.Sees("Glossary <b>fix</b>", "awaiting-user", "completed-partial", "theirs", "a-kind-that-nobody-knows")
	p.Shot("theirs-build")
	w.writeDocument(".fctry/inbox.json", `[{"id": "1", "type": "idea", "content": "A voucher <img src=x>", "status": "approved", "timestamp": "2026-02-17T04:00:00Z"}]`)
	p.seesSoon("the inbox", "A voucher <img src=x>")

	p.Visit(project + "/team")
	p.Sees("There is no team in this project.")
	w.writeDocument("coordination/pm_state.json", teamDocument)
	p.seesSoon("the team", "Sign in <i>")
	p.Sees("in_progress_security_fixes", "analysis_only", "theirs")
	p.Shot("theirs-team")

	p.Visit(project + "/sessions")
	w.writeDocument(".founder-mode/status/sessions/20260217-040000/status.json", sessionDocument)
	p.seesSoon("the session", "20260217-040000")
	p.Sees("theirs")
	p.Visit(project + "/sessions/20260217-040000")
	p.Sees("Wave 1", "schema <u>", "it broke <script>")
	p.Shot("theirs-session")
	w.writeDocument(".founder-mode/status/sessions/20260217-040000/status.json", fmt.Sprint(sessionDocument[:len(sessionDocument)-1], `, "note": 1}`))
	p.harmless()
}

func TestAnIdeaIsAddedToTheInboxInThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeDocument(".fctry/state.json", `{}`)
	p := w.open("#/projects")
	p.Click("Build")
	p.Sees("Inbox")
	p.Act(`document.querySelector('[aria-label="New idea"]').focus()`)
	p.Press("Pay later")
	p.Press(enter)
	p.Sees("It is in the inbox.", "Pay later")
	p.Click("Remove Pay later")
	p.Wait("it asks", `document.querySelector('dialog[open]')`)
	p.Click("Remove")
	p.Sees("Removed.")
	until(w, "an empty inbox", func() (string, bool) {
		text, err := os.ReadFile(filepath.Join(w.dir, ".fctry", "inbox.json"))
		return string(text), err == nil && len(text) < 40
	})
}

func TestABuildWithoutChunksIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeDocument(".fctry/state.json", `{"currentCommand": "execute", "buildRun": {"id": "run-1", "status": "running"}}`)
	p := w.open("#/projects")
	p.Click("Build")
	p.Sees("Chunks", "0 of 0 chunks") // the page must not show an error instead
}

const endedTeam = `{"session_id": "v4_20260217_040000", "mode": "parallel", "original_requirements": "A shop with vouchers.",
 "task_groups": [{"group_id": "auth", "name": "Sign in"}, {"group_id": "pay", "name": "Payment"}]}`

const endedGroups = `{"session_id": "v4_20260217_040000",
 "auth": {"group_name": "Sign in", "status": "complete", "branch_name": "team/auth", "iterations": {"developer": 2, "qa": 1, "tech_lead": 1}, "start_time": "2026-02-17T04:00:00Z", "end_time": "2026-02-17T04:30:00Z", "files_modified": ["a.go", "b.go"], "commits": ["1"]},
 "pay": {"group_name": "Payment", "status": "dev_blocked", "iterations": {"developer": 5}, "blockers": [{"description": "There is no key <b>for</b> the bank"}]}}`

const endedSession = `{"session_id": "v4_20260217_040000", "status": "completed", "start_time": "2026-02-17T04:00:00Z", "end_time": "2026-02-17T05:30:00Z", "total_spawns": 9}`

const endedMessages = `[{"id": "m1", "from": "developer", "to": "qa_expert", "group_id": "auth", "message": "It is ready."}]`

func TestAFinishedTeamShowsItsOutcomeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeDocument("coordination/pm_state.json", endedTeam)
	w.writeDocument("coordination/group_status.json", endedGroups)
	w.writeDocument("coordination/orchestrator_state.json", endedSession)
	w.writeDocument("coordination/messages/dev_to_qa.json", endedMessages)
	p := w.open("#/projects")
	p.Click("Team")
	p.Sees("1 of 2 groups is complete.", "1h 30m", "9 times", "What was built", "team/auth", "2 files, 1 commit", "developer 2 times, QA once, tech lead once", "There is no key <b>for</b> the bank")
	p.Wait("what is not complete is first", `document.querySelector('.built tbody th').innerText.startsWith('Payment')`)
	if p.Holds(`document.body.innerText.includes('It is ready.') || document.querySelector('.board')`) {
		t.Error("messages and the board are shown before the user asks for them")
	}
	p.Accessible("a finished team")
	p.looks("team-ended")
	p.wide("team-ended")
	p.Act(`[...document.querySelectorAll('summary')].find((s) => s.innerText.startsWith('Messages')).click()`)
	p.Sees("It is ready.")
	p.harmless()
}

func TestABuildShowsFirstWhatNeedsTheUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeDocument(".fctry/state.json", buildDocument)
	p := w.open("#/projects")
	p.Sees("No run is known here.")
	p.Accessible("projects")
	p.looks("projects")
	p.Click("Build")
	p.Sees("Needs you", "waits until you have done it", "No id", "completed-partial")
	p.Wait("it is above the chunks", `document.querySelector('.needs').getBoundingClientRect().top < document.querySelector('.chunks').getBoundingClientRect().top`)
	p.Wait("what is not complete is above the graph", `document.querySelector('.failures').getBoundingClientRect().top < document.querySelector('.chunks').getBoundingClientRect().top`)
	p.Accessible("a build")
	p.looks("build-needs")
	p.wide("build-needs")
}
