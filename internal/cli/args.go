package cli

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// argumentError replaces cobra's error about the number of arguments, such as "accepts 2 arg(s),
// received 1", with an error that names the missing or unexpected argument. It returns other errors
// unchanged.
func argumentError(cmd *cobra.Command, args []string, err error) error {
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

// positional parses a usage line such as "cancel ID [AGENT]". It returns the names of the required
// arguments, and the maximum number of arguments. Flags are not counted. If an argument can be
// repeated, the maximum is math.MaxInt.
func positional(use string) (required []string, most int) {
	words := regexp.MustCompile(`\[[^\]]*\]\S*|\S+`).FindAllString(use, -1)
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case strings.HasPrefix(word, "-"):
			i++ // skip the value of a required flag
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
