package host_test

import (
	"encoding/json"
	"os"
	"testing"

	"gaffer/statefile/host"
)

func identify(t *testing.T, c *child) host.Process {
	t.Helper()
	var p host.Process
	if err := json.Unmarshal([]byte(c.said), &p); err != nil {
		t.Fatalf("the child said %q: %v", c.said, err)
	}
	return p
}

func TestAProcessIdentifiesItself(t *testing.T) {
	self := host.OS().Self()
	if self.PID != os.Getpid() || self.Start == 0 || self.Boot == "" || self.Space == "" || self.Host == "" {
		t.Errorf("something is missing: %+v", self)
	}
	if again := host.OS().Self(); again != self {
		t.Errorf("%+v is now %+v", self, again)
	}
	if host.OS().Alive(self) != host.Alive {
		t.Error("we are not alive")
	}
}

func TestAChildIsAliveUntilItExits(t *testing.T) {
	c := start(t, "self")
	p := identify(t, c)
	if p.PID != c.Process.Pid {
		t.Fatalf("the child is process %d and calls itself %d", c.Process.Pid, p.PID)
	}
	if got := host.OS().Alive(p); got != host.Alive {
		t.Errorf("the running child is %d", got)
	}
	c.end()
	if got := host.OS().Alive(p); got != host.Dead {
		t.Errorf("the child that exited is %d", got)
	}
}

func TestAProcessIsDeadOnlyIfThatIsCertain(t *testing.T) {
	self := host.OS().Self()
	for _, c := range []struct {
		name   string
		change func(*host.Process)
		want   host.Liveness
	}{
		{"the same pid with another start", func(p *host.Process) { p.Start++ }, host.Dead},
		{"an earlier boot", func(p *host.Process) { p.Boot = "b" }, host.Dead},
		{"an unused pid", func(p *host.Process) { p.PID = 1<<22 + 1 }, host.Dead},
		{"another pid namespace", func(p *host.Process) { p.Space = "pid:[1]" }, host.Unknown},
		{"another machine", func(p *host.Process) { p.Host += "x" }, host.Unknown},
		{"another machine's boot", func(p *host.Process) { p.Host += "x"; p.Boot = "b" }, host.Unknown},
		{"no boot", func(p *host.Process) { p.Boot = "" }, host.Unknown},
		{"no pid", func(p *host.Process) { p.PID = 0 }, host.Unknown},
		{"a process group", func(p *host.Process) { p.PID = -1 }, host.Unknown},
		{"nothing at all", func(p *host.Process) { *p = host.Process{} }, host.Unknown},
	} {
		p := self
		c.change(&p)
		if got := host.OS().Alive(p); got != c.want {
			t.Errorf("%s is %d, should be %d", c.name, got, c.want)
		}
	}
}
