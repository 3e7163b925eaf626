// Package schedule has the rules of schedules: at which times runs are planned, what happens to
// planned times that were missed, and what happens at a planned time if an earlier run has not
// ended. The package does not read the clock: callers pass the current time. The exported methods
// of a [Schedule] do not modify it; they return a changed copy.
package schedule

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/statefile/lazyregexp"
)

// Limits and durations of schedules.
const (
	// OnTime is how late a run may start and still count as on time. If it would start later, its
	// planned time counts as missed.
	OnTime = 5 * time.Minute
	// MissedAge is an age limit for the rule [fleet.MissedRunOnce], which starts one run for all
	// missed planned times. If even the latest of these times is older than MissedAge, no run
	// starts.
	MissedAge = 24 * time.Hour
	// MissedAllAge is an age limit for the rule [fleet.MissedRunAll], which starts one run for each
	// missed planned time. Older planned times get no run, whatever the rule is.
	MissedAllAge = 7 * 24 * time.Hour
	// MissedAllCount is the maximum number of missed planned times for which the rule
	// [fleet.MissedRunAll] starts runs.
	MissedAllCount = 10
	// StartLease is how long the lease of a process that starts a run lasts. If the process does
	// not renew its lease within this time, another process may start the run.
	StartLease = 30 * time.Second
	// MaxJitter is the maximum value of [Schedule.Jitter], the maximum delay of a run after its
	// planned time.
	MaxJitter = 12 * time.Hour
	// RestoreWithin is how long after its removal a schedule can be restored.
	RestoreWithin = 30 * 24 * time.Hour
	// keptFires is the maximum number of entries with a final status in the log [Schedule.Fires].
	keptFires = 30
)

// Schedule is a schedule as the store contains it. [fleet.Schedule] documents the fields that both
// types have.
type Schedule struct {
	Name     string            `json:"name"`
	ID       string            `json:"id"`
	Cron     string            `json:"cron"`
	Zone     string            `json:"zone"`
	Missed   fleet.MissedRule  `json:"missed"`
	Overlap  fleet.OverlapRule `json:"overlap"`
	Jitter   time.Duration     `json:"jitter,omitempty"`
	Project  string            `json:"project"`
	Machine  string            `json:"machine"`
	User     string            `json:"user"`
	Args     []string          `json:"args"`
	Added    time.Time         `json:"added"`
	Paused   bool              `json:"paused,omitempty"`
	Exporter string            `json:"exporter,omitempty"`
	Removed  time.Time         `json:"removed,omitzero"`
	// Through is the time up to which gaffer has decided, for each planned time, whether a run
	// starts. [Schedule.Decide] considers only later planned times.
	Through time.Time `json:"through"`
	// Fires is a log, oldest entry first. It has the latest decisions about planned times, and the
	// latest runs that users asked for.
	Fires []fleet.Fire `json:"fires,omitempty"`
}

// Times returns the planned times that Cron and Zone describe. Its errors are those of [Parse].
func (s Schedule) Times() (Times, error) { return Parse(s.Cron, s.Zone) }

// State returns whether the schedule is active, paused or removed.
func (s Schedule) State() fleet.ScheduleState {
	switch {
	case !s.Removed.IsZero():
		return fleet.ScheduleRemoved
	case s.Paused:
		return fleet.SchedulePaused
	}
	return fleet.ScheduleActive
}

// View returns the schedule as users see it. The function status must return the status of a run,
// or "" if the run does not exist any more.
func (s Schedule) View(now time.Time, status func(run string) fleet.Status) fleet.Schedule {
	v := fleet.Schedule{
		Name: s.Name, ID: s.ID, Cron: s.Cron, Zone: s.Zone, Missed: s.Missed, Overlap: s.Overlap, Jitter: int(s.Jitter.Seconds()), Project: s.Project, Machine: s.Machine,
		User: s.User, Args: s.Args, Added: s.Added, State: s.State(), Exporter: s.Exporter, Removed: s.Removed, Next: []time.Time{}, Fires: []fleet.Fire{},
	}
	if times, err := s.Times(); err == nil && v.State == fleet.ScheduleActive {
		v.Next = times.Upcoming(now, 3)
	}
	for _, f := range s.Fires {
		if f.Run != "" {
			f.RunStatus = status(f.Run)
		}
		v.Fires = append(v.Fires, f)
	}
	return v
}

// delay returns how much later than planned a run starts because of Jitter. The delay depends only
// on the schedule and the planned time, so all servers compute the same delay.
func (s Schedule) delay(planned time.Time) time.Duration {
	if s.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", s.ID, planned.Unix()) // a hash returns no errors
	return time.Duration(h.Sum64() % uint64(s.Jitter)).Truncate(time.Second)
}

