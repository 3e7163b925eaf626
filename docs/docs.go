// Package docs holds the pages of documentation that the program prints.
package docs

import _ "embed" // glossary.md

// Glossary is docs/glossary.md.
//
//go:embed glossary.md
var Glossary string
