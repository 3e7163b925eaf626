package spec

import "strings"

// front holds the values in the front matter of a spec, by key. Keys are in lower case.
type front map[string]string

func (f front) version() string {
	if v := versionText(f["spec-version"]); v != "" {
		return v
	}
	return versionText(f["version"])
}

// maxLinesBeforeFront is the number of lines at the start of a spec in which the front matter must
// begin.
const maxLinesBeforeFront = 20

// frontMatter reads the front matter of a spec. The front matter is between two lines of --- at the
// start of the text, or in a fenced block below the title. In a fenced block marked as YAML, the
// lines of --- may be missing. ended is false if the front matter is missing or has no end.
//
// bodyStart is the offset of the text after the front matter, where the parser starts to look for
// headings. It is 0 if the front matter is in a fenced block: the parser ignores headings in fenced
// blocks, so it need not skip this block.
func frontMatter(text string) (found front, bodyStart int, ended bool) {
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

// isYAML reports whether the info string of a fenced block means YAML.
func isYAML(info string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return strings.EqualFold(word, "yaml") || strings.EqualFold(word, "yml")
}

// StatusOf returns the status in the front matter of a spec, or "" if it has none. The parameter
// beginning is the first part of the spec's text. This part may end within the front matter.
func StatusOf(beginning []byte) string {
	found, _, _ := frontMatter(strings.TrimPrefix(string(beginning), "\ufeff"))
	return found["status"]
}

// shortSynopsis is the key under which the type front stores the value "short" that is nested below
// "synopsis". Other nested values are ignored.
const shortSynopsis = "synopsis.short"

// read stores the value of a line "key: value" that is not indented, or of the indented line
// "short: value" below "synopsis". parent is the last key that was not indented. read returns the
// parent for the next line.
func (f front) read(line, parent string) string {
	name, value, ok := strings.Cut(line, ":")
	nested := strings.TrimLeft(line, " \t") != line
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case !ok || len(f) > 100:
		return parent
	case nested && parent == "synopsis" && name == "short":
		f.set(shortSynopsis, scalar(value))
		return parent
	case nested:
		return parent
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

// scalar returns a YAML value that is on a single line: the text between quotes, or everything
// before a comment. If the value continues on further lines, it returns "".
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
