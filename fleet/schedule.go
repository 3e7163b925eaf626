package fleet

import "time"

// Schedule describes at which times gaffer regularly starts a run of the same plans. It also lists
// what happened at the latest of these times.
type Schedule struct {
	Name    string        `json:"name"`
	ID      string        `json:"id"`   // unique id, because a new schedule can have the name of a removed one
	Cron    string        `json:"cron"` // the cron expression as the user has written it
	Zone    string        `json:"zone"` // IANA name of the time zone of Cron
	Missed  MissedRule    `json:"missed"`
	Overlap OverlapRule   `json:"overlap"`
	Jitter  int           `json:"jitter_seconds,omitempty"` // maximum delay of a run after its planned time, in seconds
	Project string        `json:"project"`                  // path of the folder that the runs work in
	Machine string        `json:"machine"`                  // name of the machine that has the folder Project
	User    string        `json:"user"`                     // name of the operating system user that starts the runs
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

// LastFire returns the last entry of Fires, or nil if there is none.
func (s Schedule) LastFire() *Fire {
	if len(s.Fires) == 0 {
		return nil
	}
	return &s.Fires[len(s.Fires)-1]
}

// ScheduleState says whether gaffer starts the runs of a schedule.
type ScheduleState string

// The values of ScheduleState.
const (
	ScheduleActive  ScheduleState = "active"
	SchedulePaused  ScheduleState = "paused"
	ScheduleRemoved ScheduleState = "removed" // removed by the user; can be restored for 30 days
)

// MissedRule says what happens to planned times at which no server was running.
type MissedRule string

// The values of MissedRule.
const (
	// MissedRunOnce starts one run for all missed times, if the last of them was at most a day ago.
	MissedRunOnce MissedRule = "run-once"
	MissedSkip    MissedRule = "skip" // no run
	// MissedRunAll starts one run for each of the last ten missed times of the last week. With
	// OverlapAllow, these runs do not wait for each other; otherwise each starts when the one
	// before has ended.
	MissedRunAll MissedRule = "run-all"
)

// MissedRules returns the values of MissedRule. The first is the default.
func MissedRules() []MissedRule { return []MissedRule{MissedRunOnce, MissedSkip, MissedRunAll} }

// OverlapRule says what happens at a planned time while an earlier run of the schedule still runs.
type OverlapRule string

// The values of OverlapRule.
const (
	OverlapSkip OverlapRule = "skip" // no run starts at the planned time
	// OverlapQueue starts the run when the earlier run has ended. If another run is already waiting
	// for that, the new run is skipped. With MissedRunAll, however, several runs may wait.
	OverlapQueue OverlapRule = "queue"
	OverlapAllow OverlapRule = "allow" // the run starts at the planned time
)

// OverlapRules returns the values of OverlapRule. The first is the default.
func OverlapRules() []OverlapRule { return []OverlapRule{OverlapSkip, OverlapQueue, OverlapAllow} }

// Fire says what happened at one planned time of a schedule, or when a user asked to start its run
// at once.
type Fire struct {
	ID string `json:"id"` // unique within the schedule
	// Planned is the planned time. For a run that a user asked for, it is the time of the request.
	Planned time.Time `json:"planned"`
	// Count is the number of planned times that this Fire is about; 0 means one. For example, one
	// run may make up for three missed times.
	Count   int        `json:"count,omitempty"`
	By      string     `json:"by,omitempty"` // user who asked for the run; empty if the schedule planned it
	Decided time.Time  `json:"decided"`      // when gaffer decided whether a run starts
	Status  FireStatus `json:"status"`
	Why     string     `json:"why,omitempty"` // why no run was started, or why the run still waits
	Run     string     `json:"run,omitempty"` // id of the started run; empty if there is none
	// RunStatus is the status of the started run. It is empty if no run was started, or if the run
	// was deleted.
	RunStatus Status `json:"run_status,omitempty"`

	// Holder is the id of the process that starts the run. Lease is the time until which only this
	// process may start the run. After that, another process may start it. Both are set only while
	// Status is FireStarting.
	Holder string    `json:"holder,omitempty"`
	Lease  time.Time `json:"lease,omitzero"`
}

// FireStatus says what happened at a planned time of a schedule.
type FireStatus string

// The values of FireStatus.
const (
	FireWaiting  FireStatus = "waiting"  // the run waits until an earlier run of the schedule has ended
	FireStarting FireStatus = "starting" // a process reads the plan, and then creates the run
	FireStarted  FireStatus = "started"  // the run exists
	FireFailed   FireStatus = "failed"   // the run could not be started
	// FireSkipped means that no run starts. The reason is a rule for missed or overlapping runs, or
	// that there was no task to do, or that the schedule was removed.
	FireSkipped FireStatus = "skipped"
)

// Final reports whether it is certain what happened at the planned time: the run was started, could
// not be started, or was skipped.
func (s FireStatus) Final() bool { return s == FireStarted || s == FireFailed || s == FireSkipped }
