package main

import (
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// far is a way to the database that is longer by a fixed delay: a proxy that passes on, in both directions,
// whatever arrives, that much later. Bytes on their way do not wait for those before them.
type far struct {
	listener net.Listener
	target   string
	oneWay   time.Duration

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

func listenFar(port int, oneWay time.Duration) (*far, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &far{listener: listener, target: "127.0.0.1:" + strconv.Itoa(port), oneWay: oneWay}
	go f.accept()
	return f, nil
}

// url is the same URL by the longer way.
func (f *far) url(direct string) string {
	u, err := url.Parse(direct)
	if err != nil {
		panic(err) // the cluster's own URL
	}
	u.Host = f.listener.Addr().String()
	return u.String()
}

func (f *far) accept() {
	for {
		near, err := f.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", f.target)
		if err != nil || !f.keep(near, server) {
			_ = near.Close()
			continue
		}
		go f.carry(near, server)
		go f.carry(server, near)
	}
}

func (f *far) keep(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.conns = append(f.conns, conns...)
	}
	return !f.closed
}

type parcel struct {
	bytes []byte
	due   time.Time
}

func (f *far) carry(from, to net.Conn) {
	road := make(chan parcel, 1024)
	go func() {
		defer func() { _ = to.Close() }()
		for p := range road {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				_ = from.Close() // ends the reading below
			}
		}
	}()
	defer close(road)
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			road <- parcel{buffer[:n], time.Now().Add(f.oneWay)}
		}
		if err != nil {
			return
		}
	}
}

func (f *far) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, c := range f.conns {
		_ = c.Close()
	}
	return f.listener.Close()
}
