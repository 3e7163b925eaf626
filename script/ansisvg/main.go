// Command ansisvg makes a picture of what a terminal shows: it reads lines with
// colours, as 'tmux capture-pane -e -p' writes them, and writes SVG.
//
//	ansisvg -title 'gaffer watch' <capture >picture.svg
//
// With DURATION=FILE for each frame, it makes an animation of several captures:
//
//	ansisvg -title gaffer 2s=first 500ms=second >animation.svg
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	title := flag.String("title", "", "what stands above the screen")
	columns := flag.Int("columns", 80, "how wide the screen is")
	flag.Parse()
	err := error(nil)
	if flag.NArg() > 0 {
		err = animate(flag.Args(), os.Stdout, *title, *columns)
	} else {
		err = convert(os.Stdin, os.Stdout, *title, *columns)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ansisvg:", err)
		os.Exit(1)
	}
}

func convert(in io.Reader, out io.Writer, title string, columns int) error {
	rows, err := readRows(in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	draw(w, rows, title, columns)
	return w.Flush()
}

func animate(arguments []string, out io.Writer, title string, columns int) error {
	frames, err := readFrames(arguments)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	drawAnimation(w, frames, title, columns)
	return w.Flush()
}

// readRows reads the lines of a terminal's content, as 'tmux capture-pane -e -p' writes them.
func readRows(in io.Reader) (rows [][]piece, err error) {
	var now look
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var row []piece
		row, now = parse(lines.Text(), now)
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

// The sizes of the picture's parts, in SVG units.
const (
	cellWidth  = 8.4
	cellHeight = 18.0
	margin     = 16.0
	bar        = 34.0 // height of the title bar above the screen
)

func draw(w io.Writer, rows [][]piece, title string, columns int) {
	drawHead(w, len(rows), title, columns)
	for i, row := range rows {
		drawRow(w, row, bar+float64(i)*cellHeight)
	}
	fmt.Fprintln(w, "</svg>")
}

// drawHead writes the beginning of a picture: its size, its styles, and an empty window with a
// title bar.
func drawHead(w io.Writer, rows int, title string, columns int) {
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+margin+bar
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`+"\n", width, height, width, height, escape(title))
	fmt.Fprintf(w, `<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:%s;white-space:pre}.b{font-weight:700}.f{opacity:.6}</style>`+"\n", foreground)
	fmt.Fprintf(w, `<rect width="%.0f" height="%.0f" rx="9" fill="%s"/>`+"\n", width, height, background)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(w, `<circle cx="%d" cy="17" r="5.5" fill="%s"/>`+"\n", 20+i*18, color)
	}
	fmt.Fprintf(w, `<text x="%.0f" y="22" text-anchor="middle" class="f">%s</text>`+"\n", width/2, escape(title))
}

// drawRow draws one line of the terminal. Each piece of text is stretched to exactly the width of
// its terminal cells, whatever font is used.
func drawRow(w io.Writer, row []piece, top float64) {
	at := 0
	for _, p := range row {
		x, width := margin+float64(at)*cellWidth, float64(p.cells)*cellWidth
		at += p.cells
		fill, back := p.look.colors()
		if back != "" {
			fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, top, width, cellHeight, back)
		}
		if strings.TrimSpace(p.text) == "" {
			continue
		}
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s%s>%s</text>`+"\n",
			x, top+13.5, width, p.look.class(), fill, escape(p.text))
	}
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
