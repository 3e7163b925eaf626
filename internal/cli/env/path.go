package env

import "path/filepath"

// Path resolves a path that a person typed: against the folder that the
// command runs in, not against the project's root.
func (e *Env) Path(typed string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(e.Dir, typed)
}
