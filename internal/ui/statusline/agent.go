package statusline

import (
	"math"
	"path/filepath"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Agent is what an agent program says of itself on stdin.
type Agent struct {
	Dirs []string // where it works, the best first; absolute paths that need not exist
	Used float64  // percent of its context window
	Told bool     // whether it said how much is used
}

// ReadAgent reads the agent's JSON. What cannot be read is left out.
func ReadAgent(data []byte) Agent {
	v := parse(data)
	var a Agent
	for _, dir := range []jsontree.Value{v.Get("workspace").Get("current_dir"), v.Get("cwd")} {
		if filepath.IsAbs(dir.Text()) {
			a.Dirs = append(a.Dirs, filepath.Clean(dir.Text()))
		}
	}
	a.Used, a.Told = number(v.Get("context_window").Get("used_percentage"))
	return a
}

// compactAt is how much of its window an agent fills before it compacts it, in
// percent. That much is all for the person who looks.
const compactAt = 84

func contextOf(a Agent) *Context {
	if !a.Told {
		return nil
	}
	percent := int(max(0, min(100, math.Round(a.Used/compactAt*100))))
	return &Context{Percent: percent, Level: workflow.LevelOf(float64(percent))}
}
