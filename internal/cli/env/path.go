package env

import "path/filepath"

// Path resolves a path that the user typed: relative to the current folder, not to the project's
// root.
func (e *Env) Path(typed string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(e.Dir, typed)
}
