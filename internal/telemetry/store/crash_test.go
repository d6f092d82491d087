package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ramet/internal/store/database"
	"ramet/internal/telemetry"
	"ramet/internal/testkit/pgtest"
)

// crashVariable tells a process of this test to write to a place until it is killed.
const crashVariable = "RAMET_TELEMETRY_CRASH"

func openAny(address string) (*Store, error) {
	if database.IsPostgres(address) {
		return OpenServer(context.Background(), address)
	}
	return OpenFile(context.Background(), address)
}

// writeUntilKilled says of every record, when it is kept, its number, and of every one
// that was changed too, the number with a c before it.
func writeUntilKilled(address string) int {
	s, err := openAny(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	patch, err := telemetry.ParsePatch([]byte(`{"status": "success"}`))
	if err != nil {
		return 1
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				n := i*4 + g
				one, err := telemetry.ParseNew([]byte(body(n, n, "")))
				if err == nil {
					_, err = s.Create(context.Background(), []telemetry.New{one})
				}
				if err == nil {
					fmt.Printf("%d\n", n)
					_, err = s.Patch(context.Background(), one.EventID, patch)
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("c%d\n", n)
			}
		})
	}
	wg.Wait()
	return 0
}

// What was acknowledged before SIGKILL is there when it is opened again, whole, and a
// re-send of all is taken for what it is.
func TestKilledWriter(t *testing.T) {
	server := pgtest.URL(t)
	dropAfter(t, server)
	for name, address := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "t.db"), "PostgreSQL": server} {
		t.Run(name, func(t *testing.T) {
			for round := range 3 {
				acknowledged := map[string]bool{}
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), crashVariable+"="+address)
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				for lines.Scan() {
					acknowledged[lines.Text()] = true
					if len(acknowledged) == 200*(round+1) {
						if err := cmd.Process.Kill(); err != nil {
							t.Fatal(err)
						}
					}
				}
				cmd.Wait()
				if len(acknowledged) < 200*(round+1) {
					t.Fatalf("it ended after %d", len(acknowledged))
				}
				s, err := openAny(address)
				if err != nil {
					t.Fatal(err)
				}
				for said := range acknowledged {
					var n int
					if _, err := fmt.Sscan(strings.TrimPrefix(said, "c"), &n); err != nil {
						t.Fatal(err)
					}
					r, err := s.Get(t.Context(), eventID(n))
					if err != nil || said[0] == 'c' && r.Status != telemetry.Success {
						t.Errorf("%s: %+v, %v", said, r, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
