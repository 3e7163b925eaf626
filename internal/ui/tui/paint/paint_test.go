package paint

import (
	"slices"
	"strings"
	"testing"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
)

func TestALongLineContinuesIndented(t *testing.T) {
	line := "  worker-with-a-long-name asks: Which of the ports?"
	for width, want := range map[int]string{
		0:  line,
		80: line,
		40: "  worker-with-a-long-name asks: Which of|      the ports?",
		30: "  worker-with-a-long-name|      asks: Which of the|      ports?",
	} {
		if got := strings.Join(HangingIndent(line, width, 4), "|"); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

func TestALongWordContinuesInTheNextRow(t *testing.T) {
	got := Wrap("look at abcdefghijklmnop\x1b\n日本語日本語 ok", 8, 10)
	if want := []string{"look at", "abcdefgh", "ijklmnop", "\ufffd", "日本語日", "本語 ok"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Wrap("a b c d e f g h", 1, 3); !slices.Equal(got, []string{"a", "b", "…"}) {
		t.Errorf("%q", got)
	}
}

func TestColumnsFitEveryWidth(t *testing.T) {
	rows := [][]string{{"● running", "api", "Bash: go test ./... and more of it", "1m 02s"}, {"○ queued", "a-long-name", "", ""}}
	for width := range 100 {
		table := Table{Columns: []Column{{Max: 12}, {Max: 20}, {Max: 200, Min: 16, Flex: true, Drop: 2}, {Max: 8, Right: true, Drop: 1}}}
		for _, row := range rows {
			table.Add(spans(row)...)
		}
		for _, l := range table.Rows(width) {
			if l.Width() > width {
				t.Fatalf("%d columns on %d: %q", l.Width(), width, l.Render(200, false))
			}
		}
	}
}

func spans(texts []string) (row []Span) {
	for _, text := range texts {
		row = append(row, Span{Text: text})
	}
	return row
}

func TestTheColumnWithTheLowestDropIsRemovedFirst(t *testing.T) {
	const doing = "what-it-does-at-the-moment"
	for width, want := range map[int]string{40: "id what time", 26: "id what time", 25: "id what", 20: "id what", 10: "id", 1: "…"} {
		table := Table{Columns: []Column{{Max: 12}, {Max: 200, Min: 16, Flex: true, Drop: 2}, {Max: 8, Drop: 1}}}
		table.Add(spans([]string{"id", doing, "time"})...)
		got := strings.Fields(table.Rows(width)[0].Render(width, false))
		for i := range got {
			if strings.HasPrefix(got[i], "what") {
				got[i] = "what"
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d columns show %q, want %q", width, got, want)
		}
	}
}

func TestNothingIsWiderThanTheScreen(t *testing.T) {
	l := Line{{Text: "日本語 and more", Style: display.Bold}, {Text: "the rest"}}
	for width := range 30 {
		if got := l.Render(width, false); cells.Width(got) > width {
			t.Errorf("%q on %d", got, width)
		}
	}
}
