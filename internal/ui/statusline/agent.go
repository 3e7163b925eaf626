package statusline

import (
	"path/filepath"

	"gaffer/statefile/jsontree"
)

// Agent is the status that an agent program passes to its status line command on stdin.
type Agent struct {
	// Dirs holds the absolute paths of folders in which the agent may be working, in order of
	// preference. The folders may not exist.
	Dirs      []string
	Used      float64 // used part of the context window, in percent
	UsedKnown bool    // the agent program reported a value for Used
}

// ReadAgent parses the JSON that an agent program passes to its status line command. It skips
// values that it cannot read.
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
