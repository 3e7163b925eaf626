package agentsettings

import (
	"cmp"
	"slices"
)

// Splice is an edit of a text. It replaces the text Old at the offset At by New.
type Splice struct {
	At  int    `json:"at"` // offset in the old text, in bytes
	Old []byte `json:"old,omitempty"`
	New []byte `json:"new,omitempty"`
}

// ordered sorts the splices by offset, and joins adjacent splices. Splices with the same offset
// stay in the given order.
func ordered(splices []Splice) []Splice {
	slices.SortStableFunc(splices, func(a, b Splice) int { return cmp.Compare(a.At, b.At) })
	var joined []Splice
	for _, s := range splices {
		if n := len(joined); n > 0 && joined[n-1].At+len(joined[n-1].Old) == s.At {
			joined[n-1].Old = slices.Concat(joined[n-1].Old, s.Old)
			joined[n-1].New = slices.Concat(joined[n-1].New, s.New)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// combine returns the splices (text edits) that undo cuts and then perform adds: they turn the text
// that cuts would produce into the text that adds would produce. Both lists must apply to the same
// original text and must be ordered, and no two splices may overlap.
func combine(cuts, adds []Splice) (splices []Splice) {
	shift := 0 // offset after the cuts so far, minus the original offset
	for len(cuts) > 0 || len(adds) > 0 {
		if len(cuts) == 0 || len(adds) > 0 && adds[0].At <= cuts[0].At {
			s := adds[0]
			splices, adds = append(splices, Splice{At: s.At + shift, Old: s.Old, New: s.New}), adds[1:]
			continue
		}
		s := cuts[0]
		splices, cuts = append(splices, Splice{At: s.At + shift, Old: s.New, New: s.Old}), cuts[1:]
		shift += len(s.New) - len(s.Old)
	}
	return ordered(splices)
}

// apply returns old with the splices applied. The splices must be ordered and must not overlap.
func apply(old []byte, splices []Splice) []byte {
	var b []byte
	from := 0
	for _, s := range splices {
		b = append(append(b, old[from:s.At]...), s.New...)
		from = s.At + len(s.Old)
	}
	return append(b, old[from:]...)
}

// reverse undoes apply: it returns the text to which the splices were applied. It returns nil if
// changed cannot be a result of these splices.
func reverse(changed []byte, splices []Splice) []byte {
	b := []byte{}
	from, shift := 0, 0
	for _, s := range splices {
		at := s.At + shift
		if at < from || at+len(s.New) > len(changed) || string(changed[at:at+len(s.New)]) != string(s.New) {
			return nil
		}
		b = append(append(b, changed[from:at]...), s.Old...)
		from = at + len(s.New)
		shift += len(s.New) - len(s.Old)
	}
	return append(b, changed[from:]...)
}

func deletion(text []byte, from, to int) Splice {
	return Splice{At: from, Old: slices.Clone(text[from:to])}
}

func insertion(at int, text string) Splice { return Splice{At: at, New: []byte(text)} }