// StartTime returns when the run for a planned time starts: at that time or, with Jitter, later.
func (s Schedule) StartTime(planned time.Time) time.Time { return planned.Add(s.delay(planned)) }

// due returns the planned times that need a decision now, the earliest first: those after s.Through
// whose StartTime has come. It stops at the first planned time whose StartTime is in the future.
func (s Schedule) due(times Times, now time.Time) (list []time.Time) {
	for after := s.Through; ; {
		after = times.Next(after)
		if after.IsZero() || s.StartTime(after).After(now) {
			return list
		}
		list = append(list, after)
	}
}

// NeedsDecision reports whether [Schedule.Decide] may change something. It is cheap, so that a
// server can call it every second.
func (s Schedule) NeedsDecision(now time.Time) bool {
	if s.State() == fleet.ScheduleRemoved {
		return false
	}
	for _, f := range s.Fires {
		if f.Status == fleet.FireWaiting && !s.Paused || f.Status == fleet.FireStarting && !f.Lease.After(now) {
			return true
		}
	}
	if s.Paused {
		return false
	}
	times, err := s.Times()
	if err != nil {
		return false
	}
	next := times.Next(s.Through)
	return !next.IsZero() && !s.StartTime(next).After(now)
}

// Decision holds what [Schedule.Decide] needs in addition to the schedule.
type Decision struct {
	Now    time.Time
	Active func(run string) bool // reports whether a run has not ended
	Holder string                // id of the process that decides, and that will start the runs
}

// Decide decides which planned times up to d.Now get runs, and starts a waiting run if no earlier
// run prevents it. If another process was starting a run but its lease has expired, Decide takes
// over this run. It returns the changed schedule, and the ids of the entries in the log Fires whose
// runs the process d.Holder must start now. For a paused schedule, it only takes over runs. A
// removed schedule stays unchanged.
func (s Schedule) Decide(d Decision) (decided Schedule, start []string, err error) {
	if s.State() == fleet.ScheduleRemoved {
		return s, nil, nil
	}
	s.Fires = slices.Clone(s.Fires)
	if !s.Paused {
		times, err := s.Times()
		if err != nil {
			return s, nil, err
		}
		s.decideDue(times, d)
		s.startWaiting(d)
	}
	for i, f := range s.Fires {
		if f.Status == fleet.FireStarting && !f.Lease.After(d.Now) {
			s.Fires[i].Holder, s.Fires[i].Lease = d.Holder, d.Now.Add(StartLease)
			start = append(start, f.ID)
		}
	}
	s.dropOld()
	return s, start, nil
}

// decideDue decides which planned times up to d.Now get runs, as the rule for missed times
// requires. It adds the decisions to the log Fires. Then it moves Through to the last of these
// times, so that no later call decides about them again.
func (s *Schedule) decideDue(times Times, d Decision) {
	oldest := d.Now.Add(-MissedAllAge)
	if first := times.Next(s.Through); !first.IsZero() && first.Before(oldest) {
		s.skip([]time.Time{first}, d.Now, "no server was running, and the time is more than a week ago")
		s.Through = oldest
	}
	due := s.due(times, d.Now)
	if len(due) == 0 {
		return
	}
	last := due[len(due)-1]
	late := d.Now.Sub(s.StartTime(last))
	onTime := late <= OnTime
	s.Through = last
	switch s.Missed {
	case fleet.MissedSkip:
		missed := due
		if onTime {
			missed = due[:len(due)-1]
		}
		s.skip(missed, d.Now, "no server was running")
		if onTime {
			s.add(last, 1, d)
		}
	case fleet.MissedRunAll:
		from := max(len(due)-MissedAllCount, 0)
		s.skip(due[:from], d.Now, fmt.Sprintf("no server was running, and only the last %d missed times are run", MissedAllCount))
		if onTime && len(due) == 1 {
			s.add(last, 1, d)
			return
		}
		for _, planned := range due[from:] {
			s.addMissed(planned, d)
		}
	default:
		if !onTime && late > MissedAge {
			s.skip(due, d.Now, "no server was running, and the time is more than a day ago")
			return
		}
		s.add(last, len(due), d)
	}
}

// skip adds one entry to the log Fires, which says that the given planned times get no runs. The
// parameter why is the explanation for users.
func (s *Schedule) skip(times []time.Time, now time.Time, why string) {
	if len(times) == 0 {
		return
	}
	f := newFire(times[len(times)-1], len(times), now)
	f.Status, f.Why = fleet.FireSkipped, why
	s.Fires = append(s.Fires, f)
}

