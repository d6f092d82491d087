package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestTheTokenIsMadeOnce(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if _, err := ReadToken(home); !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			token, err := OpenToken(home)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[token.value] = true
		})
	}
	all.Wait()
	info, err := os.Stat(TokenPath(home))
	if err != nil || info.Mode().Perm() != 0o600 || len(seen) != 1 {
		t.Errorf("%v %v, %d tokens", info.Mode(), err, len(seen))
	}
	token, _ := OpenToken(home)
	if printed := fmt.Sprintf("%v %+v %#v %s", token, token, token, token); strings.Contains(printed, token.value) || len(token.value) < 50 {
		t.Error(printed)
	}
}

func TestATokenThatOthersCouldReadIsRefused(t *testing.T) {
	home := t.TempDir()
	good := strings.Repeat("a", 40)
	for _, c := range []struct {
		text string
		mode os.FileMode
		ok   bool
	}{
		{good, 0o600, true}, {good + "\n", 0o400, true},
		{good, 0o640, false}, {good, 0o604, false}, {good, 0o620, false}, {good, 0o666, false},
		{"", 0o600, false}, {"short", 0o600, false}, {good + " " + good, 0o600, false}, {strings.Repeat("a", 2000), 0o600, false}, {good + "\x00", 0o600, false},
	} {
		testkit.OK(t, os.RemoveAll(TokenPath(home)))
		testkit.OK(t, os.WriteFile(TokenPath(home), []byte(c.text), 0o600))
		testkit.OK(t, os.Chmod(TokenPath(home), c.mode))
		_, err := OpenToken(home)
		if (err == nil) != c.ok || err != nil && (!fault.Is(err, fault.InvalidConfig) || strings.Contains(err.Error(), good)) {
			t.Errorf("%.20q %o: %v", c.text, c.mode, err)
		}
	}
	testkit.OK(t, os.Remove(TokenPath(home)))
	testkit.OK(t, os.Mkdir(TokenPath(home), 0o700))
	if _, err := OpenToken(home); !fault.Is(err, fault.InvalidConfig) {
		t.Errorf("a folder: %v", err)
	}
}
