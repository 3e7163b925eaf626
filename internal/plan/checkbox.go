package plan

import "slices"

// TickCheckbox ticks the checkboxes of one prompt in an orchestrator file, which is a plan in
// markdown with a checkbox for each prompt. id is the id of the prompt. TickCheckbox changes "[ ]"
// to "[x]" and no other byte. The second result reports whether a checkbox was changed.
func TickCheckbox(markdown []byte, id string) ([]byte, bool) {
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
