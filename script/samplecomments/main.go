// Command samplecomments prints randomly chosen comments of the Go code, for a person who rates how
// clear they are. script/sample-comments runs it.
package main

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// comment is a comment of the Go code, its position, and the code that it describes.
type comment struct{ at, text, code string }

func main() {
	seed := flag.Uint64("seed", 1, "decides which comments are drawn")
	number := flag.Int("n", 60, "how many are drawn")
	flag.Parse()
	all, err := comments(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	rng := rand.New(rand.NewPCG(*seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, c := range all[:min(*number, len(all))] {
		fmt.Printf("%d. %s\n%s\n%s\n\n", i+1, c.at, c.text, c.code)
	}
	fmt.Printf("%d of %d comments, seed %d\n", min(*number, len(all)), len(all), *seed)
}

// codeLines is how many lines of code are shown below a comment.
const codeLines = 3

// comments returns the comments of all Go files except tests. It leaves out comments of fewer than
// four words.
func comments(root string) (list []comment, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, source, parser.ParseComments)
		if err != nil {
			return err
		}
		lines := strings.Split(string(source), "\n")
		for _, group := range parsed.Comments {
			text := strings.TrimSpace(group.Text())
			if len(strings.Fields(text)) < 4 {
				continue
			}
			from, to := files.Position(group.Pos()), files.Position(group.End())
			// If the comment is at the end of a line, show only this line. Otherwise, show the
			// lines below the comment.
			code := lines[to.Line-1 : to.Line]
			if strings.HasPrefix(strings.TrimSpace(lines[from.Line-1]), "//") {
				code = lines[to.Line:min(to.Line+codeLines, len(lines))]
			}
			list = append(list, comment{
				at:   fmt.Sprintf("%s:%d", path, from.Line),
				text: "  " + strings.ReplaceAll(text, "\n", "\n  "),
				code: "    " + strings.Join(code, "\n    "),
			})
		}
		return nil
	})
	return list, err
}
