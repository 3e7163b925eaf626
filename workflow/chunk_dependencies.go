package workflow

import (
	"slices"
	"strconv"
	"strings"

	"gaffer/statefile/lazyregexp"
)

var (
	chunkWord  = lazyregexp.New(`(?i)^(?:chunks?|ids?)\b[\s:#]*`)
	separators = lazyregexp.New(`(?i)\s*(?:,|;|&|\band\b)\s*`)
	idRange    = lazyregexp.New(`(?i)^(\d{1,6})\s*(?:-|–|—|\.\.+|\bto\b|\bthrough\b)\s*(\d{1,6})$`)
)

// resolveDependencies returns the dependencies of a chunk (a part of a build) as ids. It replaces
// dependencies that are written as text, such as "chunks 1-3" or "chunk 2 and 4", by the ids of
// these chunks. The parameter ids lists the ids of all chunks of the build. Text that does not name
// chunks of the build stays unchanged.
func resolveDependencies(deps, ids []ID) []ID {
	if !slices.ContainsFunc(deps, func(id ID) bool { return !slices.Contains(ids, id) }) {
		return deps
	}
	var out []ID
	for _, dep := range deps {
		found := []ID{dep}
		if !slices.Contains(ids, dep) {
			if list := parseDependency(string(dep), ids); list != nil {
				found = list
			}
		}
		for _, id := range found {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// parseDependency returns the ids of the chunks that are named in text, such as "chunks 1-3". The
// parameter ids lists the ids of all chunks. parseDependency returns nil if a part of the text is
// neither one of these ids nor a range of them.
func parseDependency(text string, ids []ID) []ID {
	var list []ID
	text = chunkWord().ReplaceAllString(strings.TrimSpace(text), "")
	for _, part := range separators().Split(text, -1) {
		part = strings.TrimSpace(chunkWord().ReplaceAllString(part, ""))
		if slices.Contains(ids, ID(part)) {
			list = append(list, ID(part))
			continue
		}
		m := idRange().FindStringSubmatch(part)
		if m == nil || !slices.Contains(ids, ID(m[1])) || !slices.Contains(ids, ID(m[2])) {
			return nil
		}
		first, _ := strconv.Atoi(m[1]) // cannot fail: idRange matches at most six digits
		last, _ := strconv.Atoi(m[2])
		if first > last {
			return nil
		}
		for _, id := range ids {
			if n, err := strconv.Atoi(string(id)); err == nil && first <= n && n <= last {
				list = append(list, id)
			}
		}
	}
	return list
}
