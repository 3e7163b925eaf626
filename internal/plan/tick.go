package plan

import "slices"

// Tick changes the checkboxes of a prompt in an orchestrator's markdown from "[ ]" to
// "[x]", and leaves every other byte unchanged. It reports whether there was one to
// change.
func Tick(markdown []byte, id string) ([]byte, bool) {
	var ticked []byte
	for _, m := range checkbox().FindAllSubmatchIndex(markdown, -1) {
		if string(markdown[m[6]:m[7]]) != id || markdown[m[2]] != ' ' {
			continue
		}
		if ticked == nil {
			ticked = slices.Clone(markdown)
		}
		ticked[m[2]] = 'x'
	}
	if ticked == nil {
		return markdown, false
	}
	return ticked, true
}
