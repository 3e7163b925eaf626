package server

import (
	"sync"
	"time"
)

// rateLimiter limits the requests per second of each token. Tokens that were created from the same
// token share one limit with that token. In a burst, a client may send as many requests as are
// allowed in two seconds. All clients without a valid token share a separate limit.
type rateLimiter struct {
	perToken, perUnauthenticated float64
	now                          func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const unauthenticated = "" // id of the rate-limit bucket that all clients without a valid token share

func newRateLimiter(perToken, perUnauthenticated float64, now func() time.Time) *rateLimiter {
	return &rateLimiter{perToken: perToken, perUnauthenticated: perUnauthenticated, now: now, buckets: map[string]*bucket{}}
}

// forget deletes the rate-limit buckets that are full again. This has no effect on clients, because
// a client without a bucket gets a new one, which is full too.
func (r *rateLimiter) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for id, b := range r.buckets {
		if now.Sub(b.at) > 2*time.Second {
			delete(r.buckets, id)
		}
	}
}

// allow takes one request from the rate-limit bucket with this id. It returns false if the bucket
// is empty. A negative rate means that there is no limit: allow then always returns true.
func (r *rateLimiter) allow(id string) bool {
	each := r.perToken
	if id == unauthenticated {
		each = r.perUnauthenticated
	}
	if each < 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b := r.buckets[id]
	if b == nil {
		b = &bucket{left: 2 * each, at: now}
		r.buckets[id] = b
	}
	b.left = min(2*each, b.left+max(now.Sub(b.at).Seconds(), 0)*each)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
