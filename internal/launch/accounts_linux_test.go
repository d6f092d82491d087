package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
)

// account is one that is neither root nor anybody's.
const account = 61234

func TestAnOrdinaryUserStartsPrograms(t *testing.T) {
	testkit.RootOnly(t)
	dir, err := os.MkdirTemp("", "ramet-launch") // not t.TempDir(), which others cannot reach
	testkit.OK(t, err)
	defer os.RemoveAll(dir)
	testkit.OK(t, os.Chown(dir, account, account))
	again := exec.Command("/proc/self/exe", "-test.run=^(TestTheUsersPrograms|TestDriversAndGit|TestNothingStartsUnchecked)")
	again.Dir = "/"
	again.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", testkit.AttackEnvironment()}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account, Gid: account}}
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Where the cache is in a place that accounts share, another one may have made the folder first.
func TestNoProgramStartsInAFolderOfAnotherAccount(t *testing.T) {
	testkit.RootOnly(t)
	project := hostile(t, nil)
	for name, take := range map[string]func(dir string) error{
		"another account's": func(dir string) error { return os.Chown(dir, account, account) },
		"open to everyone":  func(dir string) error { return os.Chmod(dir, 0o777) },
		"a link": func(dir string) error {
			if err := os.Remove(dir); err != nil {
				return err
			}
			return os.Symlink(project, dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", cache)
			dir := filepath.Join(cache, "ramet", "neutral")
			testkit.OK(t, os.MkdirAll(dir, 0o700))
			testkit.OK(t, take(dir))
			_, err := Command(t.Context(), Program{Purpose: UserHook, Command: sandbox.Command{Dir: t.TempDir(), Args: []string{"true"}}})
			if !fault.Is(err, fault.StorageIO) {
				t.Errorf("it would start there: %v", err)
			}
			testkit.Attack(t, "accounts", "the empty folder for programs is "+name)
		})
	}
}
