package table

import (
	"fmt"
	"strings"
	"testing"

	"gaffer/internal/text/cells"
)

// lines returns the rows as a terminal of this width shows them.
func lines(rows [][]Cell, columns int) (list []string) {
	rows, widths := fit(clean(rows), columns)
	for _, row := range rows {
		var parts []string
		for i, c := range row {
			parts = append(parts, cells.Fill(cut(c.Text, widths[i]), widths[i]))
		}
		list = append(list, strings.Join(parts, gap))
	}
	return list
}

func TestNoRowIsWiderThanTheTerminal(t *testing.T) {
	for n := 1; n <= 10; n++ {
		rows := [][]Cell{nil}
		for i := range n {
			rows[0] = append(rows[0], Cell{Text: fmt.Sprint("Heading", i), Keep: i%3 == 0, Drop: i % 4})
		}
		for _, text := range []string{"", "日本語のとても長いテキスト", strings.Repeat("long words ", 20), strings.Repeat("x", 100)} {
			row := make([]Cell, n)
			for i := range row {
				row[i].Text = text
			}
			rows = append(rows, row)
		}
		for columns := 60; columns <= 200; columns++ {
			for _, line := range lines(rows, columns) {
				if cells.Width(line) > columns {
					t.Fatalf("%d columns of %d headings in %d: %s", cells.Width(line), n, columns, line)
				}
			}
		}
	}
}

func TestATableThatFitsStaysAsItIs(t *testing.T) {
	rows := [][]Cell{{{Text: "Run", Drop: 1}, {Text: "State"}}, {{Text: "20260201-142726-0c0ffee0", Short: "0c0ffee0"}, {Text: "running"}}}
	for _, columns := range []int{0, 33} {
		if got := lines(rows, columns)[1]; got != "20260201-142726-0c0ffee0  running" {
			t.Errorf("%d: %q", columns, got)
		}
	}
}

func TestANarrowTerminalDropsAndCutsColumns(t *testing.T) {
	rows := [][]Cell{
		{{Text: "Run", Keep: true}, {Text: "Cost", Drop: 1}, {Text: "Time", Keep: true, Drop: 2}, {Text: "State"}},
		{{Text: "20260201-142726-0c0ffee0", Short: "0c0ffee0"}, {}, {Text: "12s"}, {Text: "running, go test ./... in the folder of the module"}},
	}
	for columns, want := range map[int]string{
		75: "0c0ffee0  -     12s   running, go test ./... in the folder of the module", // short text
		68: "0c0ffee0  12s   running, go test ./... in the folder of the module",       // empty column dropped
		50: "0c0ffee0  12s   running, go test ./... in the…",                           // text cut between two words
		34: "0c0ffee0  12s   running, go test…",                                        // text cut to the readable width
		30: "0c0ffee0  running, go test…",                                              // column dropped
	} {
		if got := strings.TrimRight(lines(rows, columns)[1], " "); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
