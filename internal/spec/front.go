package spec

import "strings"

// front is what stands before the spec: keys and values, the keys in lower case.
type front map[string]string

func (f front) version() string {
	if v := version(f["spec-version"]); v != "" {
		return v
	}
	return version(f["version"])
}

// frontIn is how many lines of a file may stand before its front matter.
const frontIn = 20

// frontMatter reads the block between two lines of ---, which stands at the
// very beginning, or in a fenced block below the title. It returns where the
// rest begins; a fenced block is left in, since no heading is seen in one.
func frontMatter(text string) (front, int) {
	found, open, fenced := front{}, false, false
	at, n := 0, 0
	for line := range strings.Lines(text) {
		at += len(line)
		trimmed := strings.TrimSpace(line)
		switch n++; {
		case open && trimmed == "---" && fenced:
			return found, 0
		case open && trimmed == "---":
			return found, at
		case open:
			found.read(line)
		case n > frontIn:
			return nil, 0
		case fenceOf(trimmed) != "":
			fenced = !fenced
		case trimmed == "---" && (n == 1 || fenced):
			open = true
		}
	}
	return nil, 0 // it never ends, so it is none
}

// read takes "key: value" of the first level; what is nested is not asked for.
func (f front) read(line string) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || strings.TrimLeft(line, " \t") != line || len(f) > 100 {
		return
	}
	name = strings.ToLower(strings.TrimSpace(name))
	value, _, _ = strings.Cut(value, " #")
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	if _, twice := f[name]; !twice && len(name) <= 200 && len(value) <= 200 {
		f[name] = value
	}
}
