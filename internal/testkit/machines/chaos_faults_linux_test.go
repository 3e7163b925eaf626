package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// fault is a fault that the test can inject.
type fault struct {
	kind, target string
	begin        func() (what string, err error) // starts the fault and returns its exact target; errNoTarget if there is none
	end          func()                          // ends the fault; nil if it has no duration
	lasts        time.Duration                   // how long the fault lasts, if end is not nil
	until        time.Time
}

// mostAtOnce is the maximum number of faults that are active at the same time.
const mostAtOnce = 4

var errNoTarget = errors.New("no target")

// beginFault injects a fault, unless another fault of the same target is active.
func (w *world) beginFault(f fault) {
	if _, busy := w.under[f.target]; busy {
		w.report.note("left out: %s: %s: another fault lasts", f.kind, f.target)
		return
	}
	what, err := f.begin()
	switch {
	case errors.Is(err, errNoTarget):
		w.report.note("left out: %s: %s: nothing is there", f.kind, f.target)
		return
	case err != nil:
		w.report.note("left out: %s: %s: %v", f.kind, f.target, err)
		return
	}
	w.report.fault(f, what)
	if f.end != nil {
		f.until = time.Now().Add(f.lasts)
		w.under[f.target] = f
	}
}

// endFaults ends the faults whose time is over.
func (w *world) endFaults(now time.Time) {
	for target, f := range w.under {
		if now.After(f.until) {
			w.report.note("over: %s: %s", f.kind, target)
			delete(w.under, target)
			f.end()
		}
	}
}

// storm returns the next fault of a storm. It always draws the same number of random numbers,
// whatever the state of the world is.
func (w *world) storm() fault {
	server, worker := pick(w.rng, w.fleet.coordinators), pick(w.rng, w.fleet.workers)
	short := time.Duration(w.rng.IntN(4000)) * time.Millisecond
	long := time.Duration(w.rng.IntN(int(2 * w.fleet.lease)))
	how, sig := pick(w.rng, []Cut{Unplugged, Lost}), pick(w.rng, []syscall.Signal{Fast, Immediate, Immediate})
	makers := []func() fault{
		func() fault { return w.kill(worker, long) },
		func() fault { return w.kill(worker, short) },
		func() fault { return w.hang(worker, long) },
		func() fault { return w.cutOff(worker, how, long) },
		func() fault { return w.cutOff(worker, how, short) },
		func() fault { return w.kill(server, short) },
		func() fault { return w.hang(server, short) },
		func() fault { return w.cutOff(server, how, long) },
		func() fault { return w.stopDatabase(sig, short) },
		w.killBackend,
		func() fault { return w.killAgent(worker) },
		func() fault { return w.killAgent(worker) },
		func() fault { return w.deleteSocket(worker) },
		func() fault { return w.fillDisk(w.fleet.workers[2], long) },
		w.cancelRun,

		func() fault { return w.killLocal() },
		func() fault { return w.killLocal() },
		func() fault { return w.hang(w.local, short) },
		func() fault { return w.killAgent(w.local) },
		func() fault { return w.stopProcess("agent", w.local, short) },
		func() fault { return w.killSupervisor(w.local) },
		func() fault { return w.stopProcess("supervisor", w.local, short) },
		func() fault { return w.deleteSocket(w.local) },
		func() fault { return w.fillDisk(w.local, long) },
		func() fault { return w.damageDocument() },
		func() fault { return w.damageDocument() },
		func() fault { return w.deleteDocument() },
	}
	return makers[w.rng.IntN(len(makers))]()
}

// calm returns a fault that must not coincide with others. A supervisor freezes its agent when the
// lease ends, and ends the agent on request. While the supervisor is killed or stopped, only its
// worker can do that, so the worker must be alive. Besides, a stopped agent may be continued only
// while its lease has not ended.
func (w *world) calm() fault {
	worker := pick(w.rng, w.fleet.workers)
	short := time.Duration(w.rng.IntN(int(w.fleet.lease / 2)))
	makers := []func() fault{
		func() fault { return w.killSupervisor(worker) },
		func() fault { return w.wait(w.stopProcess("supervisor", worker, short)) },
		func() fault { return w.wait(w.stopProcess("agent", worker, short)) },
	}
	return makers[w.rng.IntN(len(makers))]()
}

