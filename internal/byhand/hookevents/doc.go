// Package hookevents records the events that agent programs report to hooks.
//
// A hook receives an [Event]. [Apply] applies it to the state of the agent's session, and returns
// the actions that gaffer must perform because of it. A [Folder] stores the state as a file.
// [HandleCall] does all of this for one call of a hook.
//
// The agent waits until its hook has ended. So [HandleCall] only reads the event and writes one
// small file.
package hookevents
