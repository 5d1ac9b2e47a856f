package main

type outboxCommand struct {
	List  outboxListCommand  `cmd:"" help:"The latest rows: what was asked for and what became of it."`
	Retry outboxRetryCommand `cmd:"" help:"Send rows again, under their keys and with fresh attempts."`
}

// outboxFlags are shared by the commands on the outbox.
type outboxFlags struct {
	databaseFlags
	PoolerMode bool `help:"DATABASE_URL leads to a transaction pooler; port 6543 is taken for one anyway."`
	JSON       bool `help:"As JSON."`
}
