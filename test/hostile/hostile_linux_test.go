package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

// TestMain runs the hostile program if the test binary was started as that program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"attack", "sibling", "linger", "stubborn"}, os.Args[1]) {
		main()
	}
	flag.Parse()
	// Run many tests at once: attacks wait more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	if dir, err := makeRepository(); err == nil {
		_ = os.RemoveAll(dir) // ignore the error: the folder is a temporary one
	}
	os.Exit(code)
}

// Every attack must have the outcome that docs/attacks.md shows. No task may ever have two live
// attempts, no process may stay alive, and gaffer must work afterwards.
func TestSecurityAHostileAgentGetsAsFarAsDocumented(t *testing.T) {
	testenv.Integration(t)
	for _, groups := range []bool{true, false} {
		for _, a := range attacks {
			name, want := a.name+"/with-groups", a.with
			if !groups {
				name, want = a.name+"/without-groups", a.without
			}
			t.Run(name, func(t *testing.T) {
				if !a.alone {
					t.Parallel()
				}
				w := newWorld(t, a, groups)
				w.start()
				got := checks[a.name](w)
				if got != want {
					t.Errorf("the outcome is %q, the table says %q", got, want)
				}
				w.end()
				w.aftermath(got)
				if t.Failed() {
					t.Logf("gaffer said:\n%s\nreport:\n%s\nrun: %+v", w.words, w.read(w.path(reportFile)), w.finished)
				}
			})
		}
	}
}

// aftermath checks what must be true after every attack.
func (w *world) aftermath(got outcome) {
	w.Helper()
	if two := w.doubles(); len(two) > 0 {
		w.Errorf("two live attempts of a task, seen %d times: %s", len(two), two[0])
	}
	w.must(os.WriteFile(w.path("honest.yaml"), []byte("tasks:\n  - {id: honest, shell: 'echo honest >honest'}\n"), 0o600))
	out, code := w.user("run", w.path("honest.yaml"), "--local")
	if data, err := os.ReadFile(w.project("honest")); code != 0 || err != nil || string(data) != "honest\n" {
		w.Errorf("an honest run afterwards exits with %d: %v\n%s", code, err, out)
	}
	out, code = w.user(append([]string{"status"}, w.at()...)...)
	if code != 0 {
		w.Errorf("'gaffer status' exits with %d\n%s", code, out)
	}
	if got == prevented || got == refused {
		testenv.Wait(w, "the attempts to be gone", func() error {
			if left := w.left(); len(left) > 0 {
				return errorf("left behind: %s", strings.Join(left, "; "))
			}
			return nil
		})
	}
}

// complete reports whether both tasks did their work and count as done.
func (w *world) complete() bool {
	w.Helper()
	run := w.end()
	ok := run.Status == fleet.Complete
	if w.sibling == works && strings.Count(w.read(w.path(doneFile)), "\n") != 1 {
		ok = false
	}
	if !ok {
		w.Logf("the run is %q; the sibling did its work %d times", run.Status, strings.Count(w.read(w.path(doneFile)), "\n"))
	}
	return ok
}

func TestSecurityEachAttackHasACheck(t *testing.T) {
	for _, a := range attacks {
		if checks[a.name] == nil {
			t.Errorf("attack %s has no check", a.name)
		}
	}
	if len(checks) != len(attacks) {
		t.Errorf("there are %d checks for %d attacks", len(checks), len(attacks))
	}
}
