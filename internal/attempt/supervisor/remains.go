package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gaffer/internal/text/truncate"
	"gaffer/statefile/host"
)

// marksOnly is what [GroupMethod] returns on a machine where gaffer cannot use control groups.
// There, gaffer finds the processes of an attempt by marks such as the environment variable
// GAFFER_ATTEMPT.
const marksOnly = "process marks only"

// supervisorRecord is what the supervisor writes into the lock file before the agent starts. It
// identifies the supervisor's process. If the supervisor dies, the other fields help to find all
// processes that the agent has started.
type supervisorRecord struct {
	host.Process
	// Group is the attempt's control group; nil if it has none.
	Group *cgroup `json:"group,omitempty"`
	// Limits has two resource limits that all descendants of the supervisor inherit. It is nil if
	// they do not identify the descendants, for example because the agent could raise the limits.
	Limits *limitMark `json:"limits,omitempty"`
	// Place is the content of the supervisor's /proc/PID/cgroup, which lists its control groups.
	Place string `json:"place,omitempty"`
	// Since is when this record was written, in clock ticks since boot. No process of the agent
	// started before that.
	Since uint64 `json:"since,omitempty"`
	// Above lists the ancestors of the supervisor. When the supervisor dies, its children become
	// children of one of these ancestors or of init.
	Above []ancestor `json:"above,omitempty"`
}

// ancestor identifies one ancestor process of a supervisor.
type ancestor struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Proof says how certain it is that no process of an attempt is alive.
type Proof int

// The possible proofs.
const (
	// Unproven means that live processes may belong to the attempt, or that gaffer cannot see all
	// processes.
	Unproven  Proof = iota
	Remaining       // processes of the attempt are alive
	Gone            // no process of the attempt is alive
)

// Remains describes the processes of an attempt that may be alive although its
// supervisor is dead.
type Remains struct {
	Proof     Proof
	Processes []Left
	Why       string // why there is no proof; only set if Proof is Unproven
}

// Left is a process that an attempt has, or may have, left behind.
type Left struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

func (l Left) String() string {
	return fmt.Sprintf("pid %d (%s)", l.PID, truncate.Chars(l.Command, 41))
}

// UnprovenError reports that an attempt may still have live processes although its supervisor is
// dead.
type UnprovenError struct {
	Attempt string
	Since   time.Time // when gaffer first found that it cannot prove the end of the attempt
	Remains Remains
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("its supervisor was killed, and %s", e.Remains.Why)
}

// Hint returns what the user can do next.
func (e *UnprovenError) Hint() string {
	end := "see that nothing of it is alive"
	switch len(e.Remains.Processes) {
	case 0:
	case 1:
		end = fmt.Sprintf("end it with 'kill %d'", e.Remains.Processes[0].PID)
	default:
		end = "end them"
	}
	return fmt.Sprintf("%s, or say with 'gaffer doctor --gone %s' that the attempt has ended", end, e.Attempt)
}

// goneFile is the name of a file in an attempt's folder. The file exists if the user has declared
// that no process of the attempt is alive.
const goneFile = "gone"

// DeclareGone records in the attempt's folder that, according to the user, no process of the
// attempt is alive. It is for an attempt whose end gaffer cannot prove.
func DeclareGone(dir string, at time.Time) error {
	return folder(dir).write(goneFile, map[string]time.Time{"at": at})
}

func (f folder) declaredGone() bool {
	_, err := os.Lstat(f.path(goneFile))
	return err == nil
}

// Orphaned is an attempt whose supervisor died before it recorded an exit.
type Orphaned struct {
	Dir     string
	Attempt string
	Since   time.Time // when gaffer first failed to prove the attempt's end; zero if never
	Remains Remains
}

// FindOrphaned lists the orphaned attempts in the folders below home, each with its processes that
// may be alive. It leaves out attempts that were started on another machine, or before this machine
// was last booted. It changes nothing.
func FindOrphaned(home string) (list []Orphaned) {
	for _, f := range lockFolders(home) {
		a, err := f.readLockRecord()
		if err != nil || a.exit != nil || !a.hasSupervisor || host.OS().Alive(a.supervisor.Process) != host.Dead {
			continue
		}
		r := f.origin("", a)
		if r.attempt == "" || r.foreign || r.before {
			continue
		}
		list = append(list, Orphaned{Dir: string(f), Attempt: r.attempt, Since: a.unprovenSince, Remains: f.remains(r, a.supervisor)})
	}
	return list
}

// EndOrphaned ends the processes that certainly belong to an orphaned attempt. It returns the pids
// of those that still exist although they were killed.
func EndOrphaned(a Orphaned) (left []int, err error) {
	is, err := folder(a.Dir).readLockRecord()
	if err != nil {
		return nil, err
	}
	return sweepAttempt(a.Attempt, is.supervisor)
}

// remains finds processes that an attempt may have left when its supervisor died. The search may
// fail to prove that all of them have ended. Then a declaration by the user counts as proof, see
// [DeclareGone].
func (f folder) remains(r origin, by supervisorRecord) Remains {
	switch {
	case r.before, r.hidden && f.declaredGone():
		return Remains{Proof: Gone}
	case r.hidden:
		return Remains{Why: "it was started in another pid namespace"}
	}
	found := remainsOf(r.attempt, by)
	if found.Proof == Unproven && f.declaredGone() {
		return Remains{Proof: Gone}
	}
	return found
}

// lockFolders lists the folders below home that contain an attempt's lock file, at any depth. It
// skips folders whose names end with DoneSuffix.
func lockFolders(home string) (list []folder) {
	_ = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case !d.IsDir() && d.Name() == lockFile:
			list = append(list, folder(filepath.Dir(path)))
		case d.IsDir() && strings.HasSuffix(d.Name(), DoneSuffix):
			return filepath.SkipDir
		}
		return nil // skip the error: a folder may be deleted during the walk
	})
	return list
}

// DoneSuffix is the suffix that a worker appends to the name of an attempt's folder after it has
// reported the end of the attempt to the engine.
const DoneSuffix = ".done"

// neededGroups returns the control groups that are still needed to recover attempts: those of all
// attempts below home whose lock files contain no exit. The keys of the map are the groups'
// folders.
func neededGroups(home string) map[string]bool {
	claimed := map[string]bool{}
	for _, f := range lockFolders(home) {
		if a, err := f.readLockRecord(); err == nil && a.exit == nil && a.supervisor.Group != nil {
			claimed[a.supervisor.Group.Dir] = true
		}
	}
	return claimed
}

// parseSupervisorRecord parses a supervisorRecord. If the JSON is invalid, it returns an empty one.
// Fields may be missing, because older versions of gaffer wrote fewer fields.
func parseSupervisorRecord(text []byte) (s supervisorRecord) {
	if err := json.Unmarshal(text, &s); err != nil {
		return supervisorRecord{}
	}
	return s
}

// unproven returns nil if it is proved that no process of the attempt is alive. If processes of the
// attempt are certainly alive, it returns an error that names them. Otherwise it returns an
// [*UnprovenError].
func (r Remains) unproven(attempt string) error {
	switch r.Proof {
	case Gone:
		return nil
	case Remaining:
		return errors.New(describe(r.Processes) + " of it cannot be ended")
	}
	return &UnprovenError{Attempt: attempt, Remains: r}
}

// maxShown is the maximum number of processes that an error message names.
const maxShown = 3

func describe(list []Left) string {
	texts := []string{}
	for _, l := range list[:min(len(list), maxShown)] {
		texts = append(texts, l.String())
	}
	if more := len(list) - maxShown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}
