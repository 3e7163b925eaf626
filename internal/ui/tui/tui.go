// Package tui is the live view of a run in a terminal.
//
// It has three parts that know little of each other. The view is a pure function from
// a run, the time, the size of the screen and the user's input to lines. The keyboard
// is a pure state machine from keys and open questions to actions. The terminal shows
// lines on a real screen and restores it afterwards. [Live] is the loop around them.
package tui
