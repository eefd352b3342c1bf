package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// registry is the CNCF's registry of container images, asked for a manifest by its tag. Its storage
// lies in files, and is as slow here as one across a network: each read takes 3 ms and each look
// 1.5 ms. At most three calls of the storage are under way, by the registry's own regulator, a
// sync.Cond.
func registry() program {
	return program{
		name: "registry", about: "the registry of CNCF Distribution, manifests by tag; eight clients in another process",
		ports: 1,
		url: func(ports []string, _ int) string {
			return "http://127.0.0.1:" + ports[0] + "/v2/" + image + "/manifests/latest"
		},
		seed:     pushImage,
		progress: "GET /v2/" + image + "/manifests/latest",
		regions:  []region{{span: "read", delay: "read"}, {span: "look", delay: "look"}},
	}
}

// image is the name of the one that is asked for.
const image = "real/world"

// pushImage puts an image of no layers into the registry.
func pushImage(ctx context.Context, client *http.Client, ports []string) error {
	base := "http://127.0.0.1:" + ports[0]
	config := []byte("{}")
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(config))
	response, err := send(ctx, client, http.MethodPost, base+"/v2/"+image+"/blobs/uploads/", "", nil)
	if err != nil {
		return err
	}
	to, err := response.Location()
	if err != nil {
		return err
	}
	query := to.Query()
	query.Set("digest", digest)
	to.RawQuery = query.Encode()
	if _, err := send(ctx, client, http.MethodPut, to.String(), "application/octet-stream", config); err != nil {
		return err
	}
	const mediaType = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},"layers":[]}`,
		mediaType, len(config), digest)
	_, err = send(ctx, client, http.MethodPut, base+"/v2/"+image+"/manifests/latest", mediaType, manifest)
	return err
}

// send sends a request whose answer must be that something was made or accepted.
func send(ctx context.Context, client *http.Client, method, url, mediaType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", mediaType)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusAccepted {
		return nil, fmt.Errorf("%s %s: %s: %.200s", method, url, response.Status, text)
	}
	return response, nil
}
