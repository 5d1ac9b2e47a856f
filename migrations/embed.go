// Package migrations carries the migration files inside the binary, so that
// what a release applies is exactly what was built into it.
package migrations

import "embed"

// FS holds one NNNNNN_name.up.sql and one NNNNNN_name.down.sql per migration.
//
//go:embed *.sql
var FS embed.FS
