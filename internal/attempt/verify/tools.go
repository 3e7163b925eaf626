package verify

import (
	"os"
	"os/exec"
)

// Tools describes the programs on this machine that checks can use.
type Tools struct {
	Browser string // path of Chromium or a browser based on it; empty if there is none
	Missing string // why there is no browser; empty if Browser is set
}

// BrowserVariable is the environment variable that names the browser program. If it is set, no
// other browser is used, even if that program does not exist.
const BrowserVariable = "GAFFER_BROWSER"

// FindTools looks for a browser on this machine. It does not start the browser.
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
