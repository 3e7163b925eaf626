package cli

import (
	"math"
	"strings"
	"testing"
)

func TestPositionalReadsTheUsageLine(t *testing.T) {
	for use, want := range map[string]struct {
		required string
		most     int
	}{
		"version":                             {"", 0},
		"start ID AGENT":                      {"ID AGENT", 2},
		"cancel ID [AGENT]":                   {"ID", 2},
		"help [COMMAND | TOPIC]":              {"", 1},
		"fail ID AGENT --error TEXT":          {"ID AGENT", 2},
		"new --source S [--waves FILE]":       {"", 0},
		"validate [--runs | --all] [PATH…]":   {"", math.MaxInt},
		"emit KIND [--field key=value]...":    {"KIND", 1},
		"add TEXT...":                         {"TEXT...", math.MaxInt},
		"completion bash|zsh|fish|powershell": {"bash|zsh|fish|powershell", 1},
	} {
		required, most := positional(use)
		if got := strings.Join(required, " "); got != want.required || most != want.most {
			t.Errorf("positional(%q) = %q, %d; want %q, %d", use, got, most, want.required, want.most)
		}
	}
}
