package landing

import "time"

// The tests count all changes, also on a busy machine.
func init() { overviewTime = time.Minute }
