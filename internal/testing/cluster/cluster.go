// Package cluster runs a throwaway Postgres from the binaries installed on the
// machine: its own temporary folder, its own port on 127.0.0.1, the roles of a
// Supabase project, and nothing left behind when it stops.
package cluster

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Superuser owns the cluster. On Supabase, too, the role named postgres is
// not a superuser, and what it may not do must fail here as it fails there.
const Superuser = "supabase_admin"

//go:embed roles.sql
var rolesSQL string

// Options of a new cluster.
type Options struct {
	Logger   *slog.Logger      // nil keeps quiet
	Settings map[string]string // postgresql.conf settings, over the defaults
	BinDir   string            // folder of initdb and postgres; empty looks for the newest
	Plain    bool              // create the role postgres but none of Supabase's other roles
}

// Cluster is a running Postgres: one that this process started, or one that
// it was given the URL of.
type Cluster struct {
	log      *slog.Logger
	settings map[string]string
	binDir   string
	password string
	port     int
	folder   *folder // nil when attached

	mu     sync.Mutex // guards server
	server *server
}

// Start creates a cluster and waits until it answers. Run as root, it starts
// Postgres as another user, since Postgres refuses root.
func Start(ctx context.Context, options Options) (_ *Cluster, err error) {
	c := &Cluster{log: options.Logger, binDir: options.BinDir, password: rand.Text()}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.binDir == "" {
		if c.binDir, err = FindBinDir(); err != nil {
			return nil, err
		}
	}
	c.settings = map[string]string{"max_connections": "200", "timezone": "UTC"}
	maps.Copy(c.settings, options.Settings)

	begin := time.Now()
	if c.folder, err = makeFolder(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if err = c.initialise(ctx); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err = c.launch(ctx, true); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err = c.createRoles(ctx, options.Plain); err != nil {
		return nil, fmt.Errorf("start postgres: create roles: %w", err)
	}
	c.log.Info("postgres is up", "port", c.port, "folder", c.folder.path, "took", time.Since(begin).Round(time.Millisecond))
	return c, nil
}

// Attach returns a cluster that another process started, by the superuser's
// URL. Stopping it does nothing.
func Attach(superuserURL string) (*Cluster, error) {
	u, err := url.Parse(superuserURL)
	if err != nil {
		return nil, errors.New("attach to postgres: the URL cannot be read")
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil || u.User.Username() != Superuser {
		return nil, fmt.Errorf("attach to postgres: want a URL of %s with a port", Superuser)
	}
	password, _ := u.User.Password()
	return &Cluster{log: slog.New(slog.DiscardHandler), password: password, port: port}, nil
}

// initialise makes the data folder.
func (c *Cluster) initialise(ctx context.Context) error {
	passwordFile := filepath.Join(c.folder.path, "password")
	if err := c.folder.write(passwordFile, c.password); err != nil {
		return err
	}
	defer os.Remove(passwordFile)
	cmd := exec.CommandContext(ctx, filepath.Join(c.binDir, "initdb"),
		"--pgdata", c.folder.data(), "--username", Superuser, "--pwfile", passwordFile,
		// Not trust: on a shared machine any user could then act as this one.
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	c.folder.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLines(out))
	}
	return nil
}

func (c *Cluster) createRoles(ctx context.Context, plain bool) error {
	conn, err := c.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	sql := "create role postgres createdb createrole replication bypassrls"
	if !plain {
		sql = rolesSQL
	}
	if _, err := conn.Exec(ctx, sql); err != nil {
		return err
	}
	logins := []string{"postgres"}
	if !plain {
		logins = append(logins, "authenticator", "supabase_auth_admin")
	}
	for _, role := range logins {
		if err := c.AllowLogin(ctx, role); err != nil {
			return err
		}
	}
	return nil
}

// URL returns the connection URL of a role in a database. Roles log in with
// the cluster's password; see AllowLogin.
func (c *Cluster) URL(user, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, c.password),
		Host:     "127.0.0.1:" + strconv.Itoa(c.port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port returns the port on 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

// Dir returns the cluster's folder, empty for an attached cluster.
func (c *Cluster) Dir() string {
	if c.folder == nil {
		return ""
	}
	return c.folder.path
}

// Stop ends Postgres at once, without its shutdown checkpoint since nothing is
// kept, and removes the folder. Stopping again does nothing.
func (c *Cluster) Stop() error {
	if c.folder == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		c.server.quit()
		c.server = nil
	}
	if err := c.folder.remove(); err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	return nil
}

// Kill ends every process of the cluster with SIGKILL, as a power cut would.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return errors.New("kill postgres: it is not running")
	}
	err := c.server.kill()
	c.server = nil
	if err != nil {
		return fmt.Errorf("kill postgres: %w", err)
	}
	return nil
}

// Restart starts a killed cluster again, on its old port and data.
func (c *Cluster) Restart(ctx context.Context) error {
	if c.folder == nil {
		return errors.New("restart postgres: another process started it")
	}
	c.mu.Lock()
	running := c.server != nil
	c.mu.Unlock()
	if running {
		return errors.New("restart postgres: it is running")
	}
	if err := c.launch(ctx, false); err != nil {
		return fmt.Errorf("restart postgres: %w", err)
	}
	return nil
}
