// Package caller finds out which agent has started this process: an attempt of
// gaffer, or an agent program that a user has started by hand.
//
// An agent can change its environment, its session and its parent, so the
// processes above are looked at, as far as the system shows them. Package
// supervisor adopts what an attempt detaches, so a supervisor above means an
// attempt too. See docs/security.md for what this cannot find.
package caller

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"gaffer/internal/byhand/agentproc"
)

// The variables by which an agent that gaffer runs knows what it is.
const (
	AttemptVar = "GAFFER_ATTEMPT"
	RunVar     = "GAFFER_RUN"
	TaskVar    = "GAFFER_TASK"
	RoleVar    = "GAFFER_ROLE"
)

// AgentVar names the agent, such as claude-4711, for which gaffer works on in the
// background: that process has no agent above it.
const AgentVar = "GAFFER_AGENT"

// Agent is an agent that has started this process, directly or through others.
type Agent struct {
	// Attempt is set for an agent that gaffer runs. It is [Detached] if the
	// process was detached and the agent has ended since.
	Attempt   string
	Run, Task string

	// Program is set for an agent that a user has started by hand, and PID if the
	// agent is above this process. Otherwise Program is the value of AgentVar.
	Program string
	PID     int

	Getenv func(string) string // what the agent was started with
}

// Detached is the attempt of a process that outlived its agent.
const Detached = "detached"

// Name is how records and messages call the agent.
func (a Agent) Name() string {
	switch {
	case a.Program != "" && a.PID > 0:
		return fmt.Sprintf("agent %s-%d", a.Program, a.PID)
	case a.Program != "":
		return "agent " + a.Program
	case a.Task != "":
		return fmt.Sprintf("agent %s/%s", a.Run, a.Task)
	}
	return "agent of attempt " + a.Attempt
}

// Of returns the agent that an environment names, or nil.
func Of(getenv func(string) string) *Agent {
	switch {
	case getenv(AttemptVar) != "":
		return &Agent{Attempt: getenv(AttemptVar), Run: getenv(RunVar), Task: getenv(TaskVar), Getenv: getenv}
	case getenv(AgentVar) != "":
		return &Agent{Program: getenv(AgentVar), Getenv: getenv}
	}
	return nil
}

// RefusedError is something that only a user may do and that an agent has tried.
type RefusedError struct{ What, Agent string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s called '%s', which is for the user alone: refused", e.Agent, e.What)
}

// Conflict marks the error as a refusal.
func (*RefusedError) Conflict() bool { return true }

// Hint says what to do next.
func (*RefusedError) Hint() string {
	return "type it in a terminal of your own; an agent that needs a decision asks with the tool person_ask of 'gaffer mcp'"
}

// deepest is how many processes above are looked at.
const deepest = 64

// Above lists the agents among the ancestors of a process, the nearest first. A
// process that has none, but is in the control group of an attempt, is of that
// attempt: it has outlived its supervisor.
func Above(pid int) (list []Agent) {
	above := pid
	for range deepest {
		p, ok := agentproc.Look(above)
		if !ok || p.Parent <= 1 {
			break
		}
		above = p.Parent
		if a := at(above); a != nil {
			list = append(list, *a)
		}
	}
	if attempt := attemptOfGroup(pid); len(list) == 0 && attempt != "" {
		list = append(list, Agent{Attempt: attempt, Getenv: func(string) string { return "" }})
	}
	return list
}

// attemptOfGroup returns the attempt in whose control group a process is, or "". Package
// supervisor names groups after the state folder, the attempt and its supervisor.
func attemptOfGroup(pid int) (attempt string) {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(groups), "/gaffer-") {
		return "" // there are none here, or it is in none
	}
	groupName := regexp.MustCompile(`^gaffer-[0-9a-f]{12}-(.+)-[0-9]+\.[0-9]+$`)
	for name := range strings.SplitSeq(strings.ReplaceAll(string(groups), "\n", "/"), "/") {
		if found := groupName.FindStringSubmatch(name); found != nil {
			attempt = found[1]
		}
	}
	return attempt
}

// at returns the agent that a process is or belongs to, or nil.
func at(pid int) *Agent {
	getenv := environ(pid)
	if a := Of(getenv); a != nil {
		return a
	}
	words := agentproc.Arguments(pid)
	if len(words) == 3 && words[1] == "supervise" {
		return supervised(pid, getenv)
	}
	if program := agentproc.ProgramOf(pid); program != "" {
		return &Agent{Program: program, PID: pid, Getenv: getenv}
	}
	return nil
}

// supervised returns the attempt of a supervisor. A supervisor does not carry the
// variables of its attempt, but the agent below it does.
func supervised(pid int, getenv func(string) string) *Agent {
	for _, child := range agentproc.Children(pid) {
		if a := Of(environ(child)); a != nil && a.Attempt != "" {
			return a
		}
	}
	return Of(func(name string) string {
		if name == AttemptVar {
			return Detached
		}
		return getenv(name)
	})
}

// environ reads what a process was started with. A process of another user seems to
// have been given nothing.
func environ(pid int) func(string) string {
	all := agentproc.Environ(pid)
	return func(name string) string { return all[name] }
}
