package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"gaffer/statefile"
)

const (
	extension    = ".json"
	attemptInfix = ".attempt-"
	// Files with the results of checks of an agent's work, such as tests, are stored beside the
	// result records, but are not records. Their names end with verifySuffix and the extension.
	verifySuffix = "-verify"
)

// CheckBead returns an error if bead cannot be the id of a task in a ledger.
func CheckBead(bead string) error {
	if err := statefile.CheckName("bead", bead); err != nil {
		return err
	}
	if strings.Contains(bead, attemptInfix) {
		return &statefile.NameError{What: "bead", Name: bead, Problem: fmt.Sprintf("has %q, which is reserved for earlier attempts", attemptInfix)}
	}
	return nil
}

func keptName(bead string, attempt int) string {
	return bead + attemptInfix + strconv.Itoa(attempt) + extension
}

// fileName is the name of a record's file, split into its parts.
type fileName struct {
	file    string
	bead    string
	attempt int // number of the attempt; 0 for the latest record, whose file name has no number
}

// parseName parses the name of a record's file. It returns false for names that no record can have,
// such as those of hidden files and backups.
func parseName(file string) (fileName, bool) {
	stem, ok := strings.CutSuffix(file, extension)
	if !ok || stem == "" || strings.HasPrefix(file, ".") {
		return fileName{}, false
	}
	if at := strings.LastIndex(stem, attemptInfix); at > 0 {
		digits := stem[at+len(attemptInfix):]
		if n, err := strconv.Atoi(digits); err == nil && n > 0 && strconv.Itoa(n) == digits {
			return fileName{file, stem[:at], n}, true
		}
	}
	return fileName{file, stem, 0}, true
}

// compareNames compares two file names, to sort them by task and then by attempt number. The latest
// record of a task, whose file name has no number, comes last.
func compareNames(a, b fileName) int {
	if c := strings.Compare(a.bead, b.bead); c != 0 {
		return c
	}
	return a.order() - b.order()
}

func (n fileName) order() int {
	if n.attempt == 0 {
		return int(^uint(0) >> 1)
	}
	return n.attempt
}
