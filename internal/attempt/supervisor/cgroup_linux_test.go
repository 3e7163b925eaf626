package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

// groupsNamed lists the control groups of an attempt.
func groupsNamed(t *testing.T, attempt string) (list []string) {
	t.Helper()
	for _, below := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*"} {
		found, err := filepath.Glob(filepath.Join(below, "gaffer-*-"+attempt+"-*"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return list
}

func TestSecurityAnAbandonedControlGroupIsSwept(t *testing.T) {
	testenv.Integration(t)
	for _, version := range []string{"v2", "v1"} {
		t.Run(version, func(t *testing.T) {
			t.Setenv(supervisor.GroupsVar, version)
			home := t.TempDir()
			attempt := fmt.Sprintf("forgotten%d%s", os.Getpid(), version)
			log := filepath.Join(home, "log")
			start := func(name, attempt string) *supervisor.Process {
				p, err := supervisor.Start(t.Context(), filepath.Join(home, name), supervisor.Spec{
					Attempt: attempt, Argv: []string{"sh", "-c", "env -i setsid sleep 3600 & echo $!; wait"}, Dir: home, Log: log, Home: home,
				}, self())
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			lost, other := start("run/lost", attempt), start("run/other", attempt+"other")
			defer func() { _ = other.Stop("the test is over", true); _, _ = other.Wait(t.Context()) }()
			groups := groupsNamed(t, attempt)
			if len(groups) != 1 {
				t.Fatalf("groups: %q", groups)
			}
			testenv.Wait(t, "a process in the group", func() error {
				if data, err := os.ReadFile(log); err != nil || len(strings.Fields(string(data))) != 2 {
					return fmt.Errorf("%q, %w", data, err)
				}
				return nil
			})
			if left := supervisor.SweepGroups(home); len(left) > 0 || len(groupsNamed(t, attempt)) != 1 {
				t.Fatalf("the group of an attempt that runs was swept: %v", left)
			}
			_ = lost.Close()
			for _, pid := range []int{lost.Started().Supervisor.PID, lost.Started().Agent.PID} {
				if err := exec.Command("kill", "-9", fmt.Sprint(pid)).Run(); err != nil {
					t.Fatal(err)
				}
			}
			testenv.Wait(t, "an attempt that is to be recovered", func() error {
				if list := supervisor.FindOrphaned(home); len(list) != 1 || list[0].Remains.Proof != supervisor.Remaining {
					return fmt.Errorf("%+v", list)
				}
				return nil
			})
			if left := supervisor.SweepGroups(home); len(left) > 0 || len(groupsNamed(t, attempt)) != 1 {
				t.Fatalf("the group of an attempt that is to be recovered was swept: %v", left)
			}
			if err := os.RemoveAll(filepath.Join(home, "run/lost")); err != nil {
				t.Fatal(err)
			}
			testenv.Wait(t, "one process in a lost group", func() error {
				if got := supervisor.ListAbandoned(home); len(got) != 1 || got[0].Attempt != attempt || got[0].Command != "sleep 3600" {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
			elsewhere := t.TempDir()
			if left := supervisor.SweepGroups(elsewhere); len(left) > 0 || len(groupsNamed(t, attempt)) != 1 {
				t.Fatalf("a group of another state folder was swept: %v", left)
			}
			if left := supervisor.SweepGroups(home); len(left) > 0 || len(groupsNamed(t, attempt)) != 0 {
				t.Errorf("left: %v, %q", left, groupsNamed(t, attempt))
			}
			if len(groupsNamed(t, attempt+"other")) != 1 {
				t.Error("the group of another attempt was swept")
			}
		})
	}
}

func TestSecuritySubgroupsThatAnAgentCreatesEndWithIt(t *testing.T) {
	testenv.Integration(t)
	for version, groups := range map[string]string{"v2": "$(dirname $(ls -d /sys/fs/cgroup/unified/cgroup.procs /sys/fs/cgroup/cgroup.procs 2>/dev/null | tail -n 1))$(sed -n 's/^0:://p' /proc/self/cgroup)", "v1": "/sys/fs/cgroup/pids$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup)"} {
		t.Run(version, func(t *testing.T) {
			t.Setenv(supervisor.GroupsVar, version)
			home := t.TempDir()
			attempt := fmt.Sprintf("inner%d%s", os.Getpid(), version)
			p, err := supervisor.Start(t.Context(), filepath.Join(home, attempt), supervisor.Spec{
				Attempt: attempt, Dir: home, Log: filepath.Join(home, "log"),
				Argv: []string{"sh", "-c", "g=" + groups + "; mkdir -p $g/a/b $g/c && (env -i setsid sleep 3600 & echo $! > $g/a/b/cgroup.procs) && grep -q . $g/a/b/cgroup.procs"},
			}, self())
			if err != nil {
				t.Fatal(err)
			}
			exit, err := p.Wait(t.Context())
			if err != nil || exit.Code != 0 || len(exit.Left) > 0 || exit.Swept != 1 {
				log, _ := os.ReadFile(filepath.Join(home, "log"))
				t.Errorf("%+v, %v\n%s", exit, err, log)
			}
			if left := groupsNamed(t, attempt); len(left) > 0 {
				t.Errorf("groups are left: %q", left)
			}
		})
	}
}
