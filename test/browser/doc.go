// Package browser tests the dashboard as users use it: a real Chromium on pages of a
// real gaffer server, with real workers and the fake agent.
package browser
