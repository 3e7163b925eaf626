package sqlite

import "strings"

// bulk is a statement that adds or changes rows, for several of them at once: half
// of what a statement of one row costs is its own.
type bulk []sized

// sized is such a statement for so many rows.
type sized struct {
	rows  int
	query string
}

// newBulk returns the statement that is put together from what comes before the
// rows, one row, and what comes after them.
func newBulk(before, row, after string) bulk {
	var b bulk
	for _, n := range []int{16, 4, 1} {
		b = append(b, sized{n, before + row + strings.Repeat(", "+row, n-1) + after})
	}
	return b
}

// newChange returns the statement that changes rows, each by its key, and how it is
// for a single one. The parameters are the same in both.
func newChange(before, row, after, single string) bulk {
	b := newBulk(before+" FROM (VALUES ", row, ") AS v "+after)
	b[len(b)-1].query = single
	return b
}

// maxColumns is how many parameters a row has at the most.
const maxColumns = 8

// putAll adds or changes rows. args appends the parameters of one of them.
func putAll[V any](c *conn, b bulk, rows []V, args func(to []any, row V) ([]any, error)) error {
	for _, s := range b {
		for len(rows) >= s.rows {
			all := make([]any, 0, maxColumns*s.rows)
			var err error
			for _, row := range rows[:s.rows] {
				if all, err = args(all, row); err != nil {
					return err
				}
			}
			if err := c.exec(s.query, all...); err != nil {
				return err
			}
			rows = rows[s.rows:]
		}
	}
	return nil
}
