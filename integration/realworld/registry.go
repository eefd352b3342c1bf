package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// registry is the CNCF's registry of container images, asked for a manifest by its tag. Its storage lies in files, and is as
// slow here as one across a network: each read takes 3 ms and each look 1.5 ms. At most three calls of the storage are
// under way, by the registry's own regulator, a sync.Cond.
func registry() program {
	p := program{
		name: "registry", about: "the registry of CNCF Distribution, manifests by tag; eight clients in another process",
		module: "github.com/distribution/distribution/v3", version: "v3.0.0", pkg: "./cmd/registry",
		newer: []string{"go.opentelemetry.io/contrib/exporters/autoexport@v0.70.0"},
		ports: 1,
		env:   []string{"OTEL_TRACES_EXPORTER=none"},
		args:  registryConfig,
		url: func(ports []string, _ int) string {
			return "http://127.0.0.1:" + ports[0] + "/v2/" + image + "/manifests/latest"
		},
		seed:     pushImage,
		progress: "GET /v2/" + image + "/manifests/latest",
		regions:  []region{{span: "GetContent", delay: "read"}, {span: "Stat", delay: "look"}},
	}
	const (
		tracing    = "tracing/tracing.go"
		filesystem = "registry/storage/driver/filesystem/driver.go"
		command    = "cmd/registry/main.go"
		drivers    = "\t_ \"github.com/distribution/distribution/v3/registry/storage/driver/"
	)
	p.edits = []edit{
		{tracing, "otel.SetTracerProvider(provider)", "otel.SetTracerProvider(control.Wrap(provider))"},
		imports(tracing, p.control()),
		{filesystem, "minThreads = uint64(25)", "minThreads = uint64(1)"},
		after(filesystem, "GetContent(ctx context.Context, path string) ([]byte, error) {\n", `control.Sleep("read", 3*time.Millisecond, 300*time.Microsecond)`),
		after(filesystem, "Stat(ctx context.Context, subPath string) (storagedriver.FileInfo, error) {\n", `control.Sleep("look", 1500*time.Microsecond, 150*time.Microsecond)`),
		imports(filesystem, p.control()),
	}
	// The storage of others, whose libraries take minutes to compile.
	for _, driver := range []string{"azure", "gcs", "middleware/cloudfront", "s3-aws"} {
		p.edits = append(p.edits, edit{command, drivers + driver + "\"\n", ""})
	}
	return p
}

// image is the name of the one that is asked for.
const image = "real/world"

// registryConfig writes the registry's configuration and makes its storage empty.
func registryConfig(dir string, ports []string) ([]string, error) {
	storage, path := filepath.Join(dir, "registry-storage"), filepath.Join(dir, "registry.yml")
	if err := os.RemoveAll(storage); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`version: 0.1
log:
  level: error
  accesslog:
    disabled: true
storage:
  filesystem:
    rootdirectory: %q
    maxthreads: 3
  maintenance:
    uploadpurging:
      enabled: false
http:
  addr: 127.0.0.1:%s
`, storage, ports[0])
	return []string{"serve", path}, os.WriteFile(path, []byte(text), 0o644)
}

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
