//go:build race

package teamwork

const underRace = true
