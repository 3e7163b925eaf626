package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// frame is one picture of an animation: what the terminal shows, and for how long.
type frame struct {
	rows     [][]piece
	duration time.Duration
}

// readFrames reads the frames of an animation. Each argument is DURATION=FILE, such as 2s=01.ansi.
func readFrames(arguments []string) (frames []frame, err error) {
	for _, argument := range arguments {
		length, file, ok := strings.Cut(argument, "=")
		duration, err := time.ParseDuration(length)
		if !ok || err != nil || duration <= 0 {
			return nil, fmt.Errorf("%q is not DURATION=FILE", argument)
		}
		capture, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		rows, err := readRows(bytes.NewReader(capture))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		frames = append(frames, frame{rows, duration})
	}
	return frames, nil
}

// drawAnimation draws an animation that shows the frames one after the other and then begins again.
// If a row is the same in several successive frames, it is drawn only once for all of them. If
// users have turned animations off in their browsers, they see the last frame.
func drawAnimation(w io.Writer, frames []frame, title string, columns int) {
	height := 0
	for _, f := range frames {
		height = max(height, len(f.rows))
	}
	drawHead(w, height, title, columns)
	fmt.Fprint(w, animationStyle(frames))
	for i := range height {
		for from := 0; from < len(frames); {
			row := rowOf(frames[from], i)
			to := from + 1
			for to < len(frames) && reflect.DeepEqual(rowOf(frames[to], i), row) {
				to++
			}
			drawSpan(w, row, bar+float64(i)*cellHeight, from, to, len(frames))
			from = to
		}
	}
	fmt.Fprintln(w, "</svg>")
}

// drawSpan draws a row of text that is the same in several successive frames. The parameter from is
// the index of the first of these frames, and to is the index after the last one. The parameter all
// is the number of frames in the animation.
func drawSpan(w io.Writer, row []piece, top float64, from, to, all int) {
	if !slices.ContainsFunc(row, func(p piece) bool { return strings.TrimSpace(p.text) != "" || p.look.reverse }) {
		return
	}
	switch {
	case from == 0 && to == all:
		fmt.Fprint(w, "<g>")
	case to == all:
		fmt.Fprintf(w, `<g class="%s">`, spanClass(from, to))
	default:
		fmt.Fprintf(w, `<g class="%s" visibility="hidden">`, spanClass(from, to))
	}
	drawRow(w, row, top)
	fmt.Fprintln(w, "</g>")
}

func rowOf(f frame, i int) []piece {
	if i < len(f.rows) {
		return f.rows[i]
	}
	return nil
}

func spanClass(from, to int) string { return fmt.Sprintf("s%d-%d", from, to) }

// animationStyle returns the CSS that makes each row visible during the frames to which it belongs,
// and hidden at other times. The CSS timing function step-end keeps a value until the next
// keyframe.
func animationStyle(frames []frame) string {
	starts := make([]time.Duration, len(frames)+1)
	for i, f := range frames {
		starts[i+1] = starts[i] + f.duration
	}
	whole := starts[len(frames)]
	percent := func(i int) float64 { return 100 * float64(starts[i]) / float64(whole) }
	var b strings.Builder
	b.WriteString("<style>@media (prefers-reduced-motion:no-preference){\n")
	for _, span := range usedSpans(frames) {
		name := spanClass(span[0], span[1])
		fmt.Fprintf(&b, "@keyframes %s{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%{visibility:hidden}}", name, percent(span[0]), percent(span[1]))
		fmt.Fprintf(&b, ".%s{animation:%s %.2fs step-end infinite}\n", name, name, whole.Seconds())
	}
	b.WriteString("}</style>\n")
	return b.String()
}

// usedSpans returns, without duplicates, the longest spans of successive frames in which a row
// stays the same. A span consists of two numbers: the index of its first frame, and the index after
// its last frame. usedSpans leaves out the span of all frames, because a row that never changes
// needs no animation.
func usedSpans(frames []frame) (spans [][2]int) {
	height := 0
	for _, f := range frames {
		height = max(height, len(f.rows))
	}
	for i := range height {
		for from := 0; from < len(frames); {
			to := from + 1
			for to < len(frames) && reflect.DeepEqual(rowOf(frames[to], i), rowOf(frames[from], i)) {
				to++
			}
			if span := [2]int{from, to}; to-from < len(frames) && !slices.Contains(spans, span) {
				spans = append(spans, span)
			}
			from = to
		}
	}
	return spans
}
