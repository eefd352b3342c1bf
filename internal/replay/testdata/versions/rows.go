//go:build !go1.23

package main

func rows(wait func()) { wait() }
