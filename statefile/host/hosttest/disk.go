package hosttest

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// disk is a simulated file system that distinguishes durable data from data that a
// power cut can lose.
type disk struct {
	root *node
	now  time.Time
}

// node is a file, a link or a folder.
type node struct {
	mode    fs.FileMode
	mtime   time.Time
	content []byte
	synced  []byte // content after the last sync; survives a power cut

	entries map[string]*node // a folder's entries as processes see them
	durable map[string]*node // a folder's entries after the last sync; they survive a power cut
	pending []*change        // changes of a folder's entries since the last sync
}

// change is one change of directory entries: it removes a name, adds a name, or both. A rename from
// one folder to another is a single change, which belongs to both folders.
type change struct {
	// The folder from loses the name gone; from is nil if the change removes no name. The folder to
	// gets the name come; to is nil if the change adds no name.
	from, to   *node
	gone, come string
	node       *node
	// A power cut decides at random whether a change survives. chosen is true after this decision.
	// kept is true if the change survives.
	kept, chosen bool
}

func newFolder(perm fs.FileMode, now time.Time) *node {
	return &node{mode: fs.ModeDir | perm, mtime: now, entries: map[string]*node{}, durable: map[string]*node{}}
}

func newDisk() *disk { return &disk{root: newFolder(0o755, time.Time{})} }

func (n *node) syncEntries() {
	n.durable = maps.Clone(n.entries)
	n.pending = nil
}

// lookup finds the node at name. If the last element of name is a link, lookup
// follows it only if follow is true. It follows all other links.
func (d *disk) lookup(name string, follow bool) (*node, error) {
	return d.walk(path.Clean(name), follow, 0)
}

func (d *disk) walk(name string, follow bool, links int) (*node, error) {
	if links > 40 {
		return nil, syscall.ELOOP
	}
	at, here := d.root, "/"
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		if at.entries == nil {
			return nil, syscall.ENOTDIR
		}
		next := at.entries[part]
		if next == nil {
			return nil, fs.ErrNotExist
		}
		if next.mode&fs.ModeSymlink != 0 && (follow || i < len(parts)-1) {
			target := string(next.content)
			if !path.IsAbs(target) {
				target = path.Join(here, target)
			}
			return d.walk(path.Join(append([]string{target}, parts[i+1:]...)...), follow, links+1)
		}
		at, here = next, path.Join(here, part)
	}
	return at, nil
}

// parent returns the folder that contains, or would contain, the path name. base is the last
// element of name.
func (d *disk) parent(name string) (folder *node, base string, err error) {
	folder, err = d.lookup(path.Dir(path.Clean(name)), true)
	if err == nil && folder.entries == nil {
		err = syscall.ENOTDIR
	}
	return folder, path.Base(name), err
}

// add puts n on the disk under the path name. It fails if this path exists.
func (d *disk) add(name string, n *node) error {
	folder, base, err := d.parent(name)
	if err != nil {
		return err
	}
	if folder.entries[base] != nil {
		return fs.ErrExist
	}
	d.apply(&change{to: folder, come: base, node: n})
	return nil
}

func (d *disk) remove(name string) error {
	folder, base, err := d.parent(name)
	if err != nil {
		return err
	}
	n := folder.entries[base]
	switch {
	case n == nil:
		return fs.ErrNotExist
	case len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	d.apply(&change{from: folder, gone: base})
	return nil
}

func (d *disk) rename(from, to string) error {
	source, gone, err := d.parent(from)
	if err != nil {
		return err
	}
	target, come, err := d.parent(to)
	if err != nil {
		return err
	}
	n, old := source.entries[gone], target.entries[come]
	switch {
	case n == nil:
		return fs.ErrNotExist
	case old != nil && old.entries != nil && n.entries == nil:
		return syscall.EISDIR
	case old != nil && len(old.entries) > 0:
		return syscall.ENOTEMPTY
	case old != nil && old.entries == nil && n.entries != nil:
		return syscall.ENOTDIR
	}
	d.apply(&change{from: source, gone: gone, to: target, come: come, node: n})
	return nil
}

func (d *disk) apply(c *change) {
	if c.from != nil {
		delete(c.from.entries, c.gone)
		c.from.mtime = d.now
		c.from.pending = append(c.from.pending, c)
	}
	if c.to != nil {
		c.to.entries[c.come] = c.node
		c.to.mtime = d.now
		if c.to != c.from {
			c.to.pending = append(c.to.pending, c)
		}
	}
}

func (d *disk) list(name string) ([]fs.DirEntry, error) {
	n, err := d.lookup(name, true)
	if err != nil {
		return nil, err
	}
	if n.entries == nil {
		return nil, syscall.ENOTDIR
	}
	var list []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, fs.FileInfoToDirEntry(n.entries[base].info(base)))
	}
	return list, nil
}

// powerCut simulates that the power fails. It keeps the durable data, and decides at random which
// other data is lost.
func (d *disk) powerCut(rng *rand.Rand) {
	seen := map[*node]bool{}
	d.root.powerCut(rng, seen)
}

func (n *node) powerCut(rng *rand.Rand, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if n.entries == nil {
		n.loseContent(rng)
		return
	}
	entries := maps.Clone(n.durable)
	for _, c := range n.pending {
		if !c.chosen {
			c.chosen, c.kept = true, rng.IntN(2) == 0
		}
		if !c.kept {
			continue
		}
		if c.from == n {
			delete(entries, c.gone)
		}
		if c.to == n {
			entries[c.come] = c.node
		}
	}
	n.entries = entries
	n.syncEntries()
	for _, base := range slices.Sorted(maps.Keys(entries)) {
		entries[base].powerCut(rng, seen)
	}
}

// loseContent simulates what a power cut does to the content of a file. At random, the file keeps
// all of its content, only the beginning of it, or only what was synced. So a file that was renamed
// before it was synced may become empty.
func (n *node) loseContent(rng *rand.Rand) {
	if string(n.content) != string(n.synced) {
		switch rng.IntN(3) {
		case 0:
			n.content = n.synced
		case 1:
			n.content = n.content[:rng.IntN(len(n.content)+1)]
		}
	}
	n.synced = n.content
}

// info returns the current file information of n, with this file name.
func (n *node) info(name string) fs.FileInfo {
	return info{name: path.Base(name), size: int64(len(n.content)), mode: n.mode, mtime: n.mtime}
}

type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mtime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
