package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// standIn is a program in the place of podman: it records its arguments, and runs the command line of
// the container without one.
const standIn = `#!/bin/sh
if [ "$1" = info ]; then exit 0; fi
printf '%s\n' "$@" > "$RECORD"
while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
shift
exec "$@"
`

// No container engine runs where the tests run. So this test proves which arguments the engine gets,
// and that its program runs, but not what the engine does with them.
func TestAContainerGetsTheFoldersAndTheNetworkOfItsSandbox(t *testing.T) {
	testenv.Integration(t)
	w := newWorld(t)
	engine, record := filepath.Join(w.dir, "bin/podman"), filepath.Join(w.dir, "record")
	w.write(engine, standIn)
	w.must(os.Chmod(engine, 0o755))
	w.env = append(w.env, "RECORD="+record)
	if f := Look(t.Context(), []string{"PATH=" + filepath.Dir(engine) + ":" + os.Getenv("PATH")}); f.Engine != engine || f.NoContainer != "" {
		t.Fatalf("the engine is %q: %s", f.Engine, f.NoContainer)
	}
	w.machine.SetFacts(Facts{System: "linux", Engine: engine})
	argv, env, err := w.machine.Wrap(Spec{Mode: plan.SandboxContainer, Kind: "claude", Image: "agents:1", Network: plan.NetworkOff, Read: []string{"~/.ssh", w.dir + "/elsewhere"}},
		Command{Argv: []string{"sh", "-c", "exit 5"}, Env: w.env, Given: []string{"TASK_TOKEN"}, Dir: w.tree, Scratch: filepath.Join(w.dir, "scratch")})
	w.must(err)
	p := w.run(argv, env)
	if p.Code != 5 {
		t.Errorf("the exit code is %d, want that of the agent, 5", p.Code)
	}
	text, err := os.ReadFile(record)
	w.must(err)
	args := strings.Split(string(text), "\n")
	for _, want := range []string{
		"run", "--rm", "--interactive", "--read-only", "--cap-drop=ALL", "--network=none", "--workdir=" + w.tree, "--volume=" + w.tree + ":" + w.tree,
		"--volume=" + w.main + "/.git:" + w.main + "/.git:ro", "--volume=" + w.dir + "/elsewhere:" + w.dir + "/elsewhere:ro", "--env=ANTHROPIC_API_KEY", "--env=TASK_TOKEN", "agents:1",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("there is no argument %s", want)
		}
	}
	targets := map[string]bool{}
	for _, arg := range args {
		if volume, ok := strings.CutPrefix(arg, "--volume="); ok {
			target := strings.Split(volume, ":")[1]
			if targets[target] {
				t.Errorf("%s is mounted twice, which docker refuses", target)
			}
			targets[target] = true
		}
	}
	for _, bad := range []string{"SECRET", "--env=GITHUB_TOKEN", "/.ssh:", "--volume=/:", "docker.sock", "--privileged", "=own"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("the arguments contain %s:\n%s", bad, text)
		}
	}
}
