package session

import (
	"fmt"

	"gaffer/statefile"
)

// Gone says whether the agent runs by the document although no process has its
// pid. Of an agent without a pid that is not known. exists says whether a process
// has a pid; see [host.Exists].
//
// It is about processes of this machine. A pid that another process has got
// since, or that is of another machine, cannot be told from the agent's own.
func (a Agent) Gone(exists func(pid int) bool) bool {
	return a.Status == Running && a.PID != nil && *a.PID > 0 && !exists(*a.PID)
}

// CheckProcesses reports the agents whose process is gone.
func CheckProcesses(path string, s Status, exists func(pid int) bool) []statefile.Finding {
	var found []statefile.Finding
	for i, a := range s.Agents {
		if a.Gone(exists) {
			found = append(found, statefile.Finding{
				Path: path, At: fmt.Sprintf("agents[%d].pid", i), Name: "process-gone", Severity: statefile.Irregular,
				Text: fmt.Sprintf("agent %s is running, but no process has the pid %d", cut(a.ID), *a.PID),
			})
		}
	}
	return found
}