// wait returns a fault whose begin returns only after the fault has ended.
func (w *world) wait(f fault) fault {
	begin, end := f.begin, f.end
	f.end = nil
	f.begin = func() (string, error) {
		what, err := begin()
		if err == nil {
			w.settle(f.lasts)
			end()
		}
		return what, err
	}
	return f
}

func (w *world) kill(s *service, away time.Duration) fault {
	return fault{kind: "kill -9 " + kindOf(s), target: s.Name, lasts: away, begin: func() (string, error) {
		if s.process == nil || s.process.Ended() {
			return "", errNoTarget
		}
		s.process.Kill()
		return "", nil
	}, end: s.start}
}

// kindOf returns the kind of program that runs on a machine: coordinator, worker or gaffer run.
func kindOf(s *service) string {
	return strings.NewReplacer("server", "coordinator", "local", "gaffer run").Replace(strings.TrimRight(s.Name, "123"))
}

// killLocal kills the gaffer process that works on the local run. Another process then resumes the
// run.
func (w *world) killLocal() fault {
	f := w.kill(w.local, 0)
	f.end = nil
	return f
}

func (w *world) hang(s *service, lasts time.Duration) fault {
	return fault{kind: "SIGSTOP " + kindOf(s), target: s.Name, lasts: lasts, begin: func() (string, error) {
		if s.process == nil || s.process.Ended() {
			return "", errNoTarget
		}
		s.process.Signal(syscall.SIGSTOP)
		return "", nil
	}, end: func() { s.process.Signal(syscall.SIGCONT) }}
}

func (w *world) cutOff(s *service, how Cut, lasts time.Duration) fault {
	return fault{
		kind: "network of a " + kindOf(s) + " " + string(how), target: "network of " + s.Name, lasts: lasts,
		begin: func() (string, error) { s.Cut(how); return "", nil }, end: s.Reconnect,
	}
}

func (w *world) stopDatabase(sig syscall.Signal, away time.Duration) fault {
	how := map[syscall.Signal]string{Fast: "fast", Immediate: "immediate"}[sig]
	return fault{
		kind: "database restart, " + how, target: "database", lasts: away,
		begin: func() (string, error) { w.fleet.db.Stop(sig); return "", nil }, end: w.fleet.db.Start,
	}
}

// killBackend kills a PostgreSQL backend process that serves a coordinator.
func (w *world) killBackend() fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "kill -9 PostgreSQL backend", target: "database", begin: func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, w.fleet.db.Local)
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close(ctx) }() // ignore the error: nothing was written
		rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE client_addr IS NOT NULL ORDER BY pid")
		if err != nil {
			return "", err
		}
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			return "", err
		}
		if len(pids) == 0 {
			return "", errNoTarget
		}
		pid := fmt.Sprint(pids[n%len(pids)]) // the pid in the namespace of the machine
		if out, err := w.in(w.fleet.db.machine, "kill", "-9", pid); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return "process " + pid, nil
	}}
}

// process is a process that gaffer has started on a machine.
type process struct {
	handle  *os.Process
	attempt string // id of the attempt that the process runs or supervises; "" if unknown
}

func (p process) String() string {
	return strings.TrimSuffix(fmt.Sprintf("process %d of attempt %s", p.handle.Pid, p.attempt), " of attempt ")
}

// processes returns the agents or the supervisors that run on a machine. kind says which.
func (w *world) processes(kind string, on *service) (found []process) {
	if kind == "agent" {
		for _, a := range marked(w.mark) {
			if pid, err := strconv.Atoi(filepath.Base(a.proc)); err == nil && a.home == on.Home && a.state() == running {
				found = append(found, process{handle: w.handle(pid), attempt: a.attempt})
			}
		}
		return slices.DeleteFunc(found, func(p process) bool { return p.handle == nil })
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // ignore the error: the pattern is valid
	for _, file := range lines {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		words, err2 := os.ReadFile(file)
		if err != nil || err2 != nil || !bytes.Contains(words, []byte("\x00supervise\x00")) || !carries(pid, "HOME="+on.Home) {
			continue
		}
		if h := w.handle(pid); h != nil {
			found = append(found, process{handle: h})
		}
	}
	return found
}

// handle returns a handle of a process of this world, or nil if the process has ended. The handle
// stays valid even if the pid is reused.
func (w *world) handle(pid int) *os.Process {
	p, err := os.FindProcess(pid)
	if err != nil || !carries(pid, w.mark) {
		return nil
	}
	return p
}

func carries(pid int, variable string) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(data, []byte(variable+"\x00"))
}

