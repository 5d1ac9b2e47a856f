.DEFAULT_GOAL := help
.PHONY: help demo dev test bench migrations docs lint postgres tools clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The programs are built and then run, not `go run`: that one would leave its
# program behind when it is told to end.
demo: postgres ## show the whole story on a throwaway Postgres
	@go build -o bin/ ./cmd/paidonce && exec bin/paidonce demo

dev: postgres ## the same, left running to play with
	@go build -o bin/ ./cmd/paidonce && exec bin/paidonce dev

test: tools ## run every check and test
	@exec scripts/test.sh

bench: postgres ## measure how fast it is (fsync on)
	@go build -o bin/ ./bench && exec bin/bench $(ARGS)

migrations: ## rebuild the first migration and the copies in supabase/
	@go run ./internal/tools/schema/build

docs: postgres ## rebuild docs/reference and the help texts in docs/cli.md
	@go run ./internal/tools/docgen/build

lint: ## gofmt, go build, go vet, staticcheck
	@exec scripts/lint.sh

postgres: ## install a Postgres server, if there is none
	@exec scripts/install.sh postgres

tools: ## install what the tests need, if it is missing
	@exec scripts/install.sh tools

clean: ## remove what the other targets built
	rm -rf bin
