//go:build unix

package command

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A new file has what the umask leaves; the mode of one that is replaced stays.
func TestOutputToKeepsTheUmask(t *testing.T) {
	dir := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o077))
	for name, want := range map[string]os.FileMode{"new": 0o600, "old": 0o640} {
		file := filepath.Join(dir, name)
		if name == "old" {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, want); err != nil {
				t.Fatal(err)
			}
		}
		err := new(Call).OutputTo(file, func(w io.Writer) error {
			_, err := io.WriteString(w, "page")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %v, want %v", name, got, want)
		}
	}
}
