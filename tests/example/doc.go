// Package example holds a small application beside paidonce, app.sql: a table
// of its own and effects that park, enqueue and fail. docs/effects.md explains
// it; the tests here run it behind the webhook and through an upgrade.
package example
