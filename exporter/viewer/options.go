package viewer

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrConfig is wrapped by the errors that reject a source, an option or an address.
var ErrConfig = errors.New("viewer")

// minTokenLen is the length in bytes below which a token can be guessed.
const minTokenLen = 16

// An Option changes a [Handler].
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	hosts    map[string]bool
	token    string
	problems []error
}

func newConfig(opts []Option) (config, error) {
	c := config{hosts: map[string]bool{}}
	for _, o := range opts {
		c = o.apply(c)
	}
	return c, errors.Join(c.problems...)
}

func (c config) reject(format string, args ...any) config {
	c.problems = append(c.problems, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	return c
}

// WithHosts also answers requests with one of these Host headers, each "name" or
// "name:port", compared exactly and without regard to case. It is for a handler mounted on
// a server that is reached by a name, or on an address that is not loopback: whoever can
// reach that server can then read what the viewer shows.
//
// By default, if this option is not used, only the loopback address on which the
// connection came in, and localhost with its port, are answered.
func WithHosts(hosts ...string) Option {
	return optionFunc(func(c config) config {
		for _, host := range hosts {
			u, err := url.Parse("//" + host)
			if err != nil || host == "" || u.Host != host || strings.ContainsAny(host, "*@ ") {
				c = c.reject("host %q: must be name or name:port", host)
				continue
			}
			c.hosts[strings.ToLower(host)] = true
		}
		return c
	})
}

// WithToken lets whoever sends "Authorization: Bearer token" replace the causal plan. The
// token has at least 16 bytes. With it, stopping the plan needs the token too.
//
// By default, if this option is not used, the plan can not be replaced through the viewer,
// and can be stopped by anyone whose request is answered at all.
func WithToken(token string) Option {
	return optionFunc(func(c config) config {
		if len(token) < minTokenLen {
			return c.reject("token of %d bytes: must have at least %d", len(token), minTokenLen)
		}
		c.token = token
		return c
	})
}