func newFire(planned time.Time, count int, now time.Time) fleet.Fire {
	if count == 1 {
		count = 0
	}
	return fleet.Fire{ID: planned.UTC().Format(time.RFC3339), Planned: planned.UTC(), Count: count, Decided: now}
}

// add adds an entry to the log Fires for a planned time at which a run should start. The parameter
// count is the number of planned times that this run makes up for, including its own. If an earlier
// run has not ended, the rule for overlaps decides whether the new run starts, waits or is skipped.
func (s *Schedule) add(planned time.Time, count int, d Decision) {
	f := newFire(planned, count, d.Now)
	earlier := s.unfinished(d)
	waits := slices.ContainsFunc(s.Fires, func(f fleet.Fire) bool { return f.Status == fleet.FireWaiting })
	switch {
	case earlier == "" || s.Overlap == fleet.OverlapAllow:
		f.Status = fleet.FireStarting
	case s.Overlap == fleet.OverlapQueue && !waits:
		f.Status, f.Why = fleet.FireWaiting, earlier
	case s.Overlap == fleet.OverlapQueue:
		f.Status, f.Why = fleet.FireSkipped, earlier+", and another one waits for it"
	default:
		f.Status, f.Why = fleet.FireSkipped, earlier
	}
	s.Fires = append(s.Fires, f)
}

// addMissed adds an entry to the log Fires for a planned time, under the rule [fleet.MissedRunAll]:
// each missed planned time gets its own run. If the rule for overlaps is [fleet.OverlapAllow], this
// run starts at once. With the other rules, it waits if an earlier run has not ended.
func (s *Schedule) addMissed(planned time.Time, d Decision) {
	f := newFire(planned, 1, d.Now)
	f.Status = fleet.FireStarting
	if earlier := s.unfinished(d); earlier != "" && s.Overlap != fleet.OverlapAllow {
		f.Status, f.Why = fleet.FireWaiting, earlier
	}
	s.Fires = append(s.Fires, f)
}

// unfinished returns a text for users about an earlier run of the schedule that has not ended, or
// that has not started yet. It returns "" if there is none.
func (s *Schedule) unfinished(d Decision) string {
	for _, f := range slices.Backward(s.Fires) {
		switch {
		case f.Status == fleet.FireStarted && d.Active(f.Run):
			return "run " + f.Run + " has not ended"
		case f.Status == fleet.FireStarting || f.Status == fleet.FireWaiting:
			return "the run of " + f.Planned.UTC().Format("2006-01-02 15:04") + " UTC has not ended"
		}
	}
	return ""
}

// startWaiting finds the first waiting run in the log Fires and sets its status to starting. It
// does nothing if another run of the schedule is starting or has not ended.
func (s *Schedule) startWaiting(d Decision) {
	for _, f := range s.Fires {
		if f.Status == fleet.FireStarting || f.Status == fleet.FireStarted && d.Active(f.Run) {
			return
		}
	}
	if i := slices.IndexFunc(s.Fires, func(f fleet.Fire) bool { return f.Status == fleet.FireWaiting }); i >= 0 {
		s.Fires[i].Status, s.Fires[i].Why = fleet.FireStarting, ""
	}
}

// dropOld deletes the oldest entries with a final status from the log Fires, until at most
// keptFires such entries are left.
func (s *Schedule) dropOld() {
	final := 0
	for _, f := range slices.Backward(s.Fires) {
		if f.Status.Final() {
			final++
		}
	}
	s.Fires = slices.DeleteFunc(s.Fires, func(f fleet.Fire) bool {
		drop := final > keptFires && f.Status.Final()
		if drop {
			final--
		}
		return drop
	})
}

// RunNow returns the schedule with an additional entry in the log Fires, for a run that starts now.
// The parameter by is the user who asks for the run, and holder is the id of the process that must
// start it. The planned times, the rule for overlaps and a pause do not affect this run.
func (s Schedule) RunNow(id, by, holder string, now time.Time) Schedule {
	s.Fires = append(slices.Clone(s.Fires), fleet.Fire{
		ID: id, Planned: now.UTC(), By: by, Decided: now, Status: fleet.FireStarting, Holder: holder, Lease: now.Add(StartLease),
	})
	s.dropOld()
	return s
}

// Renew extends the lease with which a process starts a run. The parameter id is the id of the
// run's entry in the log Fires, holder is the id of the process, and lease is how long the lease
// lasts from now. If lease is zero, another process may start the run at once. Renew returns false
// if this process is not starting this run.
func (s Schedule) Renew(id, holder string, now time.Time, lease time.Duration) (Schedule, bool) {
	s.Fires = slices.Clone(s.Fires)
	for i := range s.Fires {
		if f := &s.Fires[i]; f.ID == id && f.Holder == holder && f.Status == fleet.FireStarting {
			f.Lease = now.Add(lease)
			return s, true
		}
	}
	return s, false
}

