// Package order shows by machine that the order of arrival decides nothing: a
// library of stories is delivered in every order, with duplicates and in
// parallel, and has to end in the state of its true order, byte for byte.
package order