func (w *world) killAgent(on *service) fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "kill -9 agent", target: "an agent of " + on.Name, begin: func() (string, error) {
		list := w.processes("agent", on)
		if len(list) == 0 {
			return "", errNoTarget
		}
		p := list[n%len(list)]
		return p.String(), p.handle.Kill()
	}}
}

// killSupervisor returns a fault that kills a supervisor. In a fleet, the fault waits until the
// worker has ended the remaining processes of the attempt.
func (w *world) killSupervisor(on *service) fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "kill -9 supervisor", target: "a supervisor of " + on.Name, begin: func() (string, error) {
		list := w.processes("supervisor", on)
		if len(list) == 0 {
			return "", errNoTarget
		}
		p := list[n%len(list)]
		p.attempt = w.attemptBelow(p.handle.Pid)
		if err := p.handle.Kill(); err != nil || on == w.local || p.attempt == "" {
			return p.String(), err
		}
		for end := time.Now().Add(time.Minute); len(marked("GAFFER_ATTEMPT="+p.attempt)) > 0; w.settle(tick) {
			if time.Now().After(end) {
				w.report.found(noneLeft, fmt.Sprintf("attempt %s still runs a minute after its supervisor was killed, and its worker %s lives", p.attempt, on.Name))
				break
			}
		}
		return p.String(), nil
	}}
}

// attemptBelow returns the id of the attempt that a supervisor supervises, or "" if it is unknown.
func (w *world) attemptBelow(pid int) string {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid)) // ignore the error: the process may have ended
	for _, child := range strings.Fields(string(children)) {
		for _, a := range marked(w.mark) {
			if filepath.Base(a.proc) == child {
				return a.attempt
			}
		}
	}
	return ""
}

// stopProcess returns a fault that stops an agent or a supervisor for some time.
func (w *world) stopProcess(kind string, on *service, lasts time.Duration) fault {
	n := w.rng.IntN(1 << 20)
	var stopped process
	return fault{
		kind: "SIGSTOP " + kind, target: fmt.Sprintf("%s of %s", kind, on.Name), lasts: lasts,
		begin: func() (string, error) {
			list := w.processes(kind, on)
			if len(list) == 0 {
				return "", errNoTarget
			}
			stopped = list[n%len(list)]
			return stopped.String(), stopped.handle.Signal(syscall.SIGSTOP)
		},
		end: func() { _ = stopped.handle.Signal(syscall.SIGCONT) }, // ignore the error: the process may have been killed
	}
}

// deleteSocket returns a fault that deletes the socket of a supervisor.
func (w *world) deleteSocket(on *service) fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "delete socket", target: "a socket of " + on.Name, begin: func() (string, error) {
		list := w.files(on, on.Home, func(path string) bool {
			dir, name := filepath.Split(path)
			return name == "socket" && !strings.HasSuffix(dir, ".done/") // only sockets of running attempts
		})
		if len(list) == 0 {
			return "", errNoTarget
		}
		file := list[n%len(list)]
		return strings.TrimPrefix(file, on.see(on.Home)), os.Remove(file)
	}}
}

// files returns the files in a folder of a machine for which match returns true, the newest first.
func (w *world) files(on *service, dir string, match func(string) bool) (list []string) {
	times := map[string]time.Time{}
	// Skip files that disappear in the meantime.
	_ = filepath.WalkDir(on.see(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !match(path) {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			list, times[path] = append(list, path), info.ModTime()
		}
		return nil
	})
	slices.SortFunc(list, func(a, b string) int { return times[b].Compare(times[a]) })
	return list
}

