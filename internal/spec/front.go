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

// frontMatter reads the keys and values at the head of a spec: between two lines
// of --- at the very beginning, or in a fenced block below the title. In a block
// that is marked as YAML the lines of --- may be missing. It returns where the
// rest begins, and whether the front matter has an end. A fenced block is left in
// the rest, since no heading is seen in one.
func frontMatter(text string) (found front, rest int, ended bool) {
	fence, yaml, open := "", false, false
	at, n := 0, 0
	for line := range strings.Lines(text) {
		at += len(line)
		trimmed := strings.TrimSpace(line)
		mark := fenceOf(trimmed)
		switch n++; {
		case open && fence == "" && trimmed == "---":
			return found, at, true
		case open && fence != "" && (trimmed == "---" || strings.HasPrefix(mark, fence)):
			return found, 0, true
		case open:
			found.read(line)
		case n > frontIn:
			return nil, 0, false
		case fence == "" && mark != "":
			fence, yaml = mark, isYAML(trimmed[len(mark):])
		case fence != "" && strings.HasPrefix(mark, fence):
			fence, yaml = "", false
		case trimmed == "---" && (n == 1 || fence != ""):
			found, open = front{}, true
		case yaml && trimmed != "":
			found, open = front{}, true
			found.read(line)
		}
	}
	return found, 0, false
}

// isYAML reports whether what follows a fence marks the block as YAML.
func isYAML(info string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return strings.EqualFold(word, "yaml") || strings.EqualFold(word, "yml")
}

// StatusOf returns the status in the front matter of a spec. The text may be only
// the beginning of the file, so front matter without an end counts too.
func StatusOf(beginning []byte) string {
	found, _, _ := frontMatter(strings.TrimPrefix(string(beginning), "\ufeff"))
	return found["status"]
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
