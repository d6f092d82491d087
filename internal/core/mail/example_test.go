package mail_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/store/sqlite"
)

// Letters are sent by a verb of the registry; a box shows them, and marks nothing.
func ExampleBoxes() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	s := must(sqlite.Open(ctx, filepath.Join(dir, "ramet.db"), sqlite.Options{Cwd: dir}))
	defer s.Close()
	zero := must(s.Zero(ctx)).ID
	must(s.Send(ctx, registry.Send{To: zero, Body: "good morning"}))
	must(s.Send(ctx, registry.Send{To: zero, Body: "the build is red"}))

	var boxes mail.Boxes = s
	if err := boxes.Hide(ctx, zero, 1); err != nil {
		panic(err)
	}
	for _, l := range must(boxes.Letters(ctx, zero, mail.Filter{Unread: true})) {
		fmt.Println(l.Number, l.Body)
	}
	// Output:
	// 2 the build is red
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
