//go:build !linux

package main

import "errors"

func openGroup() (*side, error) { return nil, errors.ErrUnsupported }

func openSeparately() (*side, error) { return nil, errors.ErrUnsupported }
