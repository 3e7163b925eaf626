package app_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/app"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// serveSchedules is an environment variable. It makes this test program serve the schedules of the
// project that it names, until the process is killed.
const serveSchedules = "GAFFER_TEST_SERVE_SCHEDULES"

// fastClock is a clock that starts at a time in November 2026 and runs faster than the real one.
type fastClock struct {
	started time.Time
	speed   time.Duration
}

func (c fastClock) now() time.Time {
	return time.Date(2026, 11, 20, 1, 59, 30, 0, time.UTC).Add(time.Since(c.started) * c.speed)
}

func (p testProject) openAt(now func() time.Time) *app.App {
	opts := p.options(func(string) string { return "" })
	opts.Now = now
	a, err := app.Open(context.Background(), opts)
	if err != nil {
		panic(err)
	}
	return a
}

// onePlan is the plan of all schedules.
func onePlan(context.Context, string, []string) (plan.Plan, error) {
	return plan.Plan{Name: "night", Source: plan.SourceOrchestrate, Tasks: []plan.Task{shell("a", "true")}}, nil
}

// beServer serves the schedules of a project as 'gaffer serve' does.
func beServer(text string) error {
	part := strings.Split(text, "\n")
	started, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil {
		return err
	}
	p := testProject{root: part[0], home: part[1]}
	a := p.openAt(fastClock{time.Unix(0, started), 60}.now)
	if _, err := a.Serve(app.ServerOptions{LoadPlan: onePlan}); err != nil {
		return err
	}
	fmt.Println("ready")
	select {} // until the process is killed
}

// However often a server is killed, each planned time has one run.
func TestEachPlannedTimeHasOneRunHoweverOftenTheServerIsKilled(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	kills := 0
	for range testenv.Count(0, 2, 10) {
		kills += killServers(t)
	}
	t.Logf("%d kills of a serving gaffer", kills)
}

func killServers(t *testing.T) (kills int) {
	p := newPlace(t)
	clock := fastClock{time.Now(), 60} // a minute takes a second
	a := p.openAt(clock.now)
	defer a.Close()
	all, err := a.Schedules(onePlan)
	if err != nil {
		t.Fatal(err)
	}
	_, err = all.Add(t.Context(), schedule.Schedule{
		Name: "often", Cron: "* * * * *", Zone: "UTC", Missed: fleet.MissedRunAll, Overlap: fleet.OverlapAllow, Project: p.root,
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func() (fleet.Schedule, error) { return all.Get(t.Context(), "often") }
	for s, err := get(); err == nil && len(s.Fires) < 12; s, err = get() {
		g := exec.Command(os.Args[0])
		g.Env = append(os.Environ(), serveSchedules+"="+strings.Join([]string{p.root, p.home, fmt.Sprint(clock.started.UnixNano())}, "\n"))
		g.Stderr = os.Stderr
		out, err := g.StdoutPipe()
		if err = errors.Join(err, g.Start()); err != nil {
			t.Fatal(err)
		}
		_, _ = bufio.NewReader(out).ReadString('\n') // ignore the error: a process that cannot serve is killed like the others
		if kills%3 == 2 {                            // kill right after a decision or a submission
			testenv.Poll(5*time.Second, func() bool {
				s, err := get()
				return err == nil && len(s.Fires) > 0 && !s.LastFire().Status.Final()
			})
		} else {
			time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond) // kill after a random time
		}
		_ = g.Process.Kill()
		_ = g.Wait()
		kills++
	}
	if _, err := all.Pause(t.Context(), "often"); err != nil {
		t.Fatal(err)
	}
	// A last server starts what the killed ones have left.
	last := p.openAt(clock.now)
	served, err := last.Serve(app.ServerOptions{LoadPlan: onePlan})
	if err != nil {
		t.Fatal(err)
	}
	s := until(t, "all fires are over", get, func(s fleet.Schedule) bool {
		for _, f := range s.Fires {
			if !f.Status.Final() {
				return false
			}
		}
		return true
	})
	served.Close()
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	runs, err := a.Fleet.Runs(t.Context(), true, true)
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]string{}
	for i, f := range s.Fires {
		if i > 0 && !f.Planned.Equal(s.Fires[i-1].Planned.Add(time.Duration(max(f.Count, 1))*time.Minute)) {
			t.Errorf("after %s comes %s", s.Fires[i-1].ID, f.ID)
		}
		if f.Status == fleet.FireSkipped && f.Count > 0 {
			continue // the machine is so slow that more times were missed than are run
		}
		if f.Status != fleet.FireStarted || started[f.Run] != "" {
			t.Errorf("%s: %s, run %q, which is also that of %q: %s", f.ID, f.Status, f.Run, started[f.Run], f.Why)
		}
		started[f.Run] = f.ID
	}
	for _, r := range runs {
		if r.StartedBy != "schedule often" || started[r.ID] == "" {
			t.Errorf("run %s, started by %q, belongs to no planned time", r.ID, r.StartedBy)
		}
	}
	if len(runs) != len(started) {
		t.Errorf("%d runs for %d planned times", len(runs), len(started))
	}
	return kills
}

