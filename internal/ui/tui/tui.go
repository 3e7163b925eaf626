// Package tui is the live view of a run in a terminal.
//
// It has three parts that know little of each other. The view is pure: a run,
// the time, the size of the screen and what the person has typed become lines.
// The keyboard is a pure machine as well: a key and what is asked become an
// action. The terminal puts lines on a real screen and gives it back as it was.
// [Live] is the loop around them.
package tui
