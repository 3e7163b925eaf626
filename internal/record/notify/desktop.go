package notify

import (
	"context"
	"errors"
	"strings"
)

// Desktop shows notifications on the screen, by running a program of the operating system.
type Desktop struct {
	Program string // path of notify-send or osascript
	OSA     bool   // Program is osascript
	Screen  string // name of the machine and the user whose screen it is
}

// FindDesktop finds the program of this machine that shows notifications. The error says why
// notifications cannot be shown.
func FindDesktop(goos string, getenv func(string) string, find func(string) (string, error), screen string) (*Desktop, error) {
	switch {
	case goos == "darwin" && getenv("SSH_CONNECTION") != "":
		return nil, errors.New("this machine has no desktop session: it is used over ssh")
	case goos == "darwin":
		path, err := find("osascript")
		return &Desktop{Program: path, OSA: true, Screen: screen}, err
	case getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "":
		return nil, errors.New("there is no screen: neither DISPLAY nor WAYLAND_DISPLAY is set")
	}
	path, err := find("notify-send")
	return &Desktop{Program: path, Screen: screen}, err
}

// Name implements [Channel].
func (d *Desktop) Name() string { return "desktop" }

// Key implements [Channel].
func (d *Desktop) Key() string { return keyOf(d.Name(), d.Screen) }

// Where implements [Channel].
func (d *Desktop) Where() string { return d.Program }

// Send implements [Channel].
func (d *Desktop) Send(ctx context.Context, n Notification) error {
	return run(ctx, d.argv(n), nil, nil)
}

// argv returns the command line that shows a notification. It passes texts as separate arguments,
// never inside a script, so that they cannot inject code.
func (d *Desktop) argv(n Notification) []string {
	title, text := "gaffer: "+n.Title, n.Text
	if d.OSA {
		return []string{
			d.Program, "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", title, text,
		}
	}
	return []string{d.Program, "--app-name=gaffer", "--urgency=" + urgency(n), "--", title, escape.Replace(text)}
}

// urgency returns the urgency level for notify-send. If an agent waits for an answer, it returns
// the level at which the notification stays on the screen.
func urgency(n Notification) string {
	if n.Kind == Waiting {
		return "critical"
	}
	return "normal"
}

// escape escapes markup characters for notify-send, which interprets markup.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
