//go:build !linux

package main

import (
	"errors"
	"runtime"
	"time"
)

var errMachine = errors.New("not on " + runtime.GOOS)

func tmpfs(string, int) (func(), error)       { return nil, errMachine }
func limitFiles(int, uint64) error            { return errMachine }
func limitMemory(int, int) (func(), error)    { return nil, errMachine }
func memoryGroup(string, int) (func(), error) { return nil, errMachine }
func joinGroup(string) error                  { return nil }
func paranoid(string) (func(), error)         { return nil, errMachine }
func refusePerf() error                       { return errMachine }

func stepClock(time.Duration) error { return errMachine }

// A disk is a folder whose files do not always take what is written.
type disk struct{}

func mountDisk(string, string) (*disk, error) { return nil, errMachine }
func (*disk) unmount()                        {}
func (*disk) becomes(error, time.Duration)    {}
