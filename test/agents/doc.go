// Package agents tests gaffer with the unmodified programs Claude Code and Codex. A stub
// server answers in place of the model. script/test-agents installs the programs and
// runs the tests.
package agents
