package plans

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var planKeygenCommand = &command.Command{
	Name:  "keygen",
	Args:  "NAME",
	Short: "Make a pair of keys to sign plans with",
	Long: `
It writes NAME.pem, the private key, which its owner alone may read, and NAME.pub.pem, the public
one for the programs: OTELPROF_PLAN_PUBLIC_KEY. Neither may exist.
`,
	Run: func(c *command.Call) error {
		if err := c.ParseArgs(1, 1); err != nil {
			return err
		}
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			return err
		}
		secret, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			return err
		}
		open, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			return err
		}
		name := c.Arg(0)
		if err := writeNew(name+".pem", "PRIVATE KEY", secret, 0o600); err != nil {
			return err
		}
		if err := writeNew(name+".pub.pem", "PUBLIC KEY", open, 0o644); err != nil {
			return errors.Join(err, remove(name+".pem"))
		}
		return nil
	},
}

// writeNew writes a file that does not exist yet, or none.
func writeNew(name, kind string, block []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("%s: %w", name, client.WithoutPath(err))
	}
	err = errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: block}), f.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, client.WithoutPath(err)), os.Remove(name))
	}
	return nil
}

var planSignCommand = &command.Command{
	Name:  "sign",
	Args:  "FILE",
	Short: "Sign a plan: writes FILE.sig",
	Long: `
The plan must be valid and say for whom it is: generation and target.service must be set, and target.env
for programs that have an environment (deployment.environment.name). Programs that have the public key refuse
all others, plans without a signature, and plans that were changed after it was made.
`,
	Run: func(c *command.Call) error {
		keyFile := c.String("key", "", "`file` with the private key, as keygen makes it")
		if err := c.ParseArgs(1, 1); err != nil {
			return err
		}
		name := c.Arg(0)
		document, err := client.ReadLimited(name, plan.MaxBytes)
		if err != nil {
			return err
		}
		signature, err := signedBy(c, name, *keyFile, document)
		if err != nil {
			return err
		}
		return replaceFile(name+".sig", signature)
	},
}

// signedBy signs what programs would take, with the private key in a file.
func signedBy(c *command.Call, name, keyFile string, document []byte) ([]byte, error) {
	plan, err := plan.Parse(document)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case plan.Generation == 0:
		return nil, fmt.Errorf("%s: %w: generation: must be above 0 in a signed plan", name, causal.ErrAudience)
	case plan.Target.Service == "":
		return nil, fmt.Errorf("%s: %w: target.service: must be given in a signed plan", name, causal.ErrAudience)
	case plan.Target.Env == "":
		fmt.Fprintf(c.Stderr, "%s: target.env is not set: programs with an environment will refuse it\n", name)
	}
	return signWith(keyFile, document)
}

// signWith signs with the private key in a file.
func signWith(keyFile string, document []byte) ([]byte, error) {
	key, err := readKey(keyFile, remote.ParsePrivateKey)
	if err != nil {
		return nil, err
	}
	return remote.Sign(document, key), nil
}

func readKey[K any](name string, parse func([]byte) (K, error)) (key K, err error) {
	if name == "" {
		return key, command.Usagef("key \"\": must be a file, as otelprof plan keygen makes it")
	}
	text, err := client.ReadLimited(name, 16<<10)
	if err != nil {
		return key, err
	}
	if key, err = parse(text); err != nil {
		return key, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

var planVerifyCommand = &command.Command{
	Name:  "verify",
	Args:  "FILE",
	Short: "Check the signature of a plan, which is in FILE.sig",
	Run: func(c *command.Call) error {
		keyFile := c.String("key", "", "`file` with the public key, as keygen makes it")
		if err := c.ParseArgs(1, 1); err != nil {
			return err
		}
		key, err := readKey(*keyFile, remote.ParsePublicKey)
		if err != nil {
			return err
		}
		name := c.Arg(0)
		document, err := client.ReadLimited(name, plan.MaxBytes)
		if err != nil {
			return err
		}
		signature, err := readSignature(name)
		if err != nil {
			return err
		}
		if err := remote.Verify(document, signature, key); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(c.Stdout, "%s: signed with this key\n", name)
		return nil
	},
}
