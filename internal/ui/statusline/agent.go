package statusline

import (
	"math"
	"path/filepath"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Agent is the status that an agent program writes to stdin.
type Agent struct {
	Dirs []string // working folders, the best first; absolute paths that need not exist
	Used float64  // percent of its context window
	Told bool     // whether Used is known
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
	a.Used, a.Told = number(v.Get("context_window").Get("used_percentage"))
	return a
}

// compactAt is the usage of its context window, in percent, at which an agent
// compacts it. The status line shows this usage as 100 percent.
const compactAt = 84

func contextOf(a Agent) *Context {
	if !a.Told {
		return nil
	}
	percent := int(max(0, min(100, math.Round(a.Used/compactAt*100))))
	return &Context{Percent: percent, Level: workflow.LevelOf(float64(percent))}
}
