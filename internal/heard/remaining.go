package heard

import (
	"errors"
	"os"
	"slices"

	"gaffer/internal/light"
	"gaffer/statefile/jsonview"
)

// What a project may have at its root, as packages project and config say.
const (
	ConfigFile     = "gaffer.yaml"
	WorkflowFolder = ".fctry"
)

// Remaining are the deeds that cannot be left undone. Most calls have none in a
// place without settings: nobody has said that a person be asked, and what was
// written is a surprise to no spec, since there is none, or a command is under way.
func (c *Call) Remaining(environ []string) []Deed {
	var list []Deed
	for _, d := range c.Deeds {
		switch d.Kind {
		case NoteWritten:
			if len(Written(c.Raw)) == 0 || !isSet(environ) && (c.nowhere(ConfigFile, WorkflowFolder) || c.withinCommand()) {
				continue
			}
		case AskPerson:
			if c.Session.Attempt != "" || !isSet(environ) && c.nowhere(ConfigFile) {
				continue
			}
		}
		list = append(list, d)
	}
	return list
}

// given are what every attempt of gaffer's own has in its environment, and are no
// settings: what runs, and who runs it.
var given = []string{Mark, "GAFFER_SELF", "GAFFER_RUN", "GAFFER_TASK", "GAFFER_ATTEMPT_NUMBER", "GAFFER_BEAD", "GAFFER_LEDGER"}

// isSet tells whether the user may have settings of gaffer, other than those of a
// project.
func isSet(environ []string) bool {
	config := ""
	for _, v := range environ {
		name, value := light.Cut(v, '=')
		switch {
		case value == "" || slices.Contains(given, name):
		case light.HasPrefix(name, "GAFFER_"):
			return true
		case name == "HOME" && config == "":
			config = value + "/.config"
		case name == "XDG_CONFIG_HOME" && light.HasPrefix(value, "/"):
			config = value
		}
	}
	return config != "" && !absent(config+"/gaffer/"+ConfigFile)
}

// nowhere tells whether it is certain that the project of the event has none of
// these names: no folder above has them, and none of those is a link or belongs
// to a repository that lies elsewhere.
func (c *Call) nowhere(names ...string) bool {
	dir := light.TrimSlashes(c.Event.Dir)
	if !light.HasPrefix(c.Event.Dir, "/") || light.Contains(dir+"/", "/../") {
		return false
	}
	for ; ; dir = dir[:light.LastIndex(dir, '/')] {
		if info, err := os.Lstat(dir); dir != "" && (err != nil || !info.IsDir()) {
			return false
		}
		for _, name := range names {
			if !absent(dir + "/" + name) {
				return false
			}
		}
		if info, err := os.Lstat(dir + "/.git"); err == nil && !info.IsDir() {
			return false
		}
		if dir == "" {
			return true
		}
	}
}

// withinCommand tells whether it is certain that the workflow of the event's project
// is within a command.
func (c *Call) withinCommand() bool {
	if !c.nowhere(ConfigFile) {
		return false
	}
	dir := light.TrimSlashes(c.Event.Dir)
	for dir != "" && absent(dir+"/.git") {
		dir = dir[:light.LastIndex(dir, '/')]
	}
	if absent(dir + "/.git/HEAD") { // then git looks further up
		return false
	}
	text, err := ReadSmall(dir+"/"+WorkflowFolder+"/state.json", maxState)
	if err != nil {
		return false
	}
	state, err := jsonview.Parse(text)
	return err == nil && !state.Get("currentCommand").Absent()
}

// maxState is the largest state of a workflow that is looked at here.
const maxState = 1 << 20

func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}
