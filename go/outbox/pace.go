package outbox

import (
	"sync"
	"time"
)

const (
	// stock is for how long the rows claimed in advance should last. More would only keep them from other
	// workers, and let their leases run while they wait.
	stock = 200 * time.Millisecond
	// rateSpan is the least time that a rate is measured over.
	rateSpan = 20 * time.Millisecond
)

// pace decides how many rows a worker should have at a time: as many as can be sent at once, and what those
// will finish within the time of its stock.
type pace struct {
	concurrency, batch int

	mu       sync.Mutex
	held     int // claimed and not settled
	waiting  int // claimed and not yet sent: queued or in flight
	finished int // since the measurement began
	since    time.Time
	rate     float64 // rows a second
}

// want is how many rows to claim now; 0 while there are enough.
func (p *pace) want() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if span := time.Since(p.since); span >= rateSpan {
		p.rate = float64(p.finished) / span.Seconds()
		p.finished, p.since = 0, time.Now()
	}
	target := p.concurrency + int(p.rate*stock.Seconds())
	// What was sent and not written down yet counts, too: a database that is slow to take outcomes is given time.
	room := min(target-p.waiting, p.batch, p.concurrency+2*p.batch-p.held)
	if room <= 0 || p.waiting >= p.concurrency && p.waiting > target/2 {
		return 0
	}
	return room
}

func (p *pace) claimed(n int) {
	p.mu.Lock()
	p.held += n
	p.waiting += n
	p.mu.Unlock()
}

func (p *pace) ended() {
	p.mu.Lock()
	p.waiting--
	p.finished++
	p.mu.Unlock()
}

func (p *pace) settled(n int) {
	p.mu.Lock()
	p.held -= n
	p.mu.Unlock()
}

// idle says that nothing is queued or in flight.
func (p *pace) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting == 0
}