func TestAScheduleThatCannotStartIsShownAndTheOthersRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := t.TempDir()
	// The clock stands still until all schedules are added. Otherwise one that is added late would
	// not run before the next day.
	var added atomic.Pointer[time.Time]
	a := p.openAt(func() time.Time {
		started := time.Now()
		if at := added.Load(); at != nil {
			started = *at
		}
		return fastClock{started, 60}.now()
	})
	load := func(ctx context.Context, root string, args []string) (plan.Plan, error) {
		switch args[0] {
		case "unreadable":
			return plan.Plan{}, errors.New("plan.yaml does not exist")
		case "lacking":
			return plan.Plan{Name: "x", Tasks: []plan.Task{{ID: "a", Agent: plan.CommandAgent, Argv: []string{"no-such-program-here"}}}}, nil
		}
		return onePlan(ctx, root, args)
	}
	served, err := a.Serve(app.ServerOptions{LoadPlan: load})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		served.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := map[string]string{
		"unreadable": "plan.yaml does not exist", "lacking": "no-such-program-here is not installed", "gone": "no such file", "fine": "", "elsewhere": "",
	}
	for name := range want {
		n := schedule.Schedule{Name: name, Cron: "0 2 * * *", Zone: "UTC", Missed: fleet.MissedRunOnce, Overlap: fleet.OverlapSkip, Project: p.root, Args: []string{name}}
		switch name {
		case "gone":
			n.Project = filepath.Join(other, "gone")
		case "elsewhere":
			n.Project = other
		}
		if _, err := served.Schedules.Add(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	added.Store(new(time.Now()))
	list := until(t, "all have come to an end", func() ([]fleet.Schedule, error) { return served.Schedules.List(t.Context(), false) }, func(list []fleet.Schedule) bool {
		for _, s := range list {
			if f := s.LastFire(); f == nil || !f.Status.Final() {
				return false
			}
		}
		return true
	})
	for _, s := range list {
		f := s.LastFire()
		if why := want[s.Name]; !strings.Contains(f.Why, why) || (why == "") != (f.Status == fleet.FireStarted) {
			t.Errorf("%s: %+v, want %q", s.Name, f, why)
		}
	}
	runs, err := a.Fleet.Runs(t.Context(), true, true)
	if err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if want := map[string]string{"schedule fine": p.root, "schedule elsewhere": other}[r.StartedBy]; r.Project != want {
			t.Errorf("the run of %s works in %s", r.StartedBy, r.Project)
		}
	}
}

func TestSecurityARequestStartsNoScheduleWhereItMayStartNoRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	by := credential.Identity{ID: "t1", Name: "ada", Role: credential.Operator}
	for name, c := range map[string]struct {
		options app.ServerOptions
		refused string
	}{
		"workers only":         {app.ServerOptions{LoadPlan: onePlan, WorkersOnly: true}, "only on its workers"},
		"no plans can be read": {app.ServerOptions{}, "starts no runs of schedules"},
		"allowed":              {app.ServerOptions{LoadPlan: onePlan}, ""},
	} {
		a := p.open()
		served, err := a.Serve(c.options)
		if err != nil {
			t.Fatal(err)
		}
		n := schedule.Schedule{Name: schedule.NameOf(name), Cron: "@yearly", Zone: "UTC", Missed: fleet.MissedSkip, Overlap: fleet.OverlapSkip, Project: p.root}
		if _, err := served.Schedules.Add(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		f, warning, err := served.Schedules.Run(t.Context(), by, n.Name)
		var conflict interface{ Conflict() bool }
		switch {
		case c.refused != "" && (!errors.As(err, &conflict) || !strings.Contains(err.Error(), c.refused) || f.Run != ""):
			t.Errorf("%s: %+v, %v", name, f, err)
		case c.refused == "" && (err != nil || f.Run == "" || f.By != "ada" || !strings.Contains(warning, "no gaffer works on run")):
			t.Errorf("%s: %+v, %q, %v", name, f, warning, err) // in a test no process can work on the run
		}
		served.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
