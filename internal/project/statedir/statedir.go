// Package statedir finds the folder in which gaffer keeps its state.
package statedir

import (
	"errors"
	"strings"
)

// Path returns the path of the state folder. The function getenv returns the value of an
// environment variable. Path ignores a relative XDG_STATE_HOME, as the XDG specification demands.
func Path(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_STATE_HOME"); strings.HasPrefix(dir, "/") {
		return strings.TrimRight(dir, "/") + "/gaffer", nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("neither XDG_STATE_HOME nor HOME says where the state of gaffer is")
	}
	return strings.TrimRight(home, "/") + "/.local/state/gaffer", nil
}
