package viewer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/internal/http/own"
)

// A Server serves the viewer on a loopback address.
type Server struct {
	http *http.Server
	addr netip.AddrPort
	done chan struct{} // closed when the serving goroutine has returned
}

// NewServer serves h, usually a [Handler], on addr, "host:port" with a host that is a literal
// loopback address or localhost; port 0 takes a free one. Any other address is an error that wraps
// [ErrConfig], and a port in use one that wraps syscall.EADDRINUSE. The server runs on its own
// goroutine until Shutdown. It answers 50 requests a second, and 100 at once: those above wait for
// their turn, and 256 may wait.
func NewServer(addr string, h http.Handler) (*Server, error) {
	at, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("%w: handler nil: must be set", ErrConfig)
	}
	ln, err := net.Listen("tcp", at.String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("viewer: address %q: port must be free, another server listens on it: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("viewer: address %q: must be one to listen on: %w", addr, err)
	}
	bound, err := netip.ParseAddrPort(ln.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("viewer: address %q: %w", ln.Addr(), err), ln.Close())
	}
	ctx, cancel := context.WithCancel(own.Context(context.Background()))
	s := &Server{
		addr: bound,
		done: make(chan struct{}),
		http: &http.Server{
			Handler:           newPace().handler(h),
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      30 * time.Second,
			IdleTimeout:       60 * time.Second,
			MaxHeaderBytes:    16 << 10,
			// Clients' errors are in the answers, not in the application's log.
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		},
	}
	go func() {
		defer close(s.done)
		defer cancel()       // requests that only wait must not keep Shutdown waiting
		_ = s.http.Serve(ln) // returns when Shutdown or Close has been called
	}()
	return s, nil
}

// URL is the page's address, with the port in use and a slash at the end.
func (s *Server) URL() string { return "http://" + s.addr.String() + "/" }

// Shutdown stops listening, cancels the requests in flight and waits for them. When ctx ends
// first, it closes their connections and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("viewer: shutdown: requests in flight: %w", err), s.http.Close())
	}
	<-s.done
	return err
}

// loopback reads a listen address. Names other than localhost are not looked up: what
// they stand for may change.
func loopback(addr string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: address %q: must be host:port", ErrConfig, addr)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: address %q: port must be a number in [0, 65535]", ErrConfig, addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() || ip.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%w: address %q: host must be in 127.0.0.0/8, ::1 or localhost; "+
			"the viewer is not for other machines", ErrConfig, addr)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), nil
}
