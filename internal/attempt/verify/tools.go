package verify

import (
	"os"
	"os/exec"
)

// Tools is what the machine has for checks.
type Tools struct {
	Browser string // the path of a Chromium or one of its kin; empty if there is none
	Missing string // why there is none, in words
}

// BrowserVariable names the browser to use. Where it is set, no other is looked
// for; a name that is no program means none.
const BrowserVariable = "GAFFER_BROWSER"

// FindTools looks for what checks can use. It starts nothing.
func FindTools() Tools { return findTools(os.Getenv(BrowserVariable), exec.LookPath) }

func findTools(named string, look func(string) (string, error)) Tools {
	if named != "" {
		path, err := look(named)
		if err != nil {
			return Tools{Missing: BrowserVariable + " is not a program"}
		}
		return Tools{Browser: path}
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if path, err := look(name); err == nil {
			return Tools{Browser: path}
		}
	}
	return Tools{Missing: "no browser found"}
}

func (t Tools) missing() string {
	if t.Missing == "" {
		return "no browser found"
	}
	return t.Missing
}
