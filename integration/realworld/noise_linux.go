package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// jiffy is the unit of /proc.
const jiffy = 10 * time.Millisecond

// machineTime returns the time that all processors have been busy: the fields user, nice, system,
// irq, softirq and steal of /proc/stat, see proc(5).
func machineTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return jiffies("/proc/stat", strings.Fields(line), 1, 2, 3, 6, 7, 8)
}

// processTime returns the processor time that a process has had: the fields utime and stime of its
// stat.
func processTime(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may contain any character.
	return jiffies(path, strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])), 11, 12)
}

// jiffies returns the sum of some of the fields of a file.
func jiffies(path string, fields []string, which ...int) (time.Duration, error) {
	var sum time.Duration
	for _, i := range which {
		if i >= len(fields) {
			return 0, fmt.Errorf("%s: must have %d fields", path, i+1)
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += time.Duration(n) * jiffy
	}
	return sum, nil
}
