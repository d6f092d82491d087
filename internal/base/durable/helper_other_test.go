//go:build !unix

package durable

import "errors"

func bequeath(string) error { return errors.New("a lock cannot be left to a child here") }

func tooLarge(string) error { return errors.New("the size of files cannot be limited here") }
