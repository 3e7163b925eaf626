package discover

import (
	"strings"
	"time"

	"gaffer/internal/byhand/hookevents"
)

// setupScreens lists texts that agent programs show before they can be used, and what the user must
// do about each text. While a program shows one of these texts, it runs no hook and sets no title.
var setupScreens = []struct{ text, what string }{
	{"Do you trust the files in this folder", "trust the folder"},
	{"Is this a project you created or one you trust", "trust the folder"},
	{"Trust this folder?", "trust the folder"},
	{"Hooks need review", "review the hooks"},
	{"Background server has incompatible feature settings", "choose what to do about the background server"},
	{"Detected a custom API key in your environment", "choose whether to use the API key"},
	{"Choose the text style", "choose a theme"},
	{"Select login method", "log in"},
	{"Sign in with ChatGPT", "log in"},
	{"How would you like to authenticate", "log in"},
}

// promptTexts lists texts that are in the last lines of an agent's tmux pane while the agent
// program asks the user to decide something.
var promptTexts = []string{"Esc to cancel", "Press enter to confirm", "Enter to select", "Allow execution of"}

// fromScreen derives the agent's status from the text in the agent's tmux pane. This is the least
// reliable source, because each version of an agent program may change its texts.
func (e Evidence) fromScreen(time.Time) (sourceStatus, bool) {
	if strings.TrimSpace(e.Screen) == "" {
		return sourceStatus{}, false
	}
	for _, s := range setupScreens {
		if strings.Contains(e.Screen, s.text) {
			return sourceStatus{status: hookevents.Waiting, source: FromScreen, waitsFor: "needs set-up: " + s.what}, true
		}
	}
	const rows = 15
	lines := strings.Split(strings.TrimRight(e.Screen, "\n "), "\n")
	end := strings.Join(lines[max(0, len(lines)-rows):], "\n")
	for _, p := range promptTexts {
		if strings.Contains(end, p) {
			return sourceStatus{status: hookevents.Waiting, source: FromScreen, waitsFor: "a decision"}, true
		}
	}
	if low := strings.ToLower(end); strings.Contains(low, "esc to interrupt") || strings.Contains(low, "esc to cancel, ") {
		return sourceStatus{status: hookevents.Running, source: FromScreen}, true
	}
	return sourceStatus{status: hookevents.Idle, source: FromScreen}, true
}
