package session

import (
	"fmt"

	"gaffer/statefile"
)

// Gone reports whether the agent has the status Running in the session's document although its
// process no longer exists. It returns false for an agent without a pid. The function exists
// reports whether a process with this pid exists; see [host.Exists].
//
// Gone assumes that the agent's process runs, or ran, on this machine, and that no other process
// has got the same pid since.
func (a Agent) Gone(exists func(pid int) bool) bool {
	return a.Status == Running && a.PID != nil && *a.PID > 0 && !exists(*a.PID)
}

// CheckProcesses returns a finding for each agent of the session s that has the status Running
// although its process no longer exists. The findings contain path, the path of the session's
// document.
func CheckProcesses(path string, s Status, exists func(pid int) bool) []statefile.Finding {
	var found []statefile.Finding
	for i, a := range s.Agents {
		if a.Gone(exists) {
			found = append(found, statefile.Finding{
				Path: path, At: fmt.Sprintf("agents[%d].pid", i), Name: "process-gone", Severity: statefile.Irregular,
				Text: fmt.Sprintf("agent %s is running, but no process has the pid %d", shorten(a.ID), *a.PID),
			})
		}
	}
	return found
}
