package sqlite

import "strings"

// bulk is a statement that adds or changes several rows at once. Half of the cost of a
// single-row statement is independent of the row.
type bulk struct {
	before, row, after string // parts of the statement for several rows
	single             string // the statement for one row
}

// newBulk returns the statement that consists of the text before the rows, one row, and
// the text after them.
func newBulk(before, row, after string) bulk {
	return bulk{before, row, after, before + row + after}
}

// newChange returns a statement that updates rows by their key. single is the form for
// one row; it has the same parameters.
func newChange(before, row, after, single string) bulk {
	return bulk{before + " FROM (VALUES ", row, ") AS v " + after, single}
}

const (
	// Fewer than fewBulk rows are not worth preparing a statement for their number.
	fewBulk = 4
	// mostBulk is the maximum number of rows per statement. Each number of rows needs
	// its own prepared statement.
	mostBulk = 32
	// maxColumns is the maximum number of parameters of a row.
	maxColumns = 8
)

// of returns the statement for n rows.
func (b *bulk) of(n int) string {
	if n == 1 {
		return b.single
	}
	return b.before + b.row + strings.Repeat(", "+b.row, n-1) + b.after
}

// share returns how many of the given number of rows the next statement writes.
func share(rows int) int {
	if rows < fewBulk {
		return 1
	}
	return min(rows, mostBulk)
}

// putAll adds or changes rows. args appends the parameters of one row.
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
