package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A toolchain is what the go command reports of itself.
type toolchain struct {
	GOROOT, GOVERSION, GOFLAGS, GOMODCACHE string
}

// Command returns a go command, one of build, run, test and install, that builds with the hooks in
// package runtime. The arguments are those of the go command. It must be started with its Dir and
// Env as they are.
//
// The go command is the one that the module in its folder asks for; if that was downloaded, it is
// reached by a symbolic link, since -overlay must not replace files in the module cache. Files
// are written below the user's cache folder, see [os.UserCacheDir].
func Command(verb string, args []string) (*exec.Cmd, error) {
	// The folder and GOFLAGS have to be known, each before the other is asked for.
	f, err := parse(verb, args, "")
	if err != nil {
		return nil, err
	}
	t, err := ask(f.dir)
	if err != nil {
		return nil, err
	}
	if f, err = parse(verb, args, t.GOFLAGS); err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("overlay: a folder for files is missing: %w", err)
	}
	cache = filepath.Join(cache, "otelprof", "overlay")
	files, err := rewritten(t.GOROOT, t.GOVERSION)
	if err != nil {
		return nil, err
	}
	goroot, err := t.reachable(cache)
	if err != nil {
		return nil, err
	}
	further, err := readOverlay(f.dir, f.overlay)
	if err != nil {
		return nil, err
	}
	document, err := merge(filepath.Join(cache, release(t.GOVERSION)), goroot, files, further)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(goroot, "bin", "go"), f.join(verb, document)...)
	// The overlay is for this GOROOT: another toolchain would ignore it.
	cmd.Env = append(os.Environ(), "GOROOT="+goroot, "GOTOOLCHAIN=local")
	return cmd, nil
}

// ask asks the go command of a folder about itself.
func ask(dir string) (toolchain, error) {
	var t toolchain
	args := []string{"env"}
	if dir != "" {
		args = append(args, "-C", dir)
	}
	cmd := exec.Command("go", append(args, "-json", "GOROOT", "GOVERSION", "GOFLAGS", "GOMODCACHE")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch text := bytes.TrimSpace(stderr.Bytes()); {
	case err != nil && len(text) > 0:
		return t, fmt.Errorf("overlay: go env: %w: %s", err, text)
	case err != nil:
		return t, fmt.Errorf("overlay: go env: %w", err)
	}
	if err := json.Unmarshal(out, &t); err != nil {
		return t, fmt.Errorf("overlay: go env: %w", err)
	}
	if t.GOROOT == "" {
		return t, errors.New("overlay: go env GOROOT: must not be empty")
	}
	return t, nil
}

// reachable returns a path of GOROOT outside the module cache.
func (t toolchain) reachable(cache string) (string, error) {
	inside, err := filepath.Rel(t.GOMODCACHE, t.GOROOT)
	if t.GOMODCACHE == "" || err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return t.GOROOT, nil
	}
	sum := sha256.Sum256([]byte(t.GOROOT))
	link := filepath.Join(cache, "goroot-"+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", unwritable(err)
	}
	// The name determines where it leads, so another build that is faster makes the same one. A
	// cache that others write to, or that was restored, may have it lead elsewhere.
	if err := os.Symlink(t.GOROOT, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("overlay: %s was downloaded, and must be reached by another path: %w", t.GOVERSION, err)
	}
	if leads, err := os.Readlink(link); err != nil || leads != t.GOROOT {
		return "", fmt.Errorf("overlay: %s: must be a link to %s, not %q: remove it", link, t.GOROOT, leads)
	}
	return link, nil
}

// readOverlay reads the user's own -overlay, if there is one. Its paths are relative to the folder
// in which the go command works.
func readOverlay(dir, document string) (map[string]string, error) {
	if document == "" {
		return nil, nil
	}
	if dir == "" {
		dir = "."
	}
	absolute := func(path string) (string, error) {
		if path == "" || filepath.IsAbs(path) {
			return path, nil // an empty one removes a file
		}
		return filepath.Abs(filepath.Join(dir, path))
	}
	path, err := absolute(document)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("overlay: -overlay: %w", err)
	}
	var given replacements
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, fmt.Errorf("overlay: -overlay %s: %w", document, err)
	}
	all := make(map[string]string, len(given.Replace))
	for from, to := range given.Replace {
		if from, err = absolute(from); err == nil {
			all[from], err = absolute(to)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
