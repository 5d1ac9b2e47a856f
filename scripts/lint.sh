#!/usr/bin/env bash
# Checks formatting, builds everything, and runs go vet and staticcheck.
set -euo pipefail
cd "$(dirname "$0")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

echo "== gofmt"
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
    printf 'run gofmt -w on these files:\n%s\n' "$unformatted"
    exit 1
fi
echo "== go build"
go build ./...
echo "== go vet"
go vet ./...
if go run "$staticcheck" -version >/dev/null 2>&1; then
    echo "== staticcheck"
    go run "$staticcheck" ./...
else
    echo "== staticcheck: skipped: it could not be fetched and built"
fi
