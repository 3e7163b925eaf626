package discover

import (
	"strings"
	"time"

	"gaffer/internal/byhand/hookevents"
)

// setUps are what the programs show before they can be used, each with what a
// person has to do. No hook fires then and no title is set.
var setUps = []struct{ text, what string }{
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

// prompts are the ends of what the programs show when a person has to decide.
var prompts = []string{"Esc to cancel", "Press enter to confirm", "Enter to select", "Allow execution of"}

// fromScreen reads the last of what is in the pane. It is what a person would
// see, in words that change with every version.
func (e Evidence) fromScreen(time.Time) (word, bool) {
	if strings.TrimSpace(e.Screen) == "" {
		return word{}, false
	}
	for _, s := range setUps {
		if strings.Contains(e.Screen, s.text) {
			return word{status: hookevents.Waiting, source: FromScreen, why: "needs set-up: " + s.what}, true
		}
	}
	const rows = 15
	lines := strings.Split(strings.TrimRight(e.Screen, "\n "), "\n")
	end := strings.Join(lines[max(0, len(lines)-rows):], "\n")
	for _, p := range prompts {
		if strings.Contains(end, p) {
			return word{status: hookevents.Waiting, source: FromScreen, why: "a decision"}, true
		}
	}
	if low := strings.ToLower(end); strings.Contains(low, "esc to interrupt") || strings.Contains(low, "esc to cancel, ") {
		return word{status: hookevents.Running, source: FromScreen}, true
	}
	return word{status: hookevents.Idle, source: FromScreen}, true
}
