// Package traffic_test plays real traffic through the real handler: many customers' whole purchases at once,
// shuffled, with duplicates, over many connections, on a Postgres that waits for deadlocks as long as it does by
// default. Nothing may be retried to get there, and every customer must end where Stripe's order ends.
package traffic_test
