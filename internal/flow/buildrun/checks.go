package buildrun

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"gaffer/internal/attempt/verify"
	"gaffer/internal/flow/build"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// checksFile returns the path of the file that describes the checks of a task of a build. The
// parameter checks is the name of the build's folder for such files. The files with the results are
// in the same folder.
func (p Project) checksFile(checks, task string) string {
	return filepath.Join(p.Workflow, "verification", checks, task+".json")
}

func (p Project) writeChecks(s build.Start, c build.Chunk) error {
	if len(c.Verify) == 0 {
		return nil
	}
	file := p.checksFile(s.Checks, build.TaskName(c.ID))
	r := verify.Request{Chunk: workflow.Chunk{ID: c.ID.Workflow(), Name: c.Name}.Label(), Serve: c.Serve, Screenshot: strings.TrimSuffix(file, ".json") + ".png"}
	for _, check := range c.Verify {
		r.Checks = append(r.Checks, verify.Check{
			Name: check.Name, Command: check.Command, File: check.File, URL: check.URL, Status: check.Status,
			Contains: check.Contains, Screenshot: check.Screenshot, Timeout: verify.Duration(check.Timeout),
		})
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := statefile.MkdirIgnored(host.OS(), filepath.Dir(filepath.Dir(file))); err != nil {
		return err
	}
	if err := statefile.MkdirAll(host.OS(), filepath.Dir(file)); err != nil {
		return err
	}
	if err := statefile.WriteNew(host.OS(), file, append(data, '\n'), 0o644); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// outcomes returns a function that reads the results of an attempt's checks. The returned function
// returns false if the results cannot be read. The parameter checks is the name of the folder with
// the results.
func (p Project) outcomes(checks string) func(task string, attempt int) (build.Outcome, bool) {
	return func(task string, attempt int) (build.Outcome, bool) {
		data, err := statefile.ReadBytes(host.OS(), verify.OutcomePath(p.checksFile(checks, task), attempt))
		var o verify.Outcome
		if err != nil || json.Unmarshal(data, &o) != nil {
			return build.Outcome{}, false
		}
		return build.Outcome{Checks: o.Checks, Mode: o.Mode, Summary: o.Summary, Screenshot: p.relative(o.Screenshot)}, true
	}
}

// relative returns path relative to the project's root, or path itself if it is not below the root.
func (p Project) relative(path string) string {
	if rel, err := filepath.Rel(p.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
