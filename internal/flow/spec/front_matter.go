package spec

import "strings"

// front holds the front matter of a spec by key. Keys are in lower case.
type front map[string]string

func (f front) version() string {
	if v := versionText(f["spec-version"]); v != "" {
		return v
	}
	return versionText(f["version"])
}

// maxLinesBeforeFront is the maximum number of lines that may precede the front matter.
const maxLinesBeforeFront = 20

// frontMatter reads the front matter of a spec. It is between two lines of --- at the
// very beginning, or in a fenced block below the title. In a block marked as YAML the
// lines of --- may be missing. rest is the offset of the remaining text. ended reports
// whether the front matter is closed. A fenced block stays in the remaining text,
// because headings in it are ignored anyway.
func frontMatter(text string) (found front, rest int, ended bool) {
	fence, yaml, open, key := "", false, false, ""
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
			key = found.read(line, key)
		case n > maxLinesBeforeFront:
			return nil, 0, false
		case fence == "" && mark != "":
			fence, yaml = mark, isYAML(trimmed[len(mark):])
		case fence != "" && strings.HasPrefix(mark, fence):
			fence, yaml = "", false
		case trimmed == "---" && (n == 1 || fence != ""):
			found, open = front{}, true
		case yaml && trimmed != "":
			found, open = front{}, true
			key = found.read(line, key)
		}
	}
	return found, 0, false
}

// isYAML reports whether the info string of a fence says YAML.
func isYAML(info string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return strings.EqualFold(word, "yaml") || strings.EqualFold(word, "yml")
}

// StatusOf returns the status in the front matter of a spec. beginning may end before
// the front matter does.
func StatusOf(beginning []byte) string {
	found, _, _ := frontMatter(strings.TrimPrefix(string(beginning), "\ufeff"))
	return found["status"]
}

// shortSynopsis is the only nested key that is read.
const shortSynopsis = "synopsis.short"

// read reads a line "key: value" of the first level, and the short text below synopsis.
// key is the first-level key that the line may belong to; read returns the key for the
// next line.
func (f front) read(line, key string) string {
	name, value, ok := strings.Cut(line, ":")
	nested := strings.TrimLeft(line, " \t") != line
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case !ok || len(f) > 100:
		return key
	case nested && key == "synopsis" && name == "short":
		f.set(shortSynopsis, scalar(value))
		return key
	case nested:
		return key
	}
	value, _, _ = strings.Cut(value, " #")
	f.set(name, strings.Trim(strings.TrimSpace(value), `"'`))
	return name
}

func (f front) set(name, value string) {
	if _, twice := f[name]; !twice && len(name) <= 200 && len(value) <= 200 {
		f[name] = value
	}
}

// scalar returns a YAML value on a single line: the text between quotes, or
// everything up to a comment. It returns "" for values that continue on further
// lines.
func scalar(value string) string {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") {
		text, _, ended := strings.Cut(value[1:], value[:1])
		if !ended {
			return ""
		}
		return text
	}
	if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
		return ""
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}
