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

	"gaffer/statefile/host"
)

// marksOnly is the method where there are no control groups.
const marksOnly = "process marks only"

// signature is what a supervisor writes into the lock before there is an agent: who
// it is, and how everything that the agent starts can be known when it is dead.
type signature struct {
	host.Process
	// Group is nil if the attempt has no control group. Then the others say where
	// a process must be looked for that has left no mark.
	Group *group `json:"group,omitempty"`
	// Place is which control groups the supervisor is in, as /proc/PID/cgroup says
	// it. What it starts is there too.
	Place string `json:"place,omitempty"`
	// Since is the time in clock ticks since boot. What the agent starts has
	// started then or later.
	Since uint64 `json:"since,omitempty"`
	// Above are the processes above the supervisor. One of them, or the first
	// process of the machine, becomes the parent of what it leaves behind.
	Above []ancestor `json:"above,omitempty"`
}

// ancestor is a process that was above a supervisor.
type ancestor struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Proof is how sure it is that nothing of an attempt is alive.
type Proof int

// The answers.
const (
	Unproven  Proof = iota // processes may be of it, or cannot be seen
	Remaining              // processes of it are alive
	Gone                   // nothing of it is alive
)

// Remains is what of an attempt may be alive although its supervisor is dead.
type Remains struct {
	Proof     Proof
	Processes []Left
	Why       string // it is not proven
}

// Left is a process that an attempt has left behind, or may have.
type Left struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

func (l Left) String() string {
	command := []rune(l.Command)
	if len(command) > 40 {
		command = append(command[:40], '…')
	}
	return fmt.Sprintf("pid %d (%s)", l.PID, string(command))
}

// UnprovenError is an attempt of which something may be alive.
type UnprovenError struct {
	Attempt string
	Since   time.Time // when that was first found
	Remains Remains
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("its supervisor was killed, and %s", e.Remains.Why)
}

// Hint says what to do next.
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

// goneFile is in the folder of an attempt of which a person has said that nothing
// is alive.
const goneFile = "gone"

// DeclareGone notes that a person says that nothing is alive of the attempt in a
// folder which cannot be proved to be gone.
func DeclareGone(dir string, at time.Time) error {
	return folder(dir).write(goneFile, map[string]time.Time{"at": at})
}

func (f folder) declaredGone() bool {
	_, err := os.Lstat(f.path(goneFile))
	return err == nil
}

// Orphaned is an attempt whose supervisor is dead and has not recorded its end.
type Orphaned struct {
	Dir     string
	Attempt string
	Since   time.Time // when it was first found that its end cannot be proved; zero if it was not
	Remains Remains
}

// FindOrphaned lists the attempts with folders below home whose supervisors are
// dead without having recorded an end, and what of them may be alive. It ends and
// changes nothing.
func FindOrphaned(home string) (list []Orphaned) {
	for _, f := range lockFolders(home) {
		a, err := f.account()
		if err != nil || a.exit != nil || !a.signed || host.OS().Alive(a.by.Process) != host.Dead {
			continue
		}
		r := f.examine("", a)
		if r.attempt == "" || r.foreign || r.before {
			continue
		}
		list = append(list, Orphaned{Dir: string(f), Attempt: r.attempt, Since: a.doubted, Remains: f.remains(r, a.by)})
	}
	return list
}

// EndOrphaned ends what is known to be alive of such an attempt, and returns what
// is left although it was killed.
func EndOrphaned(a Orphaned) (left []int, err error) {
	is, err := folder(a.Dir).account()
	if err != nil {
		return nil, err
	}
	return sweepAttempt(a.Attempt, is.by.Group)
}

// remains answers what of an attempt may be alive whose supervisor is dead.
func (f folder) remains(r remains, by signature) Remains {
	switch {
	case r.before:
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

// lockFolders lists the folders below home that hold a lock. There may be folders
// in the folder of an attempt.
func lockFolders(home string) (list []folder) {
	_ = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case !d.IsDir() && d.Name() == lockFile:
			list = append(list, folder(filepath.Dir(path)))
		case d.IsDir() && strings.HasSuffix(d.Name(), DoneSuffix):
			return filepath.SkipDir
		}
		return nil // a folder may go while it is looked at
	})
	return list
}

// DoneSuffix ends the name of the folder of an attempt that was reported.
const DoneSuffix = ".done"

// claims lists the control groups of attempts that are to be recovered by their
// records.
func claims(home string) map[string]bool {
	claimed := map[string]bool{}
	for _, f := range lockFolders(home) {
		if a, err := f.account(); err == nil && a.exit == nil && a.by.Group != nil {
			claimed[a.by.Group.Dir] = true
		}
	}
	return claimed
}

// parseSignature reads what a supervisor has signed with. Older ones have said less.
func parseSignature(text []byte) (s signature) {
	if err := json.Unmarshal(text, &s); err != nil {
		return signature{}
	}
	return s
}

// unproven is the error for an attempt that is not proven to be gone, if that is so.
func (r Remains) unproven(attempt string) error {
	switch r.Proof {
	case Gone:
		return nil
	case Remaining:
		return errors.New(describe(r.Processes) + " of it cannot be ended")
	}
	return &UnprovenError{Attempt: attempt, Remains: r}
}

// mostShown is how many processes are named in a message.
const mostShown = 3

func describe(list []Left) string {
	texts := []string{}
	for _, l := range list[:min(len(list), mostShown)] {
		texts = append(texts, l.String())
	}
	if more := len(list) - mostShown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}
