package server_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/server"
	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/pgtest"
)

func pool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func TestCheckEntryPoint(t *testing.T) {
	t.Parallel()

	t.Run("given a migrated database when a member of the edge role asks then it is ready", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		db.Exec(t, "create role edge_"+db.Name+" in role paidonce_edge")
		t.Cleanup(func() { dropRole(t, db, "edge_"+db.Name) })
		require.NoError(t, server.CheckEntryPoint(pool(t, db.Login(t, "edge_"+db.Name)))(t.Context()))
	})

	t.Run("given a migrated database when another login asks then it lacks the grant", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		requireState(t, "42501", server.CheckEntryPoint(pool(t, db.URL("authenticator")))(t.Context()))
	})

	t.Run("given a database without the schema when asked then the function is missing", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		requireState(t, "42883", server.CheckEntryPoint(db.Pool)(t.Context()))
	})

	t.Run("given a login that may not enter when asked then it is not ready", func(t *testing.T) {
		t.Parallel()
		db := pgtest.NewEmpty(t, cluster.Supabase)
		require.Error(t, server.CheckEntryPoint(pool(t, db.URL("nobody_of_that_name")))(t.Context()))
	})
}

func TestRegisterPool(t *testing.T) {
	t.Parallel()

	t.Run("given a connection in use when gathered then the gauges show it", func(t *testing.T) {
		t.Parallel()
		p := pool(t, pgtest.NewEmpty(t, cluster.Plain).URL("postgres")+"&pool_max_conns=3")
		registry := prometheus.NewRegistry()
		require.NoError(t, server.RegisterPool(registry, p))
		conn, err := p.Acquire(t.Context())
		require.NoError(t, err)
		defer conn.Release()
		families, err := registry.Gather()
		require.NoError(t, err)
		values := map[string]float64{}
		for _, f := range families {
			values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		require.EqualValues(t, 1, values["paidonce_db_connections_in_use"])
		require.EqualValues(t, 3, values["paidonce_db_connections_max"])
	})
}

func requireState(t *testing.T, state string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, state, pgErr.Code)
}

// dropRole removes a role of the whole cluster; its sessions in this database are over by then.
func dropRole(t *testing.T, db *pgtest.DB, role string) {
	t.Helper()
	_, err := db.Pool.Exec(context.Background(), "drop role "+role)
	require.NoError(t, err)
}
