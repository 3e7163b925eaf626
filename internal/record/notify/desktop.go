package notify

import (
	"context"
	"errors"
	"strings"
)

// Desktop tells on a screen, with the program that the system has for it.
type Desktop struct {
	Program string // the path of notify-send or osascript
	OSA     bool   // it is osascript
	Screen  string // whose: the machine and the user
}

// FindDesktop looks for a way to tell somebody who sits at this machine, and says
// why there is none.
func FindDesktop(goos string, getenv func(string) string, find func(string) (string, error), screen string) (*Desktop, error) {
	switch {
	case goos == "darwin" && getenv("SSH_CONNECTION") != "":
		return nil, errors.New("nobody sits at this machine: it is a session of ssh")
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
func (d *Desktop) Send(ctx context.Context, n Note) error { return run(ctx, d.argv(n), nil, nil) }

// argv gives the texts as arguments of their own, never as a part of a script.
func (d *Desktop) argv(n Note) []string {
	title, text := "gaffer: "+n.Title, n.Text
	if d.OSA {
		return []string{
			d.Program, "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", title, text,
		}
	}
	return []string{d.Program, "--app-name=gaffer", "--urgency=" + urgency(n), "--", title, escape.Replace(text)}
}

// urgency keeps those on the screen that wait for somebody.
func urgency(n Note) string {
	if n.Kind == Waiting {
		return "critical"
	}
	return "normal"
}

// escape is for a text in which a screen takes marks for bold and links.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
