package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
)

func Test256InvalidFilesStillEndWithFive(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "state", "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		if err := os.WriteFile(filepath.Join(runs, fmt.Sprintf("bd-%d.json", i)), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	e := &env.Env{
		Out: &out, Err: &bytes.Buffer{}, Dir: dir, Now: time.Now,
		Getenv: func(name string) string { return map[string]string{"GAFFER_PROJECT": dir}[name] },
	}
	cmd := New(e)
	cmd.SetArgs([]string{"--json"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if code := exit.Of(cmd.ExecuteContext(t.Context())); code != exit.CodeInvalid {
		t.Errorf("exit code %d", code)
	}
	var got struct {
		Findings []any
		Summary  summary
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Findings) != 256 || got.Summary.Invalid != 256 {
		t.Errorf("%v, %+v", err, got.Summary)
	}
	if strings.Contains(out.String(), dir) {
		t.Error("paths are not shown from the folder of the command")
	}
}
