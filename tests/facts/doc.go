// Package facts checks what events make of the tables: access, credits, links
// and every field that is read off Stripe's objects, in every order in which
// they can arrive, and against a reader of its own.
package facts
