package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/paidonce/paidonce/internal/testing/cluster"
	"github.com/paidonce/paidonce/internal/testing/traffic"
)

// syncEngine is the folder of the server that paidonce is compared with: see server.mjs there.
const syncEngine = "bench/syncengine"

const syncEngineConns = 16

// startSyncEngine starts it on a database of its own in the same Postgres and returns its URL.
func (b *bench) startSyncEngine(ctx context.Context) (string, error) {
	if _, err := os.Stat(filepath.Join(syncEngine, "package-lock.json")); err != nil {
		return "", errors.New("its folder is not here: run this in the project's root")
	}
	for _, tool := range []string{"npm", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%s is not installed", tool)
		}
	}
	if _, err := os.Stat(filepath.Join(syncEngine, "node_modules", "@supabase")); err != nil {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		install := exec.CommandContext(limited, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		install.Dir = syncEngine
		if out, err := install.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm could not get it: %w: %s", err, lastLine(out))
		}
	}
	const name = "bench_syncengine"
	if err := b.cluster.CreateDatabase(ctx, name, cluster.Plain); err != nil {
		return "", err
	}
	server := exec.Command("node", "server.mjs")
	server.Dir, server.Stderr = syncEngine, os.Stderr
	server.Env = append(os.Environ(), "DATABASE_URL="+b.cluster.URL("postgres", name), "WEBHOOK_SECRET="+secret, "MAX_CONNECTIONS="+strconv.Itoa(syncEngineConns))
	stdin, err := server.StdinPipe()
	if err != nil {
		return "", err
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	b.closers = append(b.closers, func() error {
		_ = stdin.Close() // that ends it
		kill := time.AfterFunc(5*time.Second, func() { _ = server.Process.Kill() })
		defer kill.Stop()
		_ = server.Wait()
		return nil
	})
	port := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		port <- strings.TrimSpace(line)
	}()
	select {
	case p := <-port:
		if p == "" {
			return "", errors.New("its server ended at once")
		}
		return "http://127.0.0.1:" + p, nil
	case <-time.After(30 * time.Second):
		return "", errors.New("its server did not start within 30 s")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// compareSyncEngine lets both take the same events over HTTP, in turns, with as many connections. Left out are
// those that only one of them takes, and checkout sessions: for each the sync engine asks Stripe's API for its
// lines. They are delivered to paidonce beforehand, so that it knows the users.
func (b *bench) compareSyncEngine(ctx context.Context, s *script) error {
	url, err := b.startSyncEngine(ctx)
	if err != nil {
		fmt.Printf("beside @supabase/stripe-sync-engine: not measured: %v\n\n", err)
		return ctx.Err()
	}
	fmt.Printf("beside @supabase/stripe-sync-engine 0.48.5, which mirrors objects: the same events over HTTP, %d connections each, checkout sessions beforehand\n", syncEngineConns)
	var cells []*trafficCell
	for _, clients := range []int{1, 16} {
		ours := &trafficCell{name: "paidonce", clients: clients}
		theirs := &trafficCell{name: "sync engine", foreign: true, clients: clients}
		cells = append(cells, ours, theirs)
		client := newClient(clients)
		for round := range s.rounds {
			all, expected := s.burst()
			sessions, events := split(all)
			turns := []func() error{
				func() error {
					p, err := b.playFresh(ctx, true, clients, sessions, events, expected)
					ours.add(p)
					return err
				},
				func() error {
					p, err := play(ctx, events, clients, takeByHTTP(client, url))
					theirs.add(p)
					return err
				},
			}
			if round%2 == 1 {
				turns[0], turns[1] = turns[1], turns[0]
			}
			if err := errors.Join(turns[0](), turns[1]()); err != nil {
				fmt.Printf("given up: %v\n\n", err)
				return ctx.Err()
			}
		}
		client.CloseIdleConnections()
	}
	if err := printTraffic(cells); err != nil {
		return err
	}
	w := table()
	fmt.Fprintln(w, "clients\tpaidonce, of the sync engine\t\n"+
		fmt.Sprintf("1\t%.2f\t\n16\t%.2f\t", cells[0].rate()/cells[1].rate(), cells[2].rate()/cells[3].rate()))
	fmt.Fprintln(w)
	return w.Flush()
}

// split takes apart what both take and what goes to paidonce beforehand.
func split(all []traffic.Event) (sessions, events []traffic.Event) {
	for _, e := range all {
		switch {
		case strings.HasPrefix(e.Type, "checkout.session."):
			sessions = append(sessions, e)
		case e.Type != "payment_method.attached":
			events = append(events, e)
		}
	}
	return sessions, events
}
