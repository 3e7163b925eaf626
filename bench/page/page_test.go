package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaffer/bench/figure"
)

// same checks that a file has the wanted text. With UPDATE_GOLDEN=1 it writes files in testdata.
func same(t *testing.T, path, want string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" && strings.HasPrefix(path, "testdata") {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if string(got) == want {
		return
	}
	have, wanted := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range min(len(have), len(wanted)) {
		if have[i] != wanted[i] {
			t.Errorf("%s:%d: is %q, and the generator makes %q", path, i+1, have[i], wanted[i])
			return
		}
	}
	t.Errorf("%s: has %d lines, and the generator makes %d", path, len(have), len(wanted))
}

func TestAPageIsMadeOfItsFigures(t *testing.T) {
	for _, p := range pages() {
		r, err := load("testdata/" + p.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Sections) < 2 {
			t.Fatalf("testdata/%s.json has %d sections", p.name, len(r.Sections))
		}
		text, plots := render(p, r)
		same(t, "testdata/"+p.name+".md", text)
		for name, plot := range plots {
			if !strings.Contains(text, "("+imageDir+"/"+name+")") {
				t.Errorf("the page does not show %s", name)
			}
			checkPlot(t, name, plot)
		}
	}
}

// checkPlot checks that a plot is XML and that all of its points are inside of the plot area.
func checkPlot(t *testing.T, name, plot string) {
	t.Helper()
	points := 0
	for d := xml.NewDecoder(strings.NewReader(plot)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "script" {
			t.Errorf("%s has a script", name)
		}
		if start.Name.Local != "circle" {
			continue
		}
		points++
		at := map[string]float64{}
		for _, a := range start.Attr {
			at[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
		}
		if at["cx"] < left || at["cx"] > right || at["cy"] < top || at["cy"] > bottom {
			t.Errorf("%s: the point at %v, %v is outside of the plot", name, at["cx"], at["cy"])
		}
	}
	if points < 2 {
		t.Errorf("%s has %d points", name, points)
	}
}

func figures(measure string, list ...figure.Figure) (all []figure.Figure) {
	for _, f := range list {
		f.Measure = measure
		all = append(all, f)
	}
	return all
}

func TestPointsOfAPlotAreWhereTheirValuesAre(t *testing.T) {
	plot := tableOf(measure{id: "m", title: "a < b", unit: "ms", size: "tasks"}, figures("m",
		figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 10, Value: 1},
		figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 100, Value: 10},
		figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 1000, Value: 100},
		figure.Figure{Program: "sh & co", Kind: figure.Other, Size: 10, Value: 0},
	)).plot()
	checkPlot(t, "plot", plot)
	for _, want := range []string{`points="70.0,290.0 295.0,160.0 520.0,30.0"`, "a &lt; b", "sh &amp; co (0)"} {
		if !strings.Contains(plot, want) {
			t.Errorf("no %s in\n%s", want, plot)
		}
	}
}

func TestThereIsNoPlotOfOneSize(t *testing.T) {
	one := figures("m", figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 10, Value: 1})
	if plot := tableOf(measure{id: "m"}, one).plot(); plot != "" {
		t.Errorf("one size: %s", plot)
	}
	none := figures("m", figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Value: 1}, figure.Figure{Program: "true", Kind: figure.Limit, Value: 2})
	if plot := tableOf(measure{id: "m"}, none).plot(); plot != "" {
		t.Errorf("no sizes: %s", plot)
	}
}

func TestGafferIsBehindWhereAnotherProgramIsBetter(t *testing.T) {
	list := figures("m",
		figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 10, Value: 4},
		figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 100, Value: 4},
		figure.Figure{Program: "gaffer", Kind: figure.Gaffer, Size: 1000, Value: 4},
		figure.Figure{Program: "make", Kind: figure.Other, Size: 10, Value: 1},
		figure.Figure{Program: "make", Kind: figure.Other, Size: 100, Value: 4},
		figure.Figure{Program: "make", Kind: figure.Other, Size: 1000, Value: 8},
		figure.Figure{Program: "sleep", Kind: figure.Other, Size: 10, Value: 0},
		figure.Figure{Program: "slow", Kind: figure.Other, Size: 10, Value: 5},
		figure.Figure{Program: "true", Kind: figure.Limit, Size: 10, Value: 0.1},
		figure.Figure{Program: "absent", Kind: figure.Other, Size: 10, Note: "is not installed"},
	)
	for _, c := range []struct {
		more bool
		want map[string]map[int]float64
	}{
		{false, map[string]map[int]float64{"make": {10: 4}, "sleep": {10: never}}},
		{true, map[string]map[int]float64{"make": {1000: 2}, "slow": {10: 1.25}}},
	} {
		got := map[string]map[int]float64{}
		for _, l := range tableOf(measure{id: "m", more: c.more}, list).lags() {
			got[l.other] = l.factors
		}
		have, _ := json.Marshal(got)
		want, _ := json.Marshal(c.want)
		if !bytes.Equal(have, want) {
			t.Errorf("more is better: %v: behind %s, want %s", c.more, have, want)
		}
	}
}

