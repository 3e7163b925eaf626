package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/engine/store/storetest"
	"gaffer/internal/testkit/testenv"
)

// Names of the properties that must hold after any faults.
const (
	comesToRest = "Everything comes to rest when the faults are over"
	noneLost    = "No task is lost: each that was acknowledged ends once, as its agent did"
	oneLive     = "Never two live attempts of a task"
	replays     = "The events replay to the stored rows"
	validDocs   = "Documents are valid and say that ended runs have ended"
	keptAside   = "Corrupt documents are kept"
	noneLeft    = "Nothing is left running or mounted"
)

// restWithin is how long all runs may take to end after the last fault: several leases, and ten
// leases for agents that no worker could take over.
const restWithin = 6 * time.Minute

// awaitRest ends the faults and waits until all runs have ended.
func (w *world) awaitRest() {
	w.endFaults(time.Now().Add(time.Hour))
	w.report.note("the faults are over")
	w.over = true
	w.report.checked(comesToRest)
	begun := time.Now()
	var open int
	var err error
	rests := testenv.Poll(restWithin, func() bool {
		w.maintain()
		open, err = w.users.openNow()
		return err == nil && open == 0 && w.submit == nil && w.localRests
	})
	if !rests {
		w.report.found(comesToRest, fmt.Sprintf("after %s the fleet has %d open tasks (%v), the local project rests: %t, live: %q",
			restWithin, open, err, w.localRests, w.watch.Live()))
	}
	w.report.rested = time.Since(begun)
	w.checkDoctor()
}

// checkDoctor runs 'gaffer doctor', which writes the documents that could not be written before.
// Then it checks that a second call finds nothing to do.
func (w *world) checkDoctor() {
	var found struct{ Orphans, Owed, Gone, Holding []json.RawMessage }
	for range 2 {
		out, err := w.gaffer("doctor", "--local", "--repair", "--json")
		if jsonErr := json.Unmarshal([]byte(out), &found); jsonErr != nil {
			w.report.found(comesToRest, fmt.Sprintf("gaffer doctor: %v, %v: %s", err, jsonErr, out))
		}
		w.report.note("gaffer doctor found %d orphans, %d runs whose documents are not written, %d agents that are gone, %d that hold capacity",
			len(found.Orphans), len(found.Owed), len(found.Gone), len(found.Holding))
	}
	w.report.checked(comesToRest)
	if left := slices.Concat(found.Orphans, found.Owed, found.Gone, found.Holding); len(left) > 0 {
		w.report.found(comesToRest, fmt.Sprintf("gaffer doctor --repair leaves %s", left))
	}
}

// gaffer runs a gaffer command in the local project and returns its output.
func (w *world) gaffer(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	words := w.local.inside(append([]string{"/bin/sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", w.project(), w.local.program}, args...)...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = w.local.env
	out, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ended.Stderr)))
	}
	return string(out), err
}

// check checks all invariants from outside the machines.
func (w *world) check() {
	w.checkValid()
	w.checkEnd()
	for _, double := range w.watch.Stop() {
		w.report.found(oneLive, double)
	}
	w.report.looks = w.watch.Report()
	w.report.checkedTimes(oneLive, w.watch.looks)

	db, err := postgres.Open(w.t.Context(), w.fleet.db.Local)
	if err != nil {
		w.t.Fatal(err)
	}
	w.checkStore("fleet", db)
	dir := w.copyLocal()
	local, err := sqlite.Open(w.t.Context(), filepath.Join(dir, "state", "gaffer", "gaffer.db"))
	if err != nil {
		w.report.found(noneLost, fmt.Sprintf("open the local database: %v", err))
		return
	}
	w.checkStore("local", local)
}

// keepAll copies the databases and the small disk, which would disappear with the machines.
func (w *world) keepAll() {
	dump := exec.Command("pg_dump", "--file", filepath.Join(w.dir, "fleet.sql"), w.fleet.db.Local)
	if out, err := dump.CombinedOutput(); err != nil {
		w.t.Logf("pg_dump: %v: %s", err, out)
	}
	w.copyLocal()
}

// copyLocal copies the files on the local machine's small disk. It returns the path of the copy.
func (w *world) copyLocal() string {
	dir := filepath.Join(w.dir, "local-disk")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if out, err := exec.Command("cp", "-a", w.local.see(w.localRoot()), dir).CombinedOutput(); err != nil {
		w.t.Errorf("copy the local project: %v: %s", err, out)
	}
	return dir
}

