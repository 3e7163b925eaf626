// Package agents tests gaffer with the unmodified agent programs against a stub
// model. script/test-agents installs the programs and runs the tests.
package agents
