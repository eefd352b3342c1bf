package remote_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/testutil"
)

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testKeys are those that openssl made.
func testKeys(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, err := remote.ParsePublicKey(testFile(t, "public.pem"))
	if err != nil {
		t.Fatal(err)
	}
	private, err := remote.ParsePrivateKey(testFile(t, "private.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// Ed25519 has one signature for a key and a document, so ours is openssl's.
func TestSignAsOpenSSL(t *testing.T) {
	public, private := testKeys(t)
	document, want := testFile(t, "document.yaml"), testFile(t, "document.yaml.sig")
	if got := remote.Sign(document, private); !bytes.Equal(got, want) {
		t.Errorf("Sign() = %q, openssl's is %q", got, want)
	}
	if err := remote.Verify(document, want, public); err != nil {
		t.Errorf("Verify() = %v for a signature by openssl, want none", err)
	}
}

// The same with the openssl of this machine, and keys that it has just made.
func TestSignWithOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		testutil.Lacks(t, "OPENSSL", fmt.Sprintf("openssl: %v", err))
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), openssl, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	document := []byte("id: plan-1\n")
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), document, 0o600); err != nil {
		t.Fatal(err)
	}
	run("genpkey", "-algorithm", "ed25519", "-out", "private.pem")
	run("pkey", "-in", "private.pem", "-pubout", "-out", "public.pem")
	run("pkeyutl", "-sign", "-inkey", "private.pem", "-rawin", "-in", "plan.yaml", "-out", "raw")

	private, err := remote.ParsePrivateKey(read("private.pem"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := remote.ParsePublicKey(read("public.pem"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := base64.StdEncoding.EncodeToString(read("raw"))
	if err := remote.Verify(document, []byte(theirs), public); err != nil {
		t.Errorf("Verify() = %v for a signature by openssl, want none", err)
	}
	if got := strings.TrimSpace(string(remote.Sign(document, private))); got != theirs {
		t.Errorf("Sign() = %q, openssl's is %q", got, theirs)
	}
}

// What was signed verifies by its key among others, and nothing else does.
func TestVerifyProperty(t *testing.T) {
	public, private := testKeys(t)
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.SliceOf(rapid.Byte()).Draw(t, "document")
		other := ed25519.NewKeyFromSeed(rapid.SliceOfN(rapid.Byte(), ed25519.SeedSize, ed25519.SeedSize).Draw(t, "seed"))
		signature := remote.Sign(document, private)
		if err := remote.Verify(document, signature, other.Public().(ed25519.PublicKey), public); err != nil {
			t.Fatalf("Verify() = %v, want none", err)
		}
		changed := append(bytes.Clone(document), 0)
		if i := rapid.IntRange(0, len(document)).Draw(t, "i"); i < len(document) {
			changed = bytes.Clone(document)
			changed[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if err := remote.Verify(changed, signature, public); !errors.Is(err, remote.ErrSignature) {
			t.Fatalf("Verify() = %v for another document, want an ErrSignature", err)
		}
		if err := remote.Verify(document, remote.Sign(document, other), public); !errors.Is(err, remote.ErrSignature) {
			t.Fatalf("Verify() = %v for another key, want an ErrSignature", err)
		}
	})
}

func TestVerifyRejects(t *testing.T) {
	public, private := testKeys(t)
	document := []byte("id: plan-1\n")
	good := strings.TrimSpace(string(remote.Sign(document, private)))
	for _, tt := range []struct {
		name, signature string
		keys            []ed25519.PublicKey
		want            string
	}{
		{"none", "", []ed25519.PublicKey{public}, "none: must be there, since a public key is set"},
		{"blank", " \n", []ed25519.PublicKey{public}, "none: must be there"},
		{"short", good[:80], []ed25519.PublicKey{public}, "80 characters: must be 88 of base64"},
		{"long", good + good, []ed25519.PublicKey{public}, "176 characters: must be 88 of base64"},
		{"not base64", strings.Repeat("!", 88), []ed25519.PublicKey{public}, "must be base64"},
		{"line breaks", strings.Repeat("AAA\n", 22) + "", []ed25519.PublicKey{public}, "must be"},
		{"66 bytes", strings.Repeat("A", 88), []ed25519.PublicKey{public}, "66 bytes: must be 64"},
		{"hexadecimal", strings.Repeat("a", 128), []ed25519.PublicKey{public}, "128 characters"},
		{"no key", good, nil, "made by none of the 0 public keys over these 11 bytes"},
		{"key of another size", good, []ed25519.PublicKey{public[:31], nil}, "made by none of the 2 public keys"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := remote.Verify(document, []byte(tt.signature), tt.keys...)
			if !errors.Is(err, remote.ErrSignature) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Verify() = %v, want an ErrSignature with %q", err, tt.want)
			}
		})
	}
}

func TestParseKeyRejects(t *testing.T) {
	public, private, ecdsa := string(testFile(t, "public.pem")), string(testFile(t, "private.pem")), string(testFile(t, "ecdsa.pem"))
	block := func(kind, body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(body)}))
	}
	for _, tt := range []struct {
		name, text string
		private    bool
		want       string
	}{
		{"empty", "", false, `no PEM block: must be one of type "PUBLIC KEY"`},
		{"base64 alone", "MCowBQYDK2VwAyEA", false, "no PEM block"},
		{"private for public", private, false, `PEM block of type "PRIVATE KEY": must be "PUBLIC KEY"`},
		{"public for private", public, true, `PEM block of type "PUBLIC KEY": must be "PRIVATE KEY"`},
		{"two keys", public + public, false, "after the PEM block: must be one key alone"},
		{"another algorithm", ecdsa, true, "PRIVATE KEY of type *ecdsa.PrivateKey: must be Ed25519"},
		{"not ASN.1", block("PUBLIC KEY", "x"), false, "PUBLIC KEY: asn1"},
		{"encrypted", block("ENCRYPTED PRIVATE KEY", "x"), true, `PEM block of type "ENCRYPTED PRIVATE KEY"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if tt.private {
				_, err = remote.ParsePrivateKey([]byte(tt.text))
			} else {
				_, err = remote.ParsePublicKey([]byte(tt.text))
			}
			if !errors.Is(err, remote.ErrKey) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want an ErrKey with %q", err, tt.want)
			}
		})
	}
}

// Only one text is a document's signature, the space around it aside.
func FuzzVerify(f *testing.F) {
	public, private := testKeys(f)
	document := []byte("id: plan-1\n")
	good := bytes.TrimSpace(remote.Sign(document, private))
	f.Add(good)
	f.Add(append([]byte(" \t"), good...))
	f.Add([]byte(strings.Repeat("A", 86) + "=="))
	f.Fuzz(func(t *testing.T, signature []byte) {
		err := remote.Verify(document, signature, public)
		if is := bytes.Equal(bytes.TrimSpace(signature), good); is != (err == nil) {
			t.Errorf("Verify(%q) = %v, the signature is %q", signature, err, good)
		}
	})
}

// What is read as a key signs, or verifies, and comes back as it was.
func FuzzParseKey(f *testing.F) {
	for _, name := range []string{"public.pem", "private.pem", "ecdsa.pem"} {
		f.Add(testFile(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if private, err := remote.ParsePrivateKey(text); err == nil {
			if err := remote.Verify(text, remote.Sign(text, private), private.Public().(ed25519.PublicKey)); err != nil {
				t.Errorf("Verify() = %v, want none", err)
			}
		} else if !errors.Is(err, remote.ErrKey) {
			t.Errorf("ParsePrivateKey() = %v, want an ErrKey", err)
		}
		public, err := remote.ParsePublicKey(text)
		if err != nil {
			if !errors.Is(err, remote.ErrKey) {
				t.Errorf("ParsePublicKey() = %v, want an ErrKey", err)
			}
			return
		}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		again, err := remote.ParsePublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		if err != nil || !again.Equal(public) {
			t.Errorf("key %x read again is %x, %v", public, again, err)
		}
	})
}
