package dispatch

import (
	"errors"
	"strconv"
	"time"
)

// duration is a flag for a duration. value is nil if the user did not set the flag.
type duration struct{ value *time.Duration }

// Set implements [pflag.Value].
func (d *duration) Set(text string) error {
	v, err := time.ParseDuration(text)
	if text == "0" {
		v, err = 0, nil
	}
	if err != nil || v < 0 {
		return errors.New("want a duration such as 45m")
	}
	d.value = &v
	return nil
}

func (d *duration) String() string { return "" }

// Type implements [pflag.Value].
func (d *duration) Type() string { return "D" }

// number is a flag for a whole number from 0 to 100. value is nil if the user did not set the flag.
type number struct{ value *int }

const mostRetries = 100

// Set implements [pflag.Value].
func (n *number) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 || v > mostRetries {
		return errors.New("want a whole number from 0 to 100")
	}
	n.value = &v
	return nil
}

func (n *number) String() string { return "" }

// Type implements [pflag.Value].
func (n *number) Type() string { return "N" }
