package dashboard

import (
	"path"
	"slices"

	"gaffer/statefile/lazyregexp"
)

// entryModule is the name of the module that the page loads first.
const entryModule = "app.js"

// staticImport matches a static import of a module. Modules that are imported dynamically, by
// import(), are not preloaded.
var staticImport = lazyregexp.New(`(?m)^(?:import|export)\b[^'"();]*?from\s*['"](\.[^'"]+)['"]|^import\s*['"](\.[^'"]+)['"]`)

// modulesOf returns the names of the modules to preload: entryModule, all modules that it imports
// by their paths, directly or indirectly, and the libraries. The libraries are listed here, because
// modules import them by names that only the page's import map defines.
func modulesOf(assets map[string]asset) (names []string) {
	seen := map[string]bool{entryModule: true}
	for queue := []string{entryModule}; len(queue) > 0; queue = queue[1:] {
		names = append(names, queue[0])
		for _, m := range staticImport().FindAllStringSubmatch(string(assets[queue[0]].plain), -1) {
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
