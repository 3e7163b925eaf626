package fleet

import "time"

// Schedule says when gaffer starts the same run again and again, and what happened at the planned
// times.
type Schedule struct {
	Name    string        `json:"name"`
	ID      string        `json:"id"`   // distinguishes schedules that had the same name at different times
	Cron    string        `json:"cron"` // the cron expression as the user has written it
	Zone    string        `json:"zone"` // IANA name of the time zone of Cron
	Missed  MissedRule    `json:"missed"`
	Overlap OverlapRule   `json:"overlap"`
	Jitter  int           `json:"jitter_seconds,omitempty"` // maximum delay of a run after its planned time, in seconds
	Project string        `json:"project"`                  // path of the folder that the runs work in
	Machine string        `json:"machine"`                  // name of the machine that has the folder
	User    string        `json:"user"`                     // name of the operating system's user whose gaffer starts the runs
	Args    []string      `json:"args"`                     // the arguments of 'gaffer run': plans and flags
	Added   time.Time     `json:"added"`
	State   ScheduleState `json:"state"`
	// Exporter is the program that starts the schedule's runs instead of 'gaffer serve': systemd or
	// cron. It is empty if 'gaffer serve' starts them.
	Exporter string      `json:"exported_to,omitempty"`
	Removed  time.Time   `json:"removed,omitzero"`
	Next     []time.Time `json:"next"`  // the next planned times; none if the schedule is paused or removed
	Fires    []Fire      `json:"fires"` // the latest planned times and what happened at them, oldest first
}

// LastFire returns the fire for which gaffer has decided last whether a run starts, or nil if there
// was none.
func (s Schedule) LastFire() *Fire {
	if len(s.Fires) == 0 {
		return nil
	}
	return &s.Fires[len(s.Fires)-1]
}

// ScheduleState says whether the runs of a schedule are started.
type ScheduleState string

// The values of ScheduleState.
const (
	ScheduleActive  ScheduleState = "active"
	SchedulePaused  ScheduleState = "paused"
	ScheduleRemoved ScheduleState = "removed" // 'gaffer schedule restore' brings it back
)

// MissedRule says what happens to planned times at which no server was running.
type MissedRule string

// The values of MissedRule.
const (
	MissedRunOnce MissedRule = "run-once" // one run for all missed times, if the last of them was at most a day ago
	MissedSkip    MissedRule = "skip"     // no run
	MissedRunAll  MissedRule = "run-all"  // one run for each of the last ten missed times of the last week, one after the other
)

// MissedRules returns the values of MissedRule. The first is the default.
func MissedRules() []MissedRule { return []MissedRule{MissedRunOnce, MissedSkip, MissedRunAll} }

// OverlapRule says what happens at a planned time while an earlier run of the schedule still runs.
type OverlapRule string

// The values of OverlapRule.
const (
	OverlapSkip  OverlapRule = "skip"  // no run at this time
	OverlapQueue OverlapRule = "queue" // the run starts when the earlier one has ended; at most one run waits, and further ones are skipped
	OverlapAllow OverlapRule = "allow" // the run starts at once
)

// OverlapRules returns the values of OverlapRule. The first is the default.
func OverlapRules() []OverlapRule { return []OverlapRule{OverlapSkip, OverlapQueue, OverlapAllow} }

// Fire is one planned time of a schedule, and what happened at it.
type Fire struct {
	ID      string     `json:"id"`              // unique within the schedule
	Planned time.Time  `json:"planned"`         // the planned time; for a run that a user asked for, the time of that request
	Count   int        `json:"count,omitempty"` // how many planned times this fire stands for; 0 means one
	By      string     `json:"by,omitempty"`    // the user who asked for the run; empty if it was planned by the schedule
	Decided time.Time  `json:"decided"`         // when gaffer decided whether a run starts
	Status  FireStatus `json:"status"`
	Why     string     `json:"why,omitempty"` // why there is no run, or why it waits
	Run     string     `json:"run,omitempty"` // id of the run
	// RunStatus is the status of the run. It is empty if there is no run, or if the run was pruned.
	RunStatus Status `json:"run_status,omitempty"`

	// Holder is the process that starts the run. After the time Lease, another process may start
	// the run instead. Both are set only while Status is FireStarting.
	Holder string    `json:"holder,omitempty"`
	Lease  time.Time `json:"lease,omitzero"`
}

// FireStatus says what happened at a planned time.
type FireStatus string

// The values of FireStatus.
const (
	FireWaiting  FireStatus = "waiting"  // the run waits until an earlier one has ended
	FireStarting FireStatus = "starting" // a process reads the plan, and then creates the run
	FireStarted  FireStatus = "started"  // the run exists
	FireFailed   FireStatus = "failed"   // the run could not be started
	FireSkipped  FireStatus = "skipped"  // no run starts: a rule for missed or overlapping runs forbids it, there was nothing to do, or the schedule was removed
)

// Final reports whether the status never changes again: the run exists, or there will be none.
func (s FireStatus) Final() bool { return s == FireStarted || s == FireFailed || s == FireSkipped }
