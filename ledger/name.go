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
	// verifySuffix ends the name of a file that checks of an agent's work leave
	// beside the results. It is not a result.
	verifySuffix = "-verify"
)

// CheckBead says whether bead may be the id of a task in a ledger.
func CheckBead(bead string) error {
	if err := statefile.CheckName("bead", bead); err != nil {
		return err
	}
	if strings.Contains(bead, attemptInfix) {
		return &statefile.NameError{What: "bead", Name: bead, Problem: fmt.Sprintf("has %q, which names kept attempts", attemptInfix)}
	}
	return nil
}

func keptName(bead string, attempt int) string {
	return bead + attemptInfix + strconv.Itoa(attempt) + extension
}

// fileName is what the name of a record's file says.
type fileName struct {
	file    string
	bead    string
	attempt int // of a kept attempt; 0 for the latest
}

// parseName reads the name of a file beside records, or says that it is none:
// hidden files, backups and other formats are not.
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

// compareNames orders files by task, earlier attempts first and the latest last.
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
