package sqlite

import "strings"

// bulk is a statement that adds or changes rows, for several of them at once: half
// of what a statement of one row costs is its own.
type bulk struct {
	before, row, after string // a statement of several rows is put together from these
	single             string // and this is for one
}

// newBulk returns the statement that is put together from what comes before the
// rows, one row, and what comes after them.
func newBulk(before, row, after string) bulk {
	return bulk{before, row, after, before + row + after}
}

// newChange returns the statement that changes rows, each by its key, and how it is
// for a single one. The parameters are the same in both.
func newChange(before, row, after, single string) bulk {
	return bulk{before + " FROM (VALUES ", row, ") AS v " + after, single}
}

const (
	// fewBulk rows are not worth a statement that must be prepared for them.
	fewBulk = 4
	// mostBulk is how many rows a statement has at the most: there is one for
	// each number of them.
	mostBulk = 32
	// maxColumns is how many parameters a row has at the most.
	maxColumns = 8
)

// of returns the statement for so many rows.
func (b *bulk) of(n int) string {
	if n == 1 {
		return b.single
	}
	return b.before + b.row + strings.Repeat(", "+b.row, n-1) + b.after
}

// share is how many of so many rows are put by one statement.
func share(rows int) int {
	if rows < fewBulk {
		return 1
	}
	return min(rows, mostBulk)
}

// putAll adds or changes rows. args appends the parameters of one of them.
func putAll[V any](c *conn, b bulk, rows []V, args func(to []any, row V) ([]any, error)) error {
	for len(rows) > 0 {
		n := share(len(rows))
		all := make([]any, 0, maxColumns*n)
		var err error
		for _, row := range rows[:n] {
			if all, err = args(all, row); err != nil {
				return err
			}
		}
		if err := c.exec(b.of(n), all...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
