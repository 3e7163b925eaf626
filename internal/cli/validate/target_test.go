package validate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestPathsAreBoundToTheFlagsBeforeThem(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want []target
	}{
		{"nothing is everything", nil, []target{{all, ""}}},
		{"all", []string{"--all"}, []target{{all, ""}}},
		{"one flag alone is the project's own", []string{"--runs"}, []target{{runs, ""}}},
		{"one flag and a path", []string{"--runs", "A"}, []target{{runs, "A"}}},
		{"one flag holds for paths before it", []string{"A", "--runs", "B"}, []target{{runs, "A"}, {runs, "B"}}},
		{"two flags, a path each", []string{"--runs", "A", "--results", "B"}, []target{{runs, "A"}, {results, "B"}}},
		{"two flags, several paths", []string{"--results", "A", "B", "--runs", "C"}, []target{{results, "A"}, {results, "B"}, {runs, "C"}}},
		{"two flags, one without a path", []string{"--runs", "--results", "B"}, []target{{results, "B"}, {runs, ""}}},
		{"two flags, no path", []string{"--runs", "--team"}, []target{{runs, ""}, {teams, ""}}},
		{"the same flag twice", []string{"--runs", "A", "--runs", "B"}, []target{{runs, "A"}, {runs, "B"}}},
		{"a path before two flags is recognized by its name", []string{"A", "--runs", "--results"}, []target{{unknown, "A"}, {runs, ""}, {results, ""}}},
		{"no flag and a path", []string{"A"}, []target{{unknown, "A"}}},
		{"all and a path", []string{"--all", "A"}, []target{{unknown, "A"}}},
		{"other flags between", []string{"--runs", "--fix", "A", "--results", "--", "-B"}, []target{{runs, "A"}, {results, "-B"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &options{}
			flags := pflag.NewFlagSet("validate", pflag.ContinueOnError)
			flags.Bool("fix", false, "")
			for _, k := range []kind{runs, results, teams, all} {
				flags.VarPF(&kindFlag{k, o, flags}, string(k), "", "").NoOptDefVal = "true"
			}
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, assignKinds(o.marks, flags.Args()), cmp.AllowUnexported(target{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheKindOfAPathFollowsFromItsName(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"state/runs/bd-1.json", "state/results/bd-1.json", ".founder-mode/status/sessions/x/status.json",
		".fctry/state.json", ".fctry/inbox.json", "coordination/pm_state.json", "other/thing.json",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]kind{
		"state/runs/bd-1.json":    runs,
		"state/runs":              runs,
		"state/results/bd-1.json": results,
		"state":                   ledgers,
		".founder-mode/status/sessions/x/status.json": sessions,
		".founder-mode/status":                        sessions,
		".founder-mode/status/sessions":               sessions,
		".fctry/state.json":                           workflows,
		".fctry/inbox.json":                           workflows,
		".fctry":                                      workflows,
		"coordination/pm_state.json":                  teams,
		"coordination":                                teams,
		"other/thing.json":                            unknown,
		"other":                                       unknown,
		"absent":                                      unknown,
	} {
		got, err := infer(filepath.Join(root, path))
		if got != want || (err == nil) != (want != unknown) {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
}

func TestThousandsAreSetApart(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}
