package statusline

import (
	"path/filepath"

	"gaffer/statefile/jsontree"
)

// Agent is the status that an agent program writes to stdin.
type Agent struct {
	Dirs      []string // working folders, the best first; absolute paths that need not exist
	Used      float64  // used percentage of the context window
	UsedKnown bool     // whether Used is known
}

// ReadAgent reads the agent's JSON. It skips values that it cannot read.
func ReadAgent(data []byte) Agent {
	v := parse(data)
	var a Agent
	for _, dir := range []jsontree.Value{v.Get("workspace").Get("current_dir"), v.Get("cwd")} {
		if filepath.IsAbs(dir.Text()) {
			a.Dirs = append(a.Dirs, filepath.Clean(dir.Text()))
		}
	}
	a.Used, a.UsedKnown = number(v.Get("context_window").Get("used_percentage"))
	return a
}
