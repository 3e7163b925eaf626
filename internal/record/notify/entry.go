package notify

import "time"

// entry is a notification that is stored for a channel. It is queued, or it is closed, which means
// that it was sent or will never be sent.
type entry struct {
	Note   Notification `json:"note"`
	Queued time.Time    `json:"queued"`
	State  State        `json:"state"`
	// Batch is the id of the message that contains the notification. One message can contain
	// several notifications. If Batch is set, the message may already have been sent.
	Batch string    `json:"batch,omitempty"`
	Why   string    `json:"why,omitempty"` // why the notification was not sent, or why the last try failed; else empty
	Ended time.Time `json:"ended,omitzero"`
}

// State is the state of a notification.
type State string

// The states. Their texts are stored in the database, so they must not change.
const (
	Pending  State = "waiting"   // queued, and not sent yet
	Sent     State = "told"      // sent to the receiver
	GivenUp  State = "given up"  // could not be sent, and will not be tried again
	Outdated State = "overtaken" // not sent, because it was no longer of interest
)

// sender is the stored state of sending over one channel: which program may send, and when. All
// programs that use the store share it.
type sender struct {
	Holder string      `json:"holder,omitempty"` // id of the program that is sending, or was the last to send
	Until  time.Time   `json:"until,omitzero"`   // only Holder may send until this time; zero if Holder has finished
	Tries  int         `json:"tries,omitempty"`  // number of temporary failures in a row
	Retry  time.Time   `json:"retry,omitzero"`   // nothing is sent before this time
	Sent   []time.Time `json:"sent,omitempty"`   // times at which messages were sent in the last minute
}

// lease is how long a program may be the sender of a channel before others assume that it has died.
// Sending one message never takes this long.
const lease = 30 * time.Second
