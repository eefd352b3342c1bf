package planserver

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	opamp "github.com/open-telemetry/opamp-go/server"

	"github.com/otelprof/otelprof/internal/clock/ending"
)

const (
	planPath      = "/v1/plan"
	instancesPath = "/v1/instances"
	opampPath     = "/v1/opamp"
)

var errClosed = errors.New("planserver: the server ends")

// A Server hands out one plan. It is an [http.Handler], which [Server.Start] serves, or a server of
// yours. All methods may be called by any goroutine.
type Server struct {
	config
	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	opamp   func(http.ResponseWriter, *http.Request)
	conn    opamp.ConnContext

	mu         sync.Mutex
	offer      *offer // never nil
	generation uint64 // the last one pushed
	withdrawn  *Withdrawal
	expiry     *time.Timer
	instances  map[string]*instance
	idle       list.List // of those without a WebSocket, the one seen least lately first
	forgotten  uint64
	agents     map[*agent]struct{} // those with a WebSocket
	said       int                 // of instances, in the minute that began at saidSince
	unsaid     uint64
	saidSince  time.Time
	denied     uint64
	deniedAt   time.Time
	closed     bool
	working    sync.WaitGroup // for agents

	server *http.Server // nil before Start
	addr   netip.AddrPort
	served chan struct{} // closed when the serving goroutine has returned
	failed error         // why it has, but for Shutdown; set before that
}

// NewServer returns a server that has no plan yet. Shut it down in the end. An error joins all that
// is wrong and wraps [ErrConfig].
func NewServer(opts ...Option) (*Server, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:    c,
		mux:       http.NewServeMux(),
		origins:   http.NewCrossOriginProtection(),
		offer:     nothing,
		instances: map[string]*instance{},
		agents:    map[*agent]struct{}{},
	}
	if err := s.attach(); err != nil {
		return nil, fmt.Errorf("planserver: OpAMP: %w", err)
	}
	s.mux.HandleFunc("GET "+planPath, s.getPlan)
	s.mux.HandleFunc("PUT "+planPath, s.putPlan)
	s.mux.HandleFunc("DELETE "+planPath, s.deletePlan)
	s.mux.HandleFunc("GET "+instancesPath, s.getInstances)
	s.mux.HandleFunc("GET "+opampPath, s.serveWebSocket)
	s.mux.HandleFunc("POST "+opampPath, s.servePolls)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.admits(w, r) {
		s.mux.ServeHTTP(w, r)
	}
}

// Start listens on addr, "host:port", and serves on goroutines of its own until Shutdown; port 0
// takes a free one. An address that is not loopback takes [WithTLS], and [WithInstanceToken] or
// client certificates, or it is an error that wraps [ErrConfig].
func (s *Server) Start(addr string) error {
	if s.server != nil {
		return fmt.Errorf("%w: address %q: the server has been started already", ErrConfig, addr)
	}
	if err := s.mayListen(addr); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("planserver: address %q: must be one to listen on: %w", addr, err)
	}
	return s.serveOn(ln)
}

func (s *Server) serveOn(ln net.Listener) (err error) {
	if s.addr, err = netip.ParseAddrPort(ln.Addr().String()); err != nil {
		return errors.Join(fmt.Errorf("planserver: address %q: %w", ln.Addr(), err), ln.Close())
	}
	s.server = &http.Server{
		Handler:           s,
		TLSConfig:         s.tls,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute, // above the usual time between two polls
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		serve := s.server.Serve
		if s.tls != nil {
			serve = func(ln net.Listener) error { return s.server.ServeTLS(ln, "", "") }
		}
		if err := serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.failed = fmt.Errorf("planserver: address %q: serves no more: %w", ln.Addr(), err)
		}
	}()
	return nil
}

// Served is closed when a server that has been started serves no more: after Shutdown, or where the
// listener has failed, which Shutdown returns.
func (s *Server) Served() <-chan struct{} { return s.served }

// mayListen reports what an address lacks. Names other than localhost are not looked up: what
// they stand for may change.
func (s *Server) mayListen(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w: address %q: must be host:port", ErrConfig, addr)
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	var errs []error
	if s.tls == nil {
		errs = append(errs, fmt.Errorf("%w: address %q: must have TLS, since it is not loopback: -tls-cert and -tls-key", ErrConfig, addr))
	}
	if s.instanceToken == "" && !s.certified() {
		errs = append(errs, fmt.Errorf("%w: address %q: must have an instance token or client certificates, since it is not loopback: -instance-token-file or -client-ca", ErrConfig, addr))
	}
	return errors.Join(errs...)
}

// URL is where the server listens, with the port in use, "" before Start.
func (s *Server) URL() string {
	switch {
	case s.server == nil:
		return ""
	case s.tls != nil:
		return "https://" + s.addr.String()
	}
	return "http://" + s.addr.String()
}

// Shutdown closes the WebSockets, stops listening and waits for the requests in flight. When ctx
// ends first, it closes their connections and returns ctx's error. It also returns why the server
// has stopped serving before, if it has. The plan ends at instances as it does when no server
// answers, or when they find a new one without a plan.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	for a := range s.agents {
		_ = a.conn.Disconnect() // it may be closed already
	}
	s.mu.Unlock()
	var err error
	if s.server != nil {
		if err = s.server.Shutdown(ctx); err != nil {
			err = errors.Join(fmt.Errorf("planserver: shutdown: requests in flight: %w", err), s.server.Close())
		}
		<-s.served
		err = errors.Join(err, s.failed)
	}
	if errAgents := ending.Within(ctx, func() error { s.working.Wait(); return nil }); errAgents != nil {
		err = errors.Join(err, fmt.Errorf("planserver: shutdown: WebSockets: %w", errAgents))
	}
	return err
}
