// Package hookevents records the events that agent programs report to hooks.
//
// A hook receives an [Event]. [Apply] applies it to the state of the session, which a
// [Folder] stores as a document, and returns the actions that follow. [HandleCall] does
// this for one call of a hook.
//
// The agent waits until its hook has ended. So [HandleCall] only reads the event and
// writes one small file.
package hookevents
