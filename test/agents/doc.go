// Package agents holds tests of gaffer with the unmodified agent programs, against
// a model without a mind. script/test-agents installs the programs and runs them.
package agents
