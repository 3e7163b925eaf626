package server

import (
	"sync"
	"time"
)

// rateLimiter limits the requests per second of each token. Tokens that were created from the same
// token share one limit with that token. Bursts may have as many requests as are allowed in two
// seconds. All clients without a valid token share a separate limit.
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

const unauthenticated = "" // id of the bucket of clients without a valid token

func newRateLimiter(perToken, perUnauthenticated float64, now func() time.Time) *rateLimiter {
	return &rateLimiter{perToken: perToken, perUnauthenticated: perUnauthenticated, now: now, buckets: map[string]*bucket{}}
}

// forget deletes the buckets that are full again, because a new bucket is full too.
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

// allow takes one request from the bucket of id. It returns false if the bucket is empty. If the
// rate of the bucket is negative, there is no limit and it returns true.
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
