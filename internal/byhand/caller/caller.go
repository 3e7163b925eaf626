// Package caller finds out which agent has started this process. This is either an agent that
// gaffer runs for an attempt on a task, or an agent program that the user has started.
//
// An agent can change the environment, the process session and the parent of a process that it
// starts, so the environment alone does not show the agent. The package also inspects the ancestor
// processes, if the system shows them. If an agent of an attempt detaches a process, the new parent
// of that process is the supervisor, which is the gaffer process that runs the attempt. So a
// supervisor among the ancestors also shows that an agent has started this process.
// docs/security.md says what this cannot detect.
package caller

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"gaffer/internal/byhand/agentproc"
)

// Environment variables by which gaffer tells an agent its attempt, run, task and role.
const (
	AttemptVar = "GAFFER_ATTEMPT"
	RunVar     = "GAFFER_RUN"
	TaskVar    = "GAFFER_TASK"
	RoleVar    = "GAFFER_ROLE"
)

// AgentVar is an environment variable that gaffer sets for its own background processes. Its value
// is the name of the agent that has caused the start of the process, for example claude-4711. The
// agent may not be an ancestor of the background process, because a process between them may have
// ended.
const AgentVar = "GAFFER_AGENT"

// Agent is an agent that has started this process, directly or indirectly.
type Agent struct {
	// Attempt is the id of the attempt if gaffer runs the agent. It is [Detached] if the process
	// was detached and its agent has ended.
	Attempt   string
	Run, Task string

	// Program is the name of the agent program if the user has started the agent and the agent is
	// an ancestor of this process. Then PID is the id of that ancestor. If the agent is known only
	// from AgentVar, Program is the value of AgentVar, and PID is 0.
	Program string
	PID     int

	// Getenv returns the value of a variable in the agent's environment. If the environment is
	// unknown, it returns "" for every variable.
	Getenv func(string) string
}

// Detached is the value of Agent.Attempt for a process that outlived its agent.
const Detached = "detached"

// Name returns the name of the agent, for messages and for stored data about who did something.
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

// Current returns the agent that an environment names, or nil if it names none. getenv returns a
// variable of that environment.
func Current(getenv func(string) string) *Agent {
	switch {
	case getenv(AttemptVar) != "":
		return &Agent{Attempt: getenv(AttemptVar), Run: getenv(RunVar), Task: getenv(TaskVar), Getenv: getenv}
	case getenv(AgentVar) != "":
		return &Agent{Program: getenv(AgentVar), Getenv: getenv}
	}
	return nil
}

// RefusedError reports that an agent has tried something that only the user may do.
type RefusedError struct{ What, Agent string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s called '%s', which is for the user alone: refused", e.Agent, e.What)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*RefusedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (*RefusedError) Hint() string {
	return "type it in a terminal of your own; an agent that needs a decision asks with the tool person_ask of 'gaffer mcp'"
}

// maxAncestors is the maximum number of ancestors that are inspected.
const maxAncestors = 64

// Ancestors returns the agents among the ancestors of a process, the nearest first. An agent with
// several processes among the ancestors occurs several times. If there is no such agent, but the
// process is in the control group of an attempt, Ancestors returns the agent of that attempt. This
// happens if the attempt's supervisor has ended and the process is still running.
func Ancestors(pid int) (list []Agent) {
	above := pid
	for range maxAncestors {
		p, ok := agentproc.Find(above)
		if !ok || p.Parent <= 1 {
			break
		}
		above = p.Parent
		if a := agentAt(above); a != nil {
			list = append(list, *a)
		}
	}
	if attempt := attemptOfCgroup(pid); len(list) == 0 && attempt != "" {
		list = append(list, Agent{Attempt: attempt, Getenv: func(string) string { return "" }})
	}
	return list
}

// attemptOfCgroup returns the id of the attempt whose control group contains a process, or "" if
// there is none. The name of a control group contains a hash of a folder's path, the id of the
// attempt, and the pid and start time of the supervisor; see package supervisor.
func attemptOfCgroup(pid int) (attempt string) {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(groups), "/gaffer-") {
		// The system has no control groups, or the process is in none of gaffer's groups.
		return ""
	}
	groupName := regexp.MustCompile(`^gaffer-[0-9a-f]{12}-(.+)-[0-9]+\.[0-9]+$`)
	for name := range strings.SplitSeq(strings.ReplaceAll(string(groups), "\n", "/"), "/") {
		if found := groupName.FindStringSubmatch(name); found != nil {
			attempt = found[1]
		}
	}
	return attempt
}

// agentAt returns the agent that a process runs or belongs to, or nil if there is none.
func agentAt(pid int) *Agent {
	getenv := environ(pid)
	if a := Current(getenv); a != nil {
		return a
	}
	words := agentproc.Arguments(pid)
	if len(words) == 3 && words[1] == "supervise" {
		return attemptOfSupervisor(pid, getenv)
	}
	if program := agentproc.ProgramOf(pid); program != "" {
		return &Agent{Program: program, PID: pid, Getenv: getenv}
	}
	return nil
}

// attemptOfSupervisor returns the agent that the supervisor process pid runs. It looks at the child
// processes of the supervisor, because only their environments contain the id of the attempt. If no
// child has this id in its environment, the agent's attempt is [Detached].
func attemptOfSupervisor(pid int, getenv func(string) string) *Agent {
	for _, child := range agentproc.Children(pid) {
		if a := Current(environ(child)); a != nil && a.Attempt != "" {
			return a
		}
	}
	return Current(func(name string) string {
		if name == AttemptVar {
			return Detached
		}
		return getenv(name)
	})
}

// environ returns a function that looks up variables in the environment with which a process was
// started. For a process of another user, whose environment cannot be read, it finds no variables.
func environ(pid int) func(string) string {
	all := agentproc.Environ(pid)
	return func(name string) string { return all[name] }
}
