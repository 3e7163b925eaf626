// Package docs embeds the documentation pages that 'gaffer help' prints.
package docs

import "embed"

// Pages contains the documentation pages as Markdown files.
//
//go:embed *.md reference/plan.md reference/settings.md reference/events.md reference/http.md
var Pages embed.FS
