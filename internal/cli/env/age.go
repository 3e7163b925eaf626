package env

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const day = 24 * time.Hour

// Age is the value of a flag for a duration. The user may write it in days, such as "7d".
type Age time.Duration

// Set implements [pflag.Value].
func (a *Age) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q: want a number of days such as 7d", text)
		}
		*a = Age(time.Duration(n) * day)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q: want a duration such as 7d, 12h or 30m", text)
	}
	*a = Age(d)
	return nil
}

// String returns the duration in the form that Set accepts.
func (a *Age) String() string {
	d := time.Duration(*a)
	if d == 0 || d%day != 0 {
		return d.String()
	}
	return fmt.Sprintf("%dd", d/day)
}

// Type returns the placeholder for the value in the help.
func (a *Age) Type() string { return "AGE" }

var _ pflag.Value = (*Age)(nil)
