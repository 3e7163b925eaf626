package statefile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// An agent may run "git add" at any moment. It must not find a file that git would add.
func TestGitNeverSeesAnIgnoreFileWithoutItsContent(t *testing.T) {
	for name, existing := range map[string]bool{"a new folder": false, "an existing folder": true} {
		t.Run(name, func(t *testing.T) {
			machine := &onlyComplete{Host: host.OS(), t: t}
			dir := filepath.Join(t.TempDir(), "runs")
			if existing {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := statefile.MkdirIgnored(machine, dir); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || len(text) == 0 {
				t.Errorf("the .gitignore has %q, %v", text, err)
			}
		})
	}
}

// onlyComplete is a machine where every new file must appear with its content.
type onlyComplete struct {
	host.Host
	t *testing.T
}

func (c *onlyComplete) Create(op host.Op, name string, perm fs.FileMode) (host.File, error) {
	c.t.Errorf("%s was created empty", name)
	return c.Host.Create(op, name, perm)
}
