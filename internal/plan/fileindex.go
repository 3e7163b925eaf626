package plan

import "slices"

// fileIndex holds the file patterns of tasks in a tree of folders. With it, a search for overlaps
// compares a pattern only with the patterns of its own folder and of the folders above and below
// it.
type fileIndex struct {
	root    folder
	matcher matcher
	query   int
	seen    []int // for each task: the sequence number of the last search that has found it
	found   []int // indexes of the tasks that the current search has found
}

func newFileIndex(tasks int) *fileIndex { return &fileIndex{seen: make([]int, tasks)} }

type folder struct {
	below map[string]*folder
	// here holds the patterns whose literal part is the path of this folder. The literal part is
	// the path before the first element with a wildcard, or the whole path if there is no wildcard.
	here []declaredFile
}

type declaredFile struct {
	task    int
	pattern *pattern
}

func (c *fileIndex) add(task int, patterns []*pattern) {
	for _, p := range patterns {
		at := &c.root
		for _, name := range p.segments[:p.literal] {
			next := at.below[name]
			if next == nil {
				next = &folder{}
				if at.below == nil {
					at.below = map[string]*folder{}
				}
				at.below[name] = next
			}
			at = next
		}
		at.here = append(at.here, declaredFile{task, p})
	}
}

// overlaps returns the indexes, in ascending order, of the tasks that have a file pattern which
// overlaps one of the given patterns. The list is valid until the next call.
func (c *fileIndex) overlaps(patterns []*pattern) []int {
	c.found = c.found[:0]
	c.query++
	for _, p := range patterns {
		c.search(p)
	}
	slices.Sort(c.found)
	return c.found
}

// search compares the pattern p with all patterns that could overlap it: those in the folder of p,
// in the folders above it, and in all folders below it.
func (c *fileIndex) search(p *pattern) {
	at := &c.root
	for _, name := range p.segments[:p.literal] {
		c.compare(p, at.here)
		if at = at.below[name]; at == nil {
			return
		}
	}
	c.walk(p, at)
}

func (c *fileIndex) walk(p *pattern, at *folder) {
	c.compare(p, at.here)
	for _, next := range at.below {
		c.walk(p, next)
	}
}

// compare finds the patterns in the list others that overlap p, and adds their tasks to c.found.
// The caller must pass patterns of p's own folder, of a folder above it or of a folder below it. If
// neither p nor such a pattern has a wildcard, the two always overlap, because one path is equal to
// the other or contains it.
func (c *fileIndex) compare(p *pattern, others []declaredFile) {
	for _, other := range others {
		if c.seen[other.task] == c.query {
			continue
		}
		if !p.glob() && !other.pattern.glob() || c.matcher.overlap(p, other.pattern) {
			c.seen[other.task] = c.query
			c.found = append(c.found, other.task)
		}
	}
}
