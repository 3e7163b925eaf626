//go:build race

package engine_test

// underRace makes simulations several times as slow.
const underRace = true
