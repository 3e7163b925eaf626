package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"time"

	"gaffer/internal/pause"
)

// hub reads changes from the store once for all stream clients, and keeps the latest changes in a
// shared buffer. Each client reads from the buffer at its own pace. If a client is so slow that the
// buffer no longer has its next change, the server disconnects it. So a slow client cannot delay
// others.
type hub struct {
	service  Protocol
	log      *slog.Logger
	maxBytes int // maximum size of the buffer in bytes

	mu           sync.RWMutex
	frames       []frame
	size         int
	droppedUpTo  int64 // changes up to this sequence number are not in the buffer
	last         int64 // sequence number after which the next read from the store starts
	previousLast int64 // sequence number after which the latest read started
	// latest contains the encoded changes of the latest read in one byte slice. If a client wants
	// exactly these changes, the method after returns this slice. So it does not build a new slice
	// for each client.
	latest  []byte
	changed chan struct{} // closed and replaced when the hub has read new changes
	readers int
	awake   bool // true while the hub reads changes
	// closed is a channel that is always closed. The method after returns it as reading.more if the
	// buffer already has more changes.
	closed chan struct{}
	wake   chan struct{} // receives a value when a client joins while awake is false
}

// frame is a change, encoded as a server-sent event.
type frame struct {
	seq          int64
	run, project string
	data         []byte
}

const (
	page  = 200         // maximum number of changes in one read from the store
	retry = time.Second // pause after a failed read
)

func newHub(service Protocol, log *slog.Logger, maxBytes int) *hub {
	h := &hub{service: service, log: log, maxBytes: maxBytes, changed: make(chan struct{}), closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	close(h.closed)
	return h
}

// run reads changes until ctx ends. If there are no clients, it waits for one before the next read.
func (h *hub) run(ctx context.Context) {
	for ctx.Err() == nil {
		if h.sleepIfUnused() {
			select {
			case <-h.wake:
			case <-ctx.Done():
			}
			continue
		}
		wait := pace(h.followers())
		if err := h.read(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("changes cannot be read", "error", err)
			wait = retry
		}
		pause.For(ctx, wait)
	}
}

// pace returns how long the hub pauses between two reads. With more clients the pause is longer, so
// that each client gets more changes in one send. One send of many changes costs about as much as a
// send of one change.
func pace(followers int) time.Duration {
	return min(5*time.Millisecond+time.Duration(followers)*10*time.Microsecond, 50*time.Millisecond)
}

// sleepIfUnused reports whether there are no clients. If there are none, it empties the buffer.
func (h *hub) sleepIfUnused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == 0 {
		h.awake, h.frames, h.size = false, nil, 0
	}
	return !h.awake
}

// read waits until the store has new changes, and then adds one page of them to the buffer.
func (h *hub) read(ctx context.Context) error {
	h.mu.RLock()
	after := h.last
	h.mu.RUnlock()
	if err := h.service.Wait(ctx, after); err != nil {
		return err
	}
	list, last, err := h.service.Updates(ctx, after, page)
	if err != nil {
		return err
	}
	h.publish(encodeFrames(list), last)
	return nil
}

func (h *hub) publish(frames []frame, last int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last <= h.last {
		return
	}
	h.previousLast, h.last, h.latest = h.last, last, make([]byte, 0, sizeOf(frames))
	for _, f := range frames {
		h.frames = append(h.frames, f)
		h.size += len(f.data)
		h.latest = append(h.latest, f.data...)
	}
	h.forget()
	close(h.changed)
	h.changed = make(chan struct{})
}

func sizeOf(frames []frame) (size int) {
	for _, f := range frames {
		size += len(f.data)
	}
	return size
}

// forget drops the oldest changes until the buffer is no larger than maxBytes. Changes with the
// same sequence number are dropped together.
func (h *hub) forget() {
	n := 0
	for n < len(h.frames) && (h.size > h.maxBytes || n > 0 && h.frames[n].seq == h.droppedUpTo) {
		h.size -= len(h.frames[n].data)
		h.droppedUpTo = h.frames[n].seq
		n++
	}
	h.frames = h.frames[n:]
}

// join registers a client and returns the sequence number of the store's last change. If the hub
// was not reading, it starts to read the changes after that one. If join succeeds, the caller must
// call leave when the client disconnects.
func (h *hub) join(ctx context.Context) (last int64, err error) {
	last, err = h.service.Last(ctx)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers++
	if !h.awake {
		h.awake, h.droppedUpTo, h.last = true, last, last
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
	return last, nil
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
}

func (h *hub) followers() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.readers
}

// reading is the result of one read by a client from the buffer.
type reading struct {
	// data contains the encoded changes that the client asked for; it may be empty. Clients share
	// this slice, so they must not modify it.
	data   []byte
	next   int64           // sequence number to pass to the next call of the method after
	behind bool            // true if the buffer no longer has the client's next change
	more   <-chan struct{} // closed when the buffer has more changes
}

const maxRead = 256 << 10 // approximate maximum number of bytes in one read by a client

// after returns the changes in the buffer whose sequence numbers are above seq and for which the
// function fits returns true. A nil fits matches all changes. after stops at about maxRead bytes;
// the next call returns the following changes. If some changes above seq are no longer in the
// buffer, it returns no changes and sets behind to true.
func (h *hub) after(seq int64, fits func(frame) bool) reading {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if seq < h.droppedUpTo {
		return reading{behind: true, next: seq}
	}
	out := reading{next: max(seq, h.last), more: h.changed}
	if fits == nil && seq == h.previousLast && len(h.latest) <= maxRead {
		out.data = h.latest
		return out
	}
	first := sort.Search(len(h.frames), func(i int) bool { return h.frames[i].seq > seq })
	for i, f := range h.frames[first:] {
		if len(out.data) > maxRead && h.frames[first+i-1].seq != f.seq {
			out.next, out.more = h.frames[first+i-1].seq, h.closed
			return out
		}
		if fits == nil || fits(f) {
			out.data = append(out.data, f.data...)
		}
	}
	return out
}

// encodeFrames encodes changes as server-sent events. The id of an event is the sequence number of
// its change. If several changes have the same number, only the last of them gets an id. So a
// client that reconnects after it got only some of these changes gets all of them again.
func encodeFrames(list []Update) []frame {
	frames := make([]frame, 0, len(list))
	for i, u := range list {
		data, err := json.Marshal(u.Update)
		if err != nil {
			continue // skip a change that cannot be encoded as JSON
		}
		var b bytes.Buffer
		if i == len(list)-1 || list[i+1].Seq != u.Seq {
			fmt.Fprintf(&b, "id: %d\n", u.Seq)
		}
		fmt.Fprintf(&b, "event: update\ndata: %s\n\n", data)
		frames = append(frames, frame{seq: u.Seq, run: u.Run, project: u.Project, data: b.Bytes()})
	}
	return frames
}
