package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// serve starts a server in the demo's world and returns the link to its page.
func (g *guide) serve(ctx context.Context) (link string, err error) {
	if g.server == nil {
		cmd := g.command(ctx, "serve", "--addr", "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			return "", err
		}
		if err := cmd.Start(); err != nil {
			return "", err
		}
		g.server = cmd
		ready := bufio.NewScanner(out)
		for ready.Scan() {
			if strings.Contains(ready.Text(), "http://") {
				break
			}
		}
		if !strings.Contains(ready.Text(), "http://") {
			return "", errors.New("demo: the server did not begin")
		}
		go func() { // it must not wait for a reader
			for ready.Scan() {
			}
		}()
	}
	said, exit, err := g.quiet(ctx, "web")
	if err != nil || exit != 0 {
		return "", fmt.Errorf("demo: ramet web ended with %d: %s %w", exit, said, err)
	}
	return strings.TrimSpace(said), nil
}

// leave ends the server, if there is one, and the background kernel of the demo's own home.
func (g *guide) leave() {
	if g.server == nil {
		return
	}
	g.server.Process.Signal(os.Interrupt)
	g.server.Wait() // however it ended, it is gone
	g.server = nil
	g.quiet(context.Background(), "server", "stop", "--force") // the demo's folder is removed next
}

// page shows where the page is. A person may look at it.
func (g *guide) page(ctx context.Context) error {
	if err := g.show(DemoStep{Title: "Page: `ramet serve` has all of it for a browser, live; `ramet web` prints a link that works once."}); err != nil {
		return err
	}
	link, err := g.serve(ctx)
	if err != nil {
		return err
	}
	if err := g.show(DemoStep{Command: "ramet web", Output: link + "\n"}); err != nil || g.next == nil {
		return err
	}
	return g.next(ctx, "Open it, if you like; Enter goes on")
}

// home ends the tour inside of ramet, if somebody is there.
func (g *guide) home(ctx context.Context) error {
	const yours = "That was a throw-away workspace; it is gone now. Yours begins with `ramet` in any project."
	if g.next != nil {
		if err := g.show(DemoStep{Title: "Home: `ramet` is one screen for all of them. You are in it next; Ctrl+C twice leaves."}); err != nil {
			return err
		}
		if err := g.next(ctx, "Enter opens it"); err != nil {
			return err
		}
		if err := g.attached(ctx); err != nil {
			return err
		}
	}
	return g.show(DemoStep{Title: yours})
}

// attached carries out a command on the terminal of whoever takes the tour; how it ends is theirs.
func (g *guide) attached(ctx context.Context, args ...string) error {
	cmd := g.command(ctx, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return nil
	}
	return err
}
