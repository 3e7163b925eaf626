package fake_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Writes to /dev/full fail as on a full disk. An agent whose question was lost there would wait for
// the answer forever.
func TestOnAFullDiskTheAgentEndsInsteadOfWaitingForAnAnswer(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	var errs strings.Builder
	p := program{Cmd: exec.Command(os.Args[0], "--protocol", "claude", "--input-format", "stream-json")}
	p.Env, p.Stdout, p.Stderr = append(os.Environ(), asAgent+"=1"), full, &errs
	stdin, err := p.StdinPipe() // stays open, as gaffer keeps it
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	_, _ = stdin.Write([]byte(`{"type":"user","message":{"role":"user","content":"fake: ask Go on?"}}` + "\n"))
	if state := p.ends(t); state.ExitCode() != 1 || !strings.Contains(errs.String(), "no space left on device") {
		t.Errorf("exit code %d, %q", state.ExitCode(), errs.String())
	}
}
