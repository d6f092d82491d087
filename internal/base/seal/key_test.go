package seal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// pathVar makes the test binary load a key like any other process would.
const pathVar = "SEAL_TEST_KEY"

func TestMain(m *testing.M) {
	if path := os.Getenv(pathVar); path != "" {
		key, err := LoadKey(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(key.Verifier())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheKeyIsMadeOnceAndPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "keys", "log.ed25519")
	first := testkit.Must(LoadKey(path))(t)
	again, err := LoadKey(path)
	if err != nil || again.Verifier() != first.Verifier() {
		t.Errorf("second load: %v, %v", again, err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
	sealed := testkit.Must(first.Sign("text\n"))(t)
	testkit.Must(Open(sealed, again.Verifier()))(t)
}

func TestRacingProcessesEndWithTheSameKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "log.ed25519")
	var all []*exec.Cmd
	var said []*strings.Builder
	for range 6 {
		cmd, out := exec.Command(os.Args[0]), new(strings.Builder)
		cmd.Env = append(os.Environ(), pathVar+"="+path)
		cmd.Stdout = out
		testkit.OK(t, cmd.Start())
		all, said = append(all, cmd), append(said, out)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil || said[i].String() != said[0].String() || said[0].Len() == 0 {
			t.Errorf("process %d: %v, %q and %q", i, err, said[i], said[0])
		}
	}
}

func TestAKeyFileOthersCanReadIsRefused(t *testing.T) {
	path := write(t, goldenPrivate+"\n")
	for _, perm := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		testkit.OK(t, os.Chmod(path, perm))
		_, err := LoadKey(path)
		if !fault.Is(err, fault.InvalidConfig) || !strings.HasSuffix(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: %v", perm, err)
		}
	}
	testkit.OK(t, os.Chmod(path, 0o400))
	if key, err := LoadKey(path); err != nil || key.Verifier() != goldenVerifier {
		t.Errorf("mode 0400: %v, %v", key, err)
	}
}

func TestAMalformedKeyFileIsRefusedAndNotRepeated(t *testing.T) {
	for name, text := range map[string]string{
		"empty":        "",
		"cut":          goldenPrivate,
		"half":         goldenPrivate[:50] + "\n",
		"two lines":    goldenPrivate + "\n" + goldenPrivate + "\n",
		"broken line":  goldenPrivate[:60] + "\n" + goldenPrivate[60:] + "\n",
		"wrong hash":   strings.Replace(goldenPrivate, "2228fa5e", "2228fa5f", 1) + "\n",
		"public":       goldenVerifier + "\n",
		"other name":   "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n",
		"other format": "-----BEGIN PRIVATE KEY-----\n",
	} {
		path := write(t, text)
		_, err := LoadKey(path)
		if !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), "AQABAgME") {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestAKeyDoesNotPrintItself(t *testing.T) {
	key := golden(t)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, key); got != goldenVerifier {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

func golden(t *testing.T) *Key {
	t.Helper()
	key := testkit.Must(LoadKey(write(t, goldenPrivate+"\n")))(t)
	return key
}

func fresh(t *testing.T) *Key {
	t.Helper()
	key := testkit.Must(LoadKey(filepath.Join(t.TempDir(), "key")))(t)
	return key
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
