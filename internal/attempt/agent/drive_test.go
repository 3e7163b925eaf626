package agent_test

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/agent/fake"
)

// fakes returns the fake agents as gaffer.yaml would define them. Their program is not
// started: drive calls it.
func fakes() map[string]agent.Custom {
	return map[string]agent.Custom{
		"fake-claude": {Like: "claude", Argv: []string{"fake", "--protocol", "claude"}},
		"fake-codex":  {Like: "codex", Argv: []string{"fake", "--protocol", "codex"}},
		"fake-plain":  {Like: "command", Argv: []string{"fake"}},
	}
}

// run is the result of an attempt.
type run struct {
	launch  agent.Launch
	signals []agent.Signal
	exit    agent.Exit
	verdict agent.Verdict
}

// drive runs the fake agent in this process as a runner would run a program. It writes
// the input, sends every reply and answer, and closes stdin after the final message.
func drive(t *testing.T, name string, r agent.Request, answer func(agent.Question) agent.Answer) run {
	t.Helper()
	return steer(t, name, r, answer, func(s agent.Signal, _ agent.Steerable, _ func([]byte)) bool { return s.Ended })
}

// user is a user who may write something after each signal. It returns true when stdin
// is to be closed.
type user func(s agent.Signal, a agent.Steerable, write func([]byte)) (done bool)

// steer is drive with a user who sends messages.
func steer(t *testing.T, name string, r agent.Request, answer func(agent.Question) agent.Answer, u user) run {
	t.Helper()
	a, err := agent.New(name, fakes())
	if err != nil {
		t.Fatal(err)
	}
	launch, err := a.Launch(r)
	if err != nil {
		t.Fatal(err)
	}
	result := run{launch: launch}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	var both sync.WaitGroup
	both.Go(func() {
		w := &shared{to: out}
		result.exit.Code = fake.Main(launch.Argv[1:], in, w, w)
		_ = in.Close()
		_ = out.Close()
	})
	write := make(chan []byte, 100)
	both.Go(func() {
		for data := range write {
			_, _ = stdin.Write(data) // the program may have exited
		}
		_ = stdin.Close()
	})
	write <- launch.Input
	if !launch.Open {
		close(write)
	}
	reader := a.Reader(r)
	steerable, _ := reader.(agent.Steerable)
	open := launch.Open
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		for _, s := range reader.Line([]byte(strings.TrimSuffix(string(line), "\n"))) {
			result.signals = append(result.signals, s)
			done := u(s, steerable, func(data []byte) { write <- data })
			if s.Reply != nil {
				write <- s.Reply
			}
			if s.Ask != nil {
				write <- s.Ask.Reply(answer(*s.Ask))
			}
			if done && open {
				open = false
				close(write)
			}
		}
	}
	if open {
		close(write)
	}
	both.Wait()
	result.exit.At = time.Now()
	result.verdict = reader.Verdict(result.exit)
	return result
}

// shared makes stdout and stderr one pipe.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(data)
}

func (r run) has(match func(agent.Signal) bool) bool {
	for _, s := range r.signals {
		if match(s) {
			return true
		}
	}
	return false
}

func nobody(t *testing.T) func(agent.Question) agent.Answer {
	return func(q agent.Question) agent.Answer {
		t.Errorf("a person was asked: %s", q.Text)
		return agent.Answer{Deny: true}
	}
}
