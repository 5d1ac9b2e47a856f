#!/usr/bin/env bash
# Runs every check and test, those that need Postgres in one throwaway cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/lint.sh
go build -o bin/ ./internal/tools/run ./internal/tools/prove

# exec, so that a signal to this script reaches the one process that tidies up.
exec bin/run -- bash -euo pipefail -c '
    if [ "$(uname)" = Darwin ] && ! command -v pg_prove >/dev/null; then
        echo "== pgTAP: skipped: pg_prove is not installed"
    else
        echo "== pgTAP"
        bin/prove tests/pgtap/*.sql
    fi
    echo "== go test"
    go test -race -timeout 9m $(go list ./... | grep -v /tests/order)
    echo "== go test: every order of every story"
    go test -race -timeout 9m -v ./tests/order | grep -vE "^(=== |  +--- PASS)"
'