func TestALineFitsItsPoints(t *testing.T) {
	l, ok := fit(map[int]float64{1: 12, 10: 30, 100: 210, 1000: 2010})
	if !ok || math.Abs(l.start-10) > 1e-6 || math.Abs(l.slope-2) > 1e-9 || l.residual > 1e-9 || l.points != 4 {
		t.Errorf("%+v, %v", l, ok)
	}
	if at := l.reaches(2000); math.Abs(at-995) > 1e-6 {
		t.Errorf("reaches 2000 at %v, want 995", at)
	}
	if flat, _ := fit(map[int]float64{1: 7, 10: 7, 100: 7}); !math.IsInf(flat.reaches(8), 1) {
		t.Errorf("a flat line reaches 8: %+v", flat)
	}
	if bent, _ := fit(map[int]float64{0: 0, 50: 80, 100: 100}); bent.residual < 0.15 || bent.slope == 0 {
		t.Errorf("points that are in no line have the residual %v", bent.residual)
	}
	noise, _ := fit(map[int]float64{1: 50, 10: 52, 100: 49, 1000: 51})
	if noise.slope != 0 || noise.at(goal) != 50.5 {
		t.Errorf("noise grows: %+v", noise)
	}
	if _, ok := fit(map[int]float64{1: 1, 2: 2}); ok {
		t.Error("two points have a line")
	}
}

func TestAnOverloadedSizeIsNotExtrapolated(t *testing.T) {
	list := []figure.Figure{
		{Measure: "scale.answered", Program: "all", Kind: figure.Gaffer, Size: 100, Value: 100},
		{Measure: "scale.answered", Program: "all", Kind: figure.Gaffer, Size: 1000, Value: 98.9},
		{Measure: "scale.answered", Program: "all", Kind: figure.Gaffer, Size: 10_000, Value: 40},
		{Measure: "scale.cpu", Program: coordinatorProgram, Kind: figure.Gaffer, Size: 100, Value: 1},
		{Measure: "scale.cpu", Program: coordinatorProgram, Kind: figure.Gaffer, Size: 1000, Value: 200},
	}
	left, overloaded := held(list)
	if overloaded != 1000 || len(left) != 2 || slices.ContainsFunc(left, func(f figure.Figure) bool { return f.Size != 100 }) {
		t.Errorf("%d, %+v", overloaded, left)
	}
}

func TestASectionIsMeasuredAgainWithoutTheOthers(t *testing.T) {
	dir := t.TempDir()
	lines := filepath.Join(dir, "figures")
	record := func(section string, value float64, failure string) {
		t.Helper()
		if err := os.WriteFile(lines, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := figure.Append(lines, figure.Figure{Measure: section + ".time", Program: "gaffer", Kind: figure.Gaffer, Size: 10, Value: value}); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{"record", "-docs", dir, "-page", "benchmarks", "-section", section, "-figures", lines, "-error", failure, "-command", "script/bench all"}); err != nil {
			t.Fatal(err)
		}
	}
	record("records", 1.23456, "")
	record("run", 7, "")
	record("run", 8, "exit status 1: no disk | left.")
	r, err := load(filepath.Join(dir, "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sections) != 2 || r.Sections[0].Name != "run" || r.Sections[0].Figures[0].Value != 8 || r.Sections[1].Figures[0].Value != 1.235 {
		t.Errorf("%+v", r.Sections)
	}
	text, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**The measurement failed:** exit status 1: no disk / left. The figures", "Not measured yet: `script/bench all --only idle`", "| gaffer | 1.24 |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if err := run([]string{"record", "-docs", dir, "-page", "benchmarks", "-section", "unknown", "-figures", lines}); err == nil {
		t.Error("an unknown section was recorded")
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.012345: "0.0123", 1.5: "1.5", 12.345: "12.3", 99.96: "100", 123.4: "123", 1234567: "1,234,567", -1234.5: "-1,235", -0.5: "-0.5"} {
		if got := number(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
