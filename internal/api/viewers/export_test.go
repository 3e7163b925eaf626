package viewers

// Watching returns the number of projects for which a watch of all documents is running.
func (v *Viewer) Watching() int {
	v.projectList.mu.Lock()
	defer v.projectList.mu.Unlock()
	n := 0
	for _, l := range v.liveProjects {
		l.mu.Lock()
		if l.allDocuments.stop != nil {
			n++
		}
		l.mu.Unlock()
	}
	return n
}
