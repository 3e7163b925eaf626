// Package browser tests the dashboard as users use it: a real Chromium shows the pages of
// a real gaffer server with real workers. Only the agents are fake: they follow scripts.
package browser
