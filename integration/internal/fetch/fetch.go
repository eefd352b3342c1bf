// Package fetch asks HTTP servers, and reads all of what they answer.
package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrStatus is wrapped by the error about an answer with another status than 200.
var ErrStatus = errors.New("status")

// Do sends a request and reads all of the answer, so that the connection is used again. Where the
// status is not 200, the error has it, and the beginning of the answer.
func Do(ctx context.Context, client *http.Client, method, url string, body io.Reader) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %w %s: %.200s", method, url, ErrStatus, response.Status, bytes.TrimSpace(text))
	}
	return text, err
}

// JSON gets what is at a URL.
func JSON(ctx context.Context, client *http.Client, url string, into any) error {
	text, err := Do(ctx, client, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
