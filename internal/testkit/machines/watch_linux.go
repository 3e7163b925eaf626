package machines

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Watch looks for an error: two agents that work on the same task at the same time. It examines the
// processes of all machines. Agents stopped by a signal do not count.
type Watch struct {
	mark string // variable NAME=VALUE in the environment of the watched agents

	ending chan struct{}
	ended  chan struct{}
	once   sync.Once

	mu      sync.Mutex
	looks   int
	most    int             // largest number of tasks that had a live attempt at the same time
	seen    map[string]bool // ids of the attempts that were seen alive
	frozen  map[string]bool // ids of the attempts that were seen stopped
	doubles []string
}

// checkInterval is the time between two checks. It is short compared with the time after which
// gaffer starts a second agent on the task of a stopped agent.
const checkInterval = 50 * time.Millisecond

// WatchRun starts watching the agents of a run.
func WatchRun(run string) *Watch { return WatchVariable("GAFFER_RUN=" + run) }

// WatchVariable starts watching the agents that have the variable NAME=VALUE in their environment.
func WatchVariable(variable string) *Watch {
	w := &Watch{mark: variable, ending: make(chan struct{}), ended: make(chan struct{}), seen: map[string]bool{}, frozen: map[string]bool{}}
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(checkInterval)
		defer tick.Stop()
		for {
			w.look()
			select {
			case <-tick.C:
			case <-w.ending:
				return
			}
		}
	}()
	return w
}

// Stop ends the watch. It returns a text for each pair of agents of one task that were alive at the
// same time.
func (w *Watch) Stop() (doubles []string) {
	w.once.Do(func() { close(w.ending) })
	<-w.ended
	return slices.Compact(slices.Sorted(slices.Values(w.doubles)))
}

// Stopped returns the number of attempts that were seen stopped.
func (w *Watch) Stopped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.frozen)
}

// Report returns a summary of what the watch has seen, as text.
func (w *Watch) Report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d looks saw %d attempts live, %d of them at once, and %d stopped", w.looks, len(w.seen), w.most, len(w.frozen))
}

// Live returns a text for each process of the watched agents, including stopped processes. The text
// contains the folder of the process in /proc, the id of its attempt and its state.
func (w *Watch) Live() (pids []string) {
	for _, a := range marked(w.mark) {
		pids = append(pids, fmt.Sprintf("%s of %s (%s)", a.proc, a.attempt, a.state()))
	}
	return pids
}

func (w *Watch) look() {
	live := map[string]agent{} // agents that are alive, by the id of their task
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	for _, a := range marked(w.mark) {
		if a.state() == stopped {
			w.frozen[a.attempt] = true
			continue
		}
		w.seen[a.attempt] = true
		task := a.run + "/" + a.task
		other, there := live[task]
		// Check both states again: reading all processes takes time, so the first agent may have
		// ended before the second started.
		if there && other.attempt != a.attempt && other.state() == running && a.state() == running {
			w.doubles = append(w.doubles, fmt.Sprintf("task %s of run %s: attempts %s and %s live at once",
				a.task, a.run, min(a.attempt, other.attempt), max(a.attempt, other.attempt)))
		}
		live[task] = a
	}
	w.most = max(w.most, len(live))
}

// agent is a process that belongs to an attempt.
type agent struct{ proc, run, task, attempt, number, home string }

// agents returns all processes of a run's attempts.
func agents(run string) []agent { return marked("GAFFER_RUN=" + run) }

// marked returns all processes of attempts that have the variable NAME=VALUE in their environment.
func marked(variable string) (found []agent) {
	list, _ := filepath.Glob("/proc/[0-9]*") // ignore the error: the pattern is valid
	for _, proc := range list {
		data, err := os.ReadFile(filepath.Join(proc, "environ"))
		if err != nil || !bytes.Contains(data, []byte(variable+"\x00")) {
			continue
		}
		a := agent{proc: proc}
		for _, pair := range strings.Split(string(data), "\x00") {
			switch name, value, _ := strings.Cut(pair, "="); name {
			case "GAFFER_RUN":
				a.run = value
			case "GAFFER_TASK":
				a.task = value
			case "GAFFER_ATTEMPT":
				a.attempt = value
			case "GAFFER_ATTEMPT_NUMBER":
				a.number = value
			case "HOME":
				a.home = value
			}
		}
		if a.attempt != "" && a.state() != gone { // skip supervisor processes: their environment names no attempt
			found = append(found, a)
		}
	}
	return found
}

// state is the state of a process.
type state string

const (
	running state = "running"
	stopped state = "stopped"
	gone    state = "gone"
)

func (a agent) state() state {
	stat, err := os.ReadFile(filepath.Join(a.proc, "stat"))
	if err != nil {
		return gone
	}
	status, err := os.ReadFile(filepath.Join(a.proc, "status"))
	if err != nil {
		return gone
	}
	return stateOf(string(stat), string(status))
}

// exiting is the kernel's PF_EXITING flag.
const exiting = 0x4

// stateOf returns the state of a process from its files stat and status in /proc. A process with a
// pending SIGKILL counts as gone. A process in an uninterruptible wait with a pending SIGSTOP
// counts as stopped, because it stops before it does anything else.
func stateOf(stat, status string) state {
	// The file stat is like "12 (name) S 1 2 …". The name may contain any characters.
	fields := strings.Fields(stat[max(strings.LastIndexByte(stat, ')'), 0):])
	if len(fields) < 8 {
		return gone
	}
	flags, _ := strconv.ParseUint(fields[7], 10, 64) // ignore the error: the kernel always writes a number
	pending := signals(status, "SigPnd") | signals(status, "ShdPnd")
	has := func(sig syscall.Signal) bool { return pending>>(sig-1)&1 == 1 }
	switch now := fields[1]; {
	case now == "Z", now == "X", flags&exiting != 0, has(syscall.SIGKILL):
		return gone
	case now == "T", now == "t", now == "D" && has(syscall.SIGSTOP):
		return stopped
	}
	return running
}

// signals reads a set of signals from the text of a process's file /proc/PID/status. The parameter
// name is the start of the line with the set, such as SigPnd.
func signals(status, name string) (set uint64) {
	_, after, _ := strings.Cut(status, "\n"+name+":")
	text, _, _ := strings.Cut(after, "\n")
	set, _ = strconv.ParseUint(strings.TrimSpace(text), 16, 64) // ignore the error: if the line is missing, the set is empty
	return set
}
