package notify

import "time"

// entry is a queued or sent notification of a channel.
type entry struct {
	Note   Note      `json:"note"`
	Queued time.Time `json:"queued"`
	State  State     `json:"state"`
	Batch  string    `json:"batch,omitempty"` // id of the message that contains the notification; if set, that message may have been sent
	Why    string    `json:"why,omitempty"`   // why the notification was not sent
	Ended  time.Time `json:"ended,omitzero"`
}

// State is the state of a notification.
type State string

// The states.
const (
	Pending  State = "waiting"   // not yet sent
	Sent     State = "told"      // sent
	GivenUp  State = "given up"  // could not be sent
	Outdated State = "overtaken" // no longer of interest before it could be sent
)

// sender is the state of a channel that all programs on one store share.
type sender struct {
	Holder string      `json:"holder,omitempty"` // the program that is sending
	Until  time.Time   `json:"until,omitzero"`   // end of the holder's lease
	Tries  int         `json:"tries,omitempty"`  // consecutive failures
	Retry  time.Time   `json:"retry,omitzero"`   // nothing is sent before this time
	Sent   []time.Time `json:"sent,omitempty"`   // times of the messages in the last minute
}

// lease is how long a program may send over a channel before others assume that it has
// died. Sending one message takes less.
const lease = 30 * time.Second
