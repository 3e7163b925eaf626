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

// hub reads changes once for all clients of the stream and keeps the latest in a shared
// buffer. Each client reads from the buffer at its own pace. A client that falls behind
// the buffer is disconnected. So a slow client cannot delay others.
type hub struct {
	service  Protocol
	log      *slog.Logger
	maxBytes int // maximum size of the buffer in bytes

	mu           sync.RWMutex
	frames       []frame
	size         int
	droppedUpTo  int64         // changes up to this number are no longer kept
	last         int64         // changes up to this number were read
	previousLast int64         // the value of last before the latest read
	latest       []byte        // the changes of the latest read, already joined, because nearly every client needs them next
	changed      chan struct{} // closed and replaced when last has grown
	readers      int
	awake        bool          // the changes are being read
	closed       chan struct{} // always closed
	wake         chan struct{} // receives a value when a client joins
}

// frame is a change in the format of the stream.
type frame struct {
	seq          int64
	run, project string
	data         []byte
}

const (
	page  = 200         // changes read at a time
	retry = time.Second // pause after the database did not answer
)

func newHub(service Protocol, log *slog.Logger, maxBytes int) *hub {
	h := &hub{service: service, log: log, maxBytes: maxBytes, changed: make(chan struct{}), closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	close(h.closed)
	return h
}

// run reads changes until ctx ends. It does not read while there are no clients.
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

// pace returns the time between reads. It grows with the number of clients, so that more
// changes are sent together: the cost depends on the number of sends, not on their size.
func pace(followers int) time.Duration {
	return min(5*time.Millisecond+time.Duration(followers)*10*time.Microsecond, 50*time.Millisecond)
}

// sleepIfUnused reports whether there are no clients. If so, it empties the buffer.
func (h *hub) sleepIfUnused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == 0 {
		h.awake, h.frames, h.size = false, nil, 0
	}
	return !h.awake
}

// read waits for changes and publishes a page of them.
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

// forget drops the oldest changes until the buffer fits. Changes with the same number are
// dropped together.
func (h *hub) forget() {
	n := 0
	for n < len(h.frames) && (h.size > h.maxBytes || n > 0 && h.frames[n].seq == h.droppedUpTo) {
		h.size -= len(h.frames[n].data)
		h.droppedUpTo = h.frames[n].seq
		n++
	}
	h.frames = h.frames[n:]
}

// join registers a client. If the hub is not reading, it starts from the last change. The
// caller must call leave.
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

// reading is what a client reads next.
type reading struct {
	data   []byte          // matching changes, maybe none; shared with other clients
	next   int64           // number of the last change in data, or of the last one that was skipped
	behind bool            // the next changes are no longer in the buffer
	more   <-chan struct{} // closed when there are more changes
}

const maxRead = 256 << 10 // bytes that a client reads at a time

// after returns the changes after a number that fits accepts; a nil fits accepts all.
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

// encodeFrames encodes changes for the stream. If several changes have the same number,
// only the last one has it as its id. So a client that disconnects between them gets all
// of them again.
func encodeFrames(list []Update) []frame {
	frames := make([]frame, 0, len(list))
	for i, u := range list {
		data, err := json.Marshal(u.Update)
		if err != nil {
			continue // skip a change whose row is not valid JSON
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
