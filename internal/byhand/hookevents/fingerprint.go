package hookevents

import (
	"fmt"
	"hash/fnv"
)

// fingerprint tells texts apart. Who wants two to have the same can: all that reads
// them belongs to one user, and so does all that writes them. A hash against which
// that is hard begins too late for a hook.
func fingerprint(text []byte) string {
	hash := fnv.New128a()
	_, _ = hash.Write(text) // it never fails
	var sum [16]byte
	return fmt.Sprintf("%x", hash.Sum(sum[:0]))
}
