package perf

import (
	"testing"
	"testing/fstest"
)

func TestLastCacheBytes(t *testing.T) {
	const dir = "sys/devices/system/cpu/cpu0/cache/"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int
	}{
		"none":    {fstest.MapFS{}, 0},
		"three":   {fstest.MapFS{dir + "index0/size": file("48K\n"), dir + "index3/size": file("32768K\n"), dir + "index2/size": file("2048K\n")}, 32 << 20},
		"nothing": {fstest.MapFS{dir + "index0/size": file("\n"), dir + "index1/size": file("-3K\n"), dir + "index2/size": file("99999999999999999999K\n")}, 0},
	} {
		if got := lastCacheBytes(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
