package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"gaffer/internal/text/cells"
	"gaffer/ledger"
)

// texts returns the reports to compare, by the name of their golden file. The golden files are in
// the folder in which the test starts, the records in another folder.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	t.Run("records", func(t *testing.T) {
		records(t)
		r, known := reportOf(t, ledger.Query{}), reportOf(t, ledger.Query{Cost: cost})
		all["text-80.golden"] = Text(r, Screen{Width: 80})
		all["text-120.golden"] = Text(known, Screen{Width: 120})
		all["text-50.golden"] = Text(known, Screen{Width: 50})
		all["text-ascii.golden"] = Text(known, Screen{Width: 80, ASCII: true})
		all["text-color.golden"] = strings.ReplaceAll(Text(reportOf(t, ledger.Query{Agents: []string{"codex"}}), Screen{Width: 80, Color: true}), "\x1b", "␛")
		all["text-none.golden"] = Text(reportOf(t, ledger.Query{Agents: []string{"nobody"}}), Screen{Width: 80})
	})
	return all
}

func TestTheTextMatchesItsGoldenFiles(t *testing.T) {
	for name, text := range texts(t) {
		golden(t, name, text)
	}
}

func TestNoLineIsWiderThanTheScreenExceptFileNames(t *testing.T) {
	records(t)
	r := reportOf(t, ledger.Query{Cost: cost})
	for width := minWidth; width <= 160; width++ {
		for _, line := range strings.Split(Text(r, Screen{Width: width}), "\n") {
			if n := cells.Width(line); n > width && !strings.HasPrefix(line, "    state/") {
				t.Errorf("%d columns on a screen of %d: %s", n, width, line)
			}
		}
	}
}

func TestTextOfRecordsCannotControlTheTerminal(t *testing.T) {
	records(t)
	for _, ascii := range []bool{true, false} {
		for _, r := range Text(reportOf(t, ledger.Query{}), Screen{Width: 200, ASCII: ascii}) {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%q is printed", r)
			}
		}
	}
}

var drawn = regexp.MustCompile(`[─-▟…–×]`)

func TestAnASCIIScreenGetsOnlyASCII(t *testing.T) {
	records(t)
	if found := drawn.FindString(Text(reportOf(t, ledger.Query{}), Screen{Width: 80, ASCII: true})); found != "" {
		t.Errorf("%q is drawn", found)
	}
}

func TestTheTextIsTheSameWithoutColour(t *testing.T) {
	records(t)
	r := reportOf(t, ledger.Query{Cost: cost})
	codes := regexp.MustCompile("\x1b\\[[0-9]*m")
	painted := codes.ReplaceAllString(Text(r, Screen{Width: 80, Color: true}), "")
	if plain := Text(r, Screen{Width: 80}); painted != plain {
		t.Errorf("without its colours the text differs:\n%s\n%s", painted, plain)
	}
}

func TestSharesFillTheBarAndShowEveryPart(t *testing.T) {
	for _, parts := range [][]int{{1, 0, 0}, {1, 1, 1}, {99999, 1, 1}, {1, 99999, 0}, {2, 3, 5}, {1, 2, 99999}} {
		for columns := 3; columns < 50; columns++ {
			total := 0
			for i, n := range shares(parts, columns) {
				if (parts[i] > 0) != (n > 0) {
					t.Errorf("%v on %d columns: %d is drawn %d wide", parts, columns, parts[i], n)
				}
				total += n
			}
			if total != columns {
				t.Errorf("%v on %d columns are %d wide", parts, columns, total)
			}
		}
	}
	if got := shares([]int{0, 0}, 9); got[0]+got[1] != 0 {
		t.Errorf("nothing is drawn as %v", got)
	}
}

func TestNumbersHaveSeparatorsAndUnits(t *testing.T) {
	usd := func(f float64) *float64 { return &f }
	for got, want := range map[string]string{
		number(0): "0", number(999): "999", number(1000): "1,000", number(1234567): "1,234,567",
		runs(1): "1 run", tasks(2000): "2,000 tasks",
		formatSeconds(0): "-", formatSeconds(0.4): "under 1s", formatSeconds(59.6): "1m 00s", formatSeconds(154): "2m 34s", formatSeconds(3900): "1h 05m",
		money(nil): "-", money(usd(0)): "$0.00", money(usd(0.001)): "$0.0010", money(usd(12.345)): "$12.35", money(usd(123456)): "$123,456",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var labels []string
	for _, b := range []ledger.Bucket{{To: usd(10)}, {From: 30, To: usd(60)}, {From: 7200}} {
		labels = append(labels, bucket(b, "-"))
	}
	if got := fmt.Sprint(labels); got != "[under 10s 30s - 1m over 2h]" {
		t.Error(got)
	}
}
