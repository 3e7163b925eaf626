package env

import "path/filepath"

// Path returns the absolute form of a path that the user typed. A relative path starts from the
// current folder and not from the project's root.
func (e *Env) Path(typed string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(e.Dir, typed)
}
