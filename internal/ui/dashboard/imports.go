package dashboard

import (
	"path"
	"regexp"
	"slices"
)

// entry is the module that the page loads first.
const entry = "app.js"

// static matches a module's static imports. Dynamic imports, import(), are not
// preloaded.
var static = regexp.MustCompile(`(?m)^(?:import|export)\b[^'"();]*?from\s*['"](\.[^'"]+)['"]|^import\s*['"](\.[^'"]+)['"]`)

// first returns the names of the modules that the entry module imports, directly or
// indirectly.
func first(assets map[string]asset) (names []string) {
	seen := map[string]bool{entry: true}
	for queue := []string{entry}; len(queue) > 0; queue = queue[1:] {
		names = append(names, queue[0])
		for _, m := range static.FindAllStringSubmatch(string(assets[queue[0]].plain), -1) {
			name := path.Join(path.Dir(queue[0]), m[1]+m[2])
			if _, there := assets[name]; there && !seen[name] {
				seen[name] = true
				queue = append(queue, name)
			}
		}
	}
	for _, name := range []string{"lib/preact.js", "lib/hooks.js", "lib/htm.js", "lib/signals.js", "lib/signals-core.js"} {
		if _, there := assets[name]; there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