// checkEnd stops all programs as a user would, and checks that no process is left.
func (w *world) checkEnd() {
	w.report.checked(noneLeft)
	for _, s := range slices.Concat(w.fleet.workers, w.fleet.coordinators) {
		s.process.Signal(syscall.SIGTERM)
	}
	for _, s := range slices.Concat(w.fleet.workers, w.fleet.coordinators) {
		select {
		case <-s.process.ended:
			if s.process.err != nil {
				w.report.found(noneLeft, fmt.Sprintf("%s ended with %v: %s", s.Name, s.process.err, lastLine(s.Output(300))))
			}
		case <-time.After(2 * time.Minute):
			w.report.found(noneLeft, fmt.Sprintf("%s runs two minutes after SIGTERM", s.Name))
		}
	}
	var left []string
	testenv.Poll(time.Minute, func() bool {
		left = nil
		for _, pid := range testenv.ProcessesWith(w.mark) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && len(line) > 0 { // the process is alive
				left = append(left, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
			}
		}
		return len(left) == 0
	})
	for _, process := range left {
		w.report.found(noneLeft, "process "+process)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), w.dir) {
		w.report.found(noneLeft, fmt.Sprintf("a disk is mounted below %s (%v)", w.dir, err))
	}
}

// checkStore compares the rows of a database with the events, the plans and the marks that the
// agents wrote.
func (w *world) checkStore(which string, db store.Store) {
	defer func() { _ = db.Close() }() // ignore the error: nothing was written
	var rows storetest.Rows
	err := db.Read(w.t.Context(), func(r store.Reader) (err error) {
		ends := map[store.TaskKey]int{}
		w.report.checked(replays)
		err = storetest.Replay(r, func(e store.Event, _ storetest.Rows) error {
			if strings.HasPrefix(e.Kind, "task.") && store.Status(e.To).Final() {
				ends[store.TaskKey{Run: e.Run, Task: e.Task}]++
			}
			return nil
		})
		if err != nil {
			w.report.found(replays, fmt.Sprintf("%s: %v", which, err))
		}
		for key, n := range ends {
			if n > 1 {
				w.report.found(noneLost, fmt.Sprintf("%s task %s has ended %d times", key.Run, key.Task, n))
			}
		}
		rows, err = storetest.ReadRows(r)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	attempts, names := map[store.TaskKey][]store.Attempt{}, map[string]bool{}
	for _, a := range rows.Attempts {
		key := store.TaskKey{Run: a.Run, Task: a.Task}
		attempts[key] = append(attempts[key], a)
	}
	for _, run := range rows.Runs {
		names[run.Name] = true
		w.report.checked(noneLost)
		if !run.Status.Final() {
			w.report.found(noneLost, fmt.Sprintf("run %s (%s) is %s", run.ID, run.Name, run.Status))
		}
	}
	for name := range w.given {
		if which == "fleet" && !names[name] {
			w.report.found(noneLost, fmt.Sprintf("plan %s was acknowledged, and no run has it", name))
		}
	}
	for key, task := range rows.Tasks {
		run := rows.Runs[key.Run]
		for _, problem := range w.checkTask(run, task, attempts[key]) {
			w.report.found(noneLost, fmt.Sprintf("%s (%s) task %s: %s", run.ID, run.Name, key.Task, problem))
		}
	}
	if which == "local" {
		for _, run := range rows.Runs {
			w.checkDocuments(run, slices.DeleteFunc(slices.Collect(maps.Values(rows.Tasks)), func(t store.Task) bool { return t.Run != run.ID }))
		}
	}
	w.report.count(which, rows)
}

// checkTask returns what is wrong with a task and its attempts.
func (w *world) checkTask(run store.Run, task store.Task, attempts []store.Attempt) (wrong []string) {
	w.report.checked(noneLost)
	how, cancelled := w.plans[run.Name].How[task.Task], w.cancelled[run.ID]
	marks, late := readMarks(filepath.Join(w.fleet.marks, run.ID, task.Task))
	if len(marks.order) > 0 {
		w.report.checked(oneLive)
		for _, problem := range late {
			w.report.found(oneLive, fmt.Sprintf("%s (%s) task %s: %s", run.ID, run.Name, task.Task, problem))
		}
	}
	complete := 0
	for _, a := range attempts {
		if a.Status == store.Complete {
			complete++
		}
		if a.Status == store.Running {
			wrong = append(wrong, fmt.Sprintf("attempt %s runs", a.ID))
		}
	}
	switch {
	case !task.Status.Final():
		wrong = append(wrong, fmt.Sprintf("is %s, and has not ended", task.Status))
	case complete > 1, (complete == 1) != (task.Status == store.Complete):
		wrong = append(wrong, fmt.Sprintf("is %s with %d complete attempts", task.Status, complete))
	case cancelled: // any outcome is right: the task may have ended before it was cancelled
	case how == fails:
		if task.Status != store.Failed {
			wrong = append(wrong, fmt.Sprintf("its agent fails, and it is %s", task.Status))
		}
	case len(marks.order) == 0:
		wrong = append(wrong, fmt.Sprintf("is %s, and its agent never began", task.Status))
	default:
		wrong = append(wrong, marks.check(task, attempts)...)
	}
	return wrong
}

// checkValid validates the documents of the local project. It also checks that gaffer kept copies
// of the documents that the test damaged.
func (w *world) checkValid() {
	out, err := w.gaffer("validate", "--all", "--json")
	var result struct {
		Findings []struct{ Path, Text string }
		Summary  struct{ Files int }
	}
	if jsonErr := json.Unmarshal([]byte(out), &result); jsonErr != nil {
		w.report.found(validDocs, fmt.Sprintf("gaffer validate: %v, %v: %.300s", err, jsonErr, out))
	}
	w.report.checkedTimes(validDocs, result.Summary.Files)
	for _, f := range result.Findings {
		if !w.touched[recordOf(f.Path)] {
			w.report.found(validDocs, f.Path+": "+f.Text)
		}
	}

	kept := map[string]bool{}
	for _, file := range w.files(w.local, w.project(), func(path string) bool { return strings.Contains(filepath.Base(path), ".json") }) {
		data, err := os.ReadFile(file)
		if err != nil {
			w.report.found(validDocs, err.Error())
		}
		if len(data) == 0 && !strings.HasSuffix(file, ".flock") {
			w.report.found(keptAside, file+" is empty")
		}
		kept[string(data)] = true
	}
	for _, d := range w.damaged {
		w.report.checked(keptAside)
		if !kept[d.text] {
			w.report.found(keptAside, fmt.Sprintf("%s was replaced by %s, and no file has that any more", w.inProject(d.file), d.text))
		}
	}
}

// recordOf returns the common start of the names of a record's files: the files of its run, its
// result and its earlier attempts have the same name up to the first dot.
func recordOf(file string) string {
	name := filepath.Base(file)
	if name == "status.json" {
		return file
	}
	before, _, _ := strings.Cut(name, ".")
	return before
}

// checkDocuments compares the documents of a local run with its rows in the database.
func (w *world) checkDocuments(run store.Run, tasks []store.Task) {
	var session struct {
		Status string
		Agents []struct{ ID, Status string }
	}
	status := map[string]string{}
	w.readDocument(".founder-mode/status/sessions/"+run.ID+"/status.json", &session, func() string {
		for _, a := range session.Agents {
			status[a.ID] = a.Status
		}
		for _, t := range tasks {
			if status[t.Task] != string(t.Status) {
				return fmt.Sprintf("task %s is %q, want %s", t.Task, status[t.Task], t.Status)
			}
		}
		if session.Status != string(run.Status) {
			return fmt.Sprintf("the session is %q, want %s", session.Status, run.Status)
		}
		return ""
	})
	want := map[store.Status]string{store.Complete: "done", store.Failed: "failed", store.Cancelled: "failed"}
	for _, t := range tasks {
		var record struct{ Status string }
		if t.CountedAttempts == 0 {
			continue
		}
		for _, folder := range []string{"runs", "results"} {
			file := fmt.Sprintf("state/%s/bd-%s-%s.json", folder, t.Task, run.ID[strings.LastIndex(run.ID, "-")+1:])
			w.readDocument(file, &record, func() string {
				if folder == "runs" && record.Status != want[t.Status] {
					return fmt.Sprintf("is %q, want %s", record.Status, want[t.Status])
				}
				return ""
			})
		}
	}
}

// readDocument reads a document of the local project, and reports what is wrong with it. It may be
// missing if the test has damaged or deleted it for good.
func (w *world) readDocument(file string, v any, wrong func() string) {
	data, err := os.ReadFile(w.local.see(filepath.Join(w.project(), file)))
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil && w.touched[recordOf(file)] {
		return
	}
	w.report.checked(validDocs)
	if err != nil {
		w.report.found(validDocs, fmt.Sprintf("%s: %v", file, err))
	} else if problem := wrong(); problem != "" {
		w.report.found(validDocs, fmt.Sprintf("%s: %s", file, problem))
	}
}
