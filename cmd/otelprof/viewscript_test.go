package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestViewScript runs the program itself on a port that was free a moment ago.
func TestViewScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "view"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			_, port, err := net.SplitHostPort(l.Addr().String())
			env.Setenv("PORT", port)
			return errors.Join(err, l.Close())
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": func(ts *testscript.TestScript, _ bool, args []string) {
				for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
					_, err := fetch(args[0])
					if err == nil {
						return
					}
					if time.Since(begin) > 30*time.Second {
						ts.Fatalf("%s: %v", args[0], err)
					}
				}
			},
			"fetch": func(ts *testscript.TestScript, _ bool, args []string) {
				body, err := fetch(args[0])
				ts.Check(err)
				if !regexp.MustCompile(args[1]).MatchString(body) {
					ts.Fatalf("%s: %s\nhas nothing like %s", args[0], body, args[1])
				}
			},
		},
	})
}

func fetch(url string) (string, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
