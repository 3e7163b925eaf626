package cli

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// plainly says what is wrong with the arguments in the words of the usage
// line, where cobra would say "accepts 2 arg(s), received 1". An error that is
// not about their number stays as it is.
func plainly(cmd *cobra.Command, args []string, err error) error {
	if err == nil {
		return nil
	}
	required, most := positional(cmd.Use)
	usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if len(args) < len(required) {
		return fmt.Errorf("missing %s: usage is %s", required[len(args)], usage)
	}
	if len(args) > most {
		return fmt.Errorf("unexpected argument %q: usage is %s", args[most], usage)
	}
	return err
}

// positional reads a usage line such as "cancel ID [AGENT]": the words that
// must be given, and how many may be.
func positional(use string) (required []string, most int) {
	words := regexp.MustCompile(`\[[^\]]*\]\S*|\S+`).FindAllString(use, -1)
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case strings.HasPrefix(word, "-"):
			i++ // a required flag stands with its value
			continue
		case strings.HasPrefix(word, "[-"):
			continue
		case !strings.HasPrefix(word, "["):
			required = append(required, word)
		}
		if most++; repeats(words[i]) {
			return required, math.MaxInt
		}
	}
	return required, most
}

func repeats(word string) bool {
	return strings.Contains(word, "...") || strings.Contains(word, "…")
}
