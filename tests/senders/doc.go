// Package senders tests the outbox's senders the way they are used: by a worker, out of a database, to
// receivers that count what was really done.
package senders
