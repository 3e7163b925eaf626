// Package browser tests the dashboard as people use it: a real Chromium on pages
// that the real gaffer serves, with real workers and the fake agent behind it.
package browser
