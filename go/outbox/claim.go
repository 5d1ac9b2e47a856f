package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// callTimeout bounds one call of the database. None of them works long; one that does is stuck.
const callTimeout = 15 * time.Second

// claimsAtOnce keeps many lanes, all of which a notice wakes up, from taking every connection of the pool.
const claimsAtOnce = 2

const claimSQL = `
select id, coalesce(event_id, ''), action, payload, idempotency_key, attempts, first_attempt_at, created_at, lease_token
from paidonce.claim_outbox($1::integer, make_interval(secs => $2::double precision), $3::text[])`

// claimed is a row that is this worker's until its lease runs out.
type claimed struct {
	Action
	lane      *lane
	token     int64
	expiresAt time.Time // by this machine's clock, and rather too early than too late
}

// claim takes up to n due rows. The end of ctx does not stop it halfway: rows whose claim was committed and
// not seen would lie still until their lease is over.
func (l *lane) claim(ctx context.Context, n int) ([]claimed, error) {
	select {
	case l.claiming <- struct{}{}:
		defer func() { <-l.claiming }()
	case <-ctx.Done():
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	rows, err := l.options.DB.Query(ctx, claimSQL, n, l.options.Lease.Seconds(), l.actions)
	if err != nil {
		return nil, err
	}
	all := make([]claimed, 0, n)
	c := claimed{lane: l, expiresAt: time.Now().Add(l.options.Lease)}
	var payload []byte
	_, err = pgx.ForEachRow(rows, []any{
		&c.ID, &c.EventID, &c.Name, &payload, &c.IdempotencyKey, &c.Attempt, &c.FirstAttemptAt, &c.CreatedAt, &c.token,
	}, func() error {
		c.Payload = append([]byte(nil), payload...)
		all = append(all, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
