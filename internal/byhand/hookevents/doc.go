// Package hookevents records the events that agent programs report to hooks.
//
// A hook receives an [Event]. [Apply] applies it to the state of the session, which a
// [Folder] stores as a document, and returns the actions that follow. [HandleCall] does all
// of that for one call of a hook.
//
// An agent waits for its hooks, so [HandleCall] only reads an event and writes one small
// file.
package hookevents