// Fire returns the entry with this id in the log Fires, and false if there is none.
func (s Schedule) Fire(id string) (fleet.Fire, bool) {
	i := slices.IndexFunc(s.Fires, func(f fleet.Fire) bool { return f.ID == id })
	if i < 0 {
		return fleet.Fire{}, false
	}
	return s.Fires[i], true
}

// Started records that a planned or requested run exists now. The parameter id is the id of the
// run's entry in the log Fires, and run is the id of the run itself. Started returns false if it
// changes nothing, because this was recorded before or there is no such entry.
func (s Schedule) Started(id, run string) (Schedule, bool) {
	return s.end(id, func(f *fleet.Fire) bool {
		if f.Status == fleet.FireStarted {
			return false
		}
		f.Status, f.Run, f.Why = fleet.FireStarted, run, ""
		return true
	})
}

// Failed records why a run could not be started. The parameter id is the id of the run's entry in
// the log Fires. If this entry does not have the status starting, Failed changes nothing and
// returns false.
func (s Schedule) Failed(id, why string) (Schedule, bool) {
	return s.end(id, func(f *fleet.Fire) bool {
		if f.Status != fleet.FireStarting {
			return false
		}
		f.Status, f.Why = fleet.FireFailed, why
		return true
	})
}

// NothingToDo records that no run starts for an entry in the log Fires, because there was nothing
// to do. The parameter id is the id of the entry, and why is the explanation for users. If the
// entry does not have the status starting, NothingToDo changes nothing and returns false.
func (s Schedule) NothingToDo(id, why string) (Schedule, bool) {
	return s.end(id, func(f *fleet.Fire) bool {
		if f.Status != fleet.FireStarting {
			return false
		}
		f.Status, f.Why = fleet.FireSkipped, why
		return true
	})
}

func (s Schedule) end(id string, change func(*fleet.Fire) bool) (Schedule, bool) {
	s.Fires = slices.Clone(s.Fires)
	for i := range s.Fires {
		if f := &s.Fires[i]; f.ID == id && change(f) {
			f.Holder, f.Lease = "", time.Time{}
			return s, true
		}
	}
	return s, false
}

// Pause returns the schedule in the state paused. No runs start at its planned times until
// [Schedule.Resume].
func (s Schedule) Pause() Schedule {
	s.Paused = true
	return s
}

// Resume returns the schedule in the state active. Planned times up to now that are not decided yet
// get no runs and do not count as missed.
func (s Schedule) Resume(now time.Time) Schedule {
	if s.Through.Before(now) {
		s.Through = now
	}
	s.Paused = false
	return s
}

// Remove returns the schedule in the state removed. A removed schedule starts no more runs and can
// only be restored. Runs that were waiting for an earlier run to end are skipped.
func (s Schedule) Remove(now time.Time) Schedule {
	s.Removed = now
	s.Fires = slices.Clone(s.Fires)
	for i := range s.Fires {
		if f := &s.Fires[i]; f.Status == fleet.FireWaiting {
			f.Status, f.Why = fleet.FireSkipped, "the schedule was removed"
		}
	}
	return s
}

// Restore returns a removed schedule in the state that it had before. Planned times between removal
// and restoration do not count as missed.
func (s Schedule) Restore(now time.Time) Schedule {
	s.Removed = time.Time{}
	if s.Through.Before(now) {
		s.Through = now
	}
	return s
}

// Key returns the idempotency key with which a run of the schedule is submitted. The parameter fire
// is the id of the run's entry in the log Fires.
func (s Schedule) Key(fire string) string { return "schedule " + s.ID + " " + fire }

// StartedBy returns the value of [store.Run.StartedBy] for the schedule's runs.
func (s Schedule) StartedBy() string { return "schedule " + s.Name }

var validName = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,59}$`)

// NameError reports a text that cannot be the name of a schedule.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("a schedule cannot be called %q: a name has up to 60 characters, small letters, digits, - _ and . and begins with a letter or digit", e.Name)
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *NameError) Usage() bool { return true }

// CheckName returns a [*NameError] if name cannot be the name of a schedule.
func CheckName(name string) error {
	if !validName().MatchString(name) {
		return &NameError{name}
	}
	return nil
}

// NameOf turns the name of a plan into the name of a schedule. It replaces invalid characters by
// dashes and keeps at most 40 characters. It returns "" if no letter or digit is left.
func NameOf(plan string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		}
		return '-'
	}, strings.ToLower(plan))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	name = strings.Trim(name, "-._")
	if len(name) > 40 {
		name = strings.Trim(name[:40], "-._")
	}
	return name
}
