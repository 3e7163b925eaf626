//go:build !linux

package interactive

// process is a process; where there is no /proc none is found.
type process struct {
	pid, parent int
	start       uint64
	terminal    uint64
	state       byte
	program     string
}

func agents() []process { return nil }

// Ancestor is the agent that has started this process, 0 if it cannot be told.
func Ancestor(string) int { return 0 }

func variables(int, ...string) map[string]string { return nil }
func folderOf(int) string                        { return "" }
func rolloutOf(int) string                       { return "" }
func deviceOf(string) uint64                     { return 0 }
func look(int) (process, bool)                   { return process{}, false }