// fillDisk returns a fault that fills the disk of a machine.
func (w *world) fillDisk(on *service, lasts time.Duration) fault {
	var ballast string
	return fault{kind: "full disk", target: "disk of " + on.Name, lasts: lasts, begin: func() (string, error) {
		dir, small := w.disks[on.Name]
		if !small {
			return "", errNoTarget
		}
		ballast = on.see(filepath.Join(dir, "ballast"))
		file, err := os.Create(ballast)
		if err != nil {
			return "", err
		}
		for block := make([]byte, 4096); err == nil; {
			_, err = file.Write(block)
		}
		_ = file.Close() // ignore the error: only the full disk matters
		if !errors.Is(err, syscall.ENOSPC) {
			return "", errors.Join(err, os.Remove(ballast))
		}
		return "", nil
	}, end: func() {
		if err := os.Remove(ballast); err != nil {
			w.t.Errorf("empty the disk: %v", err)
		}
	}}
}

// damage describes a document that the test has replaced: its path, and the text that the test
// wrote.
type damage struct{ file, text string }

// documents returns the paths of documents of the latest runs in the local project. Every second
// one is the session's document, because gaffer writes it most often.
func (w *world) documents() (list []string) {
	const latest = 6
	all := w.files(w.local, w.project(), func(path string) bool {
		name := filepath.Base(path)
		return strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".")
	})
	session := slices.IndexFunc(all, func(path string) bool { return filepath.Base(path) == "status.json" })
	for _, file := range all[:min(latest, len(all))] {
		list = append(list, file)
		if session >= 0 {
			list = append(list, all[session])
		}
	}
	return list
}

// inProject returns the path of a document relative to the root of the local project.
func (w *world) inProject(file string) string {
	return strings.TrimPrefix(file, w.local.see(w.project())+"/")
}

// damageDocument returns a fault that replaces a document by a part of it, which is not valid JSON.
func (w *world) damageDocument() fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "corrupt document", target: "a document of " + w.local.Name, begin: func() (string, error) {
		list := w.documents()
		if len(list) == 0 {
			return "", errNoTarget
		}
		file, text := list[n%len(list)], fmt.Sprintf(`{"damage": "number %d of %d", "agents": [`, len(w.damaged)+1, n)
		temp := file + ".chaos"
		err := os.WriteFile(temp, []byte(text), 0o644)
		if err == nil { // write to another file first: a full disk must not leave an empty document, and the old content must be known
			err = unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, file, unix.RENAME_EXCHANGE)
		}
		if err == nil {
			w.wentAway(file, temp)
			w.damaged = append(w.damaged, damage{file: file, text: text})
		}
		return w.inProject(file), errors.Join(err, os.Remove(temp))
	}}
}

func (w *world) deleteDocument() fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "delete document", target: "a document of " + w.local.Name, begin: func() (string, error) {
		list := w.documents()
		if len(list) == 0 {
			return "", errNoTarget
		}
		file := list[n%len(list)]
		temp := file + ".chaos"
		if err := os.Rename(file, temp); err != nil {
			return "", err
		}
		w.wentAway(file, temp)
		return w.inProject(file), os.Remove(temp)
	}}
}

// wentAway records that a document was removed; it is now at the path temp. If its session was
// still running, gaffer will write the document again. Other documents may stay missing.
func (w *world) wentAway(file, temp string) {
	data, _ := os.ReadFile(temp) // ignore the error: no other process knows this path
	w.damaged = slices.DeleteFunc(w.damaged, func(d damage) bool { return d.text == string(data) })
	var was struct{ Status string }
	if json.Unmarshal(data, &was) != nil || filepath.Base(file) != "status.json" || was.Status != "running" {
		w.touched[recordOf(w.inProject(file))] = true
	}
}

// cancelRun returns a fault that cancels a run of the fleet, as a user would.
func (w *world) cancelRun() fault {
	n := w.rng.IntN(1 << 20)
	return fault{kind: "user cancels", target: "a run of the fleet", begin: func() (string, error) {
		w.users.mu.Lock()
		runs := w.users.runs
		w.users.mu.Unlock()
		if len(runs) == 0 {
			return "", errNoTarget
		}
		run := runs[n%len(runs)]
		w.cancelled[run] = true // set it before the call, because the answer may be lost
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return run, w.users.client.Runs.Cancel(ctx, run, "", "chaos")
	}}
}
