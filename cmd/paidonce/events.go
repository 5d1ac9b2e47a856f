package main

type eventsCommand struct {
	List   eventsListCommand   `cmd:"" help:"The latest events."`
	Show   eventsShowCommand   `cmd:"" help:"One event: what became of it, its deliveries, its outbox rows."`
	Replay eventsReplayCommand `cmd:"" help:"Run stored events again, whatever their age."`
}

// eventsFlags are shared by the commands on events.
type eventsFlags struct {
	databaseFlags
	PoolerMode bool `help:"DATABASE_URL leads to a transaction pooler; port 6543 is taken for one anyway."`
	JSON       bool `help:"As JSON."`
}
