package remote

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

var (
	// ErrSignature is returned for a document that none of the keys has signed.
	ErrSignature = errors.New("causal/remote: signature")
	// ErrKey is returned for a key that cannot be read.
	ErrKey = errors.New("causal/remote: key")
)

// Sign returns the detached Ed25519 signature of a document's bytes, as base64 text in one
// line. Like [ed25519.Sign] it panics if the key has not [ed25519.PrivateKeySize] bytes, which
// those from [ParsePrivateKey] have.
func Sign(document []byte, key ed25519.PrivateKey) []byte {
	return append(base64.StdEncoding.AppendEncode(nil, ed25519.Sign(key, document)), '\n')
}

// Verify returns nil if one of the keys has signed the document, otherwise an error that
// wraps [ErrSignature]. The signature is text as from [Sign]; space around it does not count.
func Verify(document, signature []byte, keys ...ed25519.PublicKey) error {
	text := bytes.TrimSpace(signature)
	if len(text) == 0 {
		return fmt.Errorf("%w: none: must be there, since a public key is set", ErrSignature)
	}
	if want := base64.StdEncoding.EncodedLen(ed25519.SignatureSize); len(text) != want {
		return fmt.Errorf("%w: %d characters: must be %d of base64", ErrSignature, len(text), want)
	}
	// Strict has one text for one signature; it still takes line breaks, which the size
	// above leaves no room for.
	raw, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: must be base64: %w", ErrSignature, err)
	}
	if len(raw) != ed25519.SignatureSize {
		return fmt.Errorf("%w: %d bytes: must be %d", ErrSignature, len(raw), ed25519.SignatureSize)
	}
	for _, key := range keys {
		// ed25519.Verify panics on a key of another size.
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, document, raw) {
			return nil
		}
	}
	return fmt.Errorf("%w: made by none of the %d public keys over these %d bytes", ErrSignature, len(keys), len(document))
}

// ParsePrivateKey reads an Ed25519 key in PEM, as "openssl genpkey -algorithm ed25519" makes it
// (PKCS#8, not encrypted). An error wraps [ErrKey].
func ParsePrivateKey(text []byte) (ed25519.PrivateKey, error) {
	return parseKey[ed25519.PrivateKey](text, "PRIVATE KEY", x509.ParsePKCS8PrivateKey)
}

// ParsePublicKey reads an Ed25519 key in PEM, as "openssl pkey -pubout" makes it (PKIX). An error
// wraps [ErrKey].
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	return parseKey[ed25519.PublicKey](text, "PUBLIC KEY", x509.ParsePKIXPublicKey)
}

func parseKey[K ed25519.PrivateKey | ed25519.PublicKey](text []byte, kind string, parse func([]byte) (any, error)) (K, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, fmt.Errorf("%w: no PEM block: must be one of type %q", ErrKey, kind)
	case block.Type != kind:
		return nil, fmt.Errorf("%w: PEM block of type %q: must be %q", ErrKey, block.Type, kind)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, fmt.Errorf("%w: %d bytes after the PEM block: must be one key alone", ErrKey, len(rest))
	}
	parsed, err := parse(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKey, kind, err)
	}
	key, ok := parsed.(K)
	if !ok {
		return nil, fmt.Errorf("%w: %s of type %T: must be Ed25519", ErrKey, kind, parsed)
	}
	return key, nil
}
