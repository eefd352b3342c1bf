package otlp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelprof/otelprof/internal/naming"
)

// maxSaid bounds what is repeated of a refusal, in bytes.
const maxSaid = 256

// bodyMark stands before the body of an answer in errors of the SDK's exporters.
const bodyMark = "body: "

// said is the text in the body of a refusal: the message of the google.rpc.Status that OTLP
// asks for, or a text. Of anything else it is the size.
func said(body string) string {
	text := body
	if !isText(text) {
		var ok bool
		if text, ok = statusMessage(body); !ok || !isText(text) {
			return fmt.Sprintf("%d bytes that are not text", len(body))
		}
	}
	return naming.Cut(strings.Join(strings.Fields(text), " "), maxSaid)
}

func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

// statusMessage reads field 2 of a google.rpc.Status, after field 1, its code. The message may be
// cut short: the SDK trims the space at the end of a body.
func statusMessage(body string) (message string, ok bool) {
	b := []byte(body)
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", false
		}
		b = b[n:]
		if number == 2 && kind == protowire.BytesType {
			size, n := protowire.ConsumeVarint(b)
			if n < 0 || size == 0 {
				return "", false
			}
			return string(b[n:][:min(size, uint64(len(b)-n))]), true
		}
		if number != 1 || kind != protowire.VarintType {
			return "", false
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return "", false
		}
		b = b[n:]
	}
	return "", false
}

// explained is an error whose text is readable.
type explained struct {
	text string
	err  error
}

func (e explained) Error() string { return e.text }
func (e explained) Unwrap() error { return e.err }

// explain makes the error of a refusal readable: the SDK's exporters put the body into it as it
// came, at the end and perhaps in brackets.
func explain(err error) error {
	before, body, found := strings.Cut(err.Error(), bodyMark)
	if !found {
		return err
	}
	end := ""
	if strings.HasSuffix(before, "(") {
		body, end = strings.TrimSuffix(body, ")"), ")"
	}
	return explained{before + bodyMark + said(body) + end, err}
}
