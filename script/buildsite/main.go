// Command buildsite makes plain HTML from the Markdown pages of this repository: the pages in its
// root folder, and the pages in docs, examples and integrations.
//
//	buildsite REPOSITORY DIR
//
// The navigation comes from docs/README.md. Links between Markdown pages become links between the
// HTML pages. If a page links to another file of the repository, this file is copied to DIR.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: buildsite REPOSITORY DIR")
		os.Exit(2)
	}
	n, err := build(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "buildsite:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s\n", n, os.Args[2])
}
