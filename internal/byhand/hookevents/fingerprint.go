package hookevents

import (
	"fmt"
	"hash/fnv"
)

// fingerprint returns a hash of a text. An attacker could find another text with the same hash.
// That is acceptable, because the same user writes and reads all texts. A cryptographic hash would
// make a hook start more slowly.
func fingerprint(text []byte) string {
	hash := fnv.New128a()
	_, _ = hash.Write(text) // never returns an error
	var sum [16]byte
	return fmt.Sprintf("%x", hash.Sum(sum[:0]))
}
