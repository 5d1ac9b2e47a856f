package outbox

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy says how often and how long a row is tried. A zero field leaves the worker's own setting.
type Policy struct {
	MaxAttempts int           // the row is dead after so many
	BackoffBase time.Duration // most that is waited after the first attempt; twice as much after each further one
	BackoffCap  time.Duration // most that is waited after any attempt
	Timeout     time.Duration // of one attempt; cut to fit the lease
	KeyLife     time.Duration // how long the provider remembers a key: never tried later than that after the first attempt
	Concurrency int           // most sends at once under this pattern
}

// defaultPolicy outlasts a provider's outage of two hours and tries again within a quarter of an hour after it.
var defaultPolicy = Policy{
	MaxAttempts: 30,
	BackoffBase: time.Second,
	BackoffCap:  15 * time.Minute,
	Timeout:     30 * time.Second,
}

// maxRetryAfter bounds what a provider can ask for: a row must not vanish for years by a slip of a header.
const maxRetryAfter = 7 * 24 * time.Hour

// over returns p with what it leaves open taken from base.
func (p Policy) over(base Policy) Policy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = base.MaxAttempts
	}
	if p.BackoffBase == 0 {
		p.BackoffBase = base.BackoffBase
	}
	if p.BackoffCap == 0 {
		p.BackoffCap = base.BackoffCap
	}
	if p.Timeout == 0 {
		p.Timeout = base.Timeout
	}
	if p.KeyLife == 0 {
		p.KeyLife = base.KeyLife
	}
	if p.Concurrency == 0 {
		p.Concurrency = base.Concurrency
	}
	return p
}

func (p Policy) check() error {
	if p.MaxAttempts < 0 || p.BackoffBase < 0 || p.BackoffCap < 0 || p.Timeout < 0 || p.KeyLife < 0 || p.Concurrency < 0 {
		return fmt.Errorf("a policy's fields cannot be negative: %+v", p)
	}
	return nil
}

// backoff is the pause after an attempt: anything between nothing and the limit, so that rows that failed
// together do not come back together.
func (p Policy) backoff(attempt int) time.Duration {
	limit := p.BackoffCap
	if shift := attempt - 1; shift < 32 && p.BackoffBase<<shift < limit && p.BackoffBase<<shift > 0 {
		limit = p.BackoffBase << shift
	}
	return rand.N(max(limit, 1))
}

// outlived says whether a key first used at first is forgotten by the provider at the given time.
func (p Policy) outlived(first, at time.Time) bool {
	return p.KeyLife > 0 && !first.IsZero() && at.Sub(first) >= p.KeyLife
}
