package durable_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/base/durable"
	"ramet/internal/testkit"
)

func TestWhatChangesIsTold(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, ok := durable.WatchFolder(ctx, dir)
	if !ok {
		t.Skip("this machine has no inotify to give")
	}
	wait := func(what string) {
		t.Helper()
		testkit.Receive(t, "the file was "+what, told)
	}
	testkit.OK(t, os.WriteFile(file, []byte("one"), 0o600))
	wait("made")
	for range 3 {
		testkit.OK(t, os.WriteFile(file, []byte("two"), 0o600))
		wait("written")
	}
	os.Remove(file)
	wait("removed")
	if _, ok := durable.WatchFolder(ctx, filepath.Join(dir, "none")); ok {
		t.Error("a folder that is not there is watched")
	}
}
