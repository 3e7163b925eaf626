package session

import (
	"fmt"

	"gaffer/statefile"
)

// Gone reports whether the agent is running according to the document, although no process has its
// pid. It returns false for an agent without a pid. exists reports whether a process with the pid
// exists; see [host.Exists].
//
// Pids refer to this machine. Gone does not detect that a pid belongs to another machine, or that
// another process has reused it.
func (a Agent) Gone(exists func(pid int) bool) bool {
	return a.Status == Running && a.PID != nil && *a.PID > 0 && !exists(*a.PID)
}

// CheckProcesses returns a finding for each running agent whose process no longer exists. path is
// the document's path, for the findings.
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
