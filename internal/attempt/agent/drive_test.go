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

// fakes returns the fake agents as gaffer.yaml would define them. Their argv is never started:
// drive calls the fake agent in this process.
func fakes() map[string]agent.Custom {
	return map[string]agent.Custom{
		"fake-claude": {Like: "claude", Argv: []string{"fake", "--protocol", "claude"}},
		"fake-codex":  {Like: "codex", Argv: []string{"fake", "--protocol", "codex"}},
		"fake-plain":  {Like: "command", Argv: []string{"fake"}},
	}
}

// run is what drive saw of one attempt.
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

// user imitates a user. It is called after each signal, may write to the agent's stdin, and returns
// true when stdin must be closed.
type user func(s agent.Signal, a agent.Steerable, write func([]byte)) (done bool)

// steer does the same as drive, and calls u after each signal so that it can send messages.
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
			_, _ = stdin.Write(data) // ignore the error: the program may have exited
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

// shared is the pipe that the fake agent's stdout and stderr have in common.
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
