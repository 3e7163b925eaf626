// Package docs holds the pages of documentation that the program prints.
package docs

import "embed"

// Pages are the pages that 'gaffer help' prints.
//
//go:embed *.md reference/plan.md reference/settings.md reference/events.md reference/http.md
var Pages embed.FS
