package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// setIDAttempts are ways in which programs set the bits, or keep them on a file that they overwrite.
// The archive has a setuid file in it.
var setIDAttempts = []string{
	"cp /bin/sh a && chmod 4755 a", "cp /bin/sh b && chmod u+s b", "install -m 4755 /bin/sh c", "install -m 2755 /bin/sh d",
	"mkdir -m 2755 e", "install -d -m 2755 f", "tar -xpf archive", "cp -p packed g", "cp -a packed h",
	`perl -e 'umask 0; use Fcntl; sysopen(F, "i", O_CREAT|O_WRONLY, 06755) or exit 1'`,
	"unshare -Ur chmod 4755 ours", "cat packed > setuid",
}

// runAs runs the test binary in a role, as another account if uid is not 0.
func runAs(uid uint32, dir, name string, args ...string) (string, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir = "/"
	cmd.Env = []string{sandboxPath, role + "=" + name, "TMPDIR=" + dir, "GORACE=atexit_sleep_ms=0"}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// playBoxed runs a script in a box that may write its folder.
func playBoxed(args []string) {
	out := newScreen()
	c := sh(args[0], args[1])
	c.Output, c.Confine = out, &Box{Write: []string{args[0]}, Network: len(args) > 2 && args[2] == "network"}
	p, err := Start(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p.Wait()
	fmt.Print(out)
}

// A setuid copy of a shell would hand the account to everyone who can reach the folder.
func TestNoSetIDBitLeavesTheBox(t *testing.T) {
	accounts := []uint32{0}
	if os.Geteuid() == 0 {
		accounts = append(accounts, 61234)
	}
	for _, uid := range accounts {
		top, err := os.MkdirTemp("", "ramet-setid") // not t.TempDir(), which others cannot reach
		testkit.OK(t, err)
		defer os.RemoveAll(top)
		root := filepath.Join(top, "root")
		pack := exec.Command("sh", "-ec", `mkdir root; cd root; cp /bin/sh packed; cp /bin/sh ours; chmod 4755 packed; tar -cpf archive packed; chmod 755 packed; touch setuid`)
		pack.Dir = top
		if out, err := pack.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if uid != 0 {
			if out, err := exec.Command("chown", "-R", fmt.Sprint(uid), top).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
		}
		testkit.OK(t, os.Chmod(filepath.Join(root, "setuid"), 0o755|fs.ModeSetuid))
		script := "test -e packed || exit 9\n"
		for _, attempt := range setIDAttempts {
			script += fmt.Sprintf("(%s) >/dev/null 2>&1\n", attempt)
		}
		out, err := runAs(uid, top, "boxed", root, script+"echo end")
		if err != nil || !strings.HasSuffix(out, "end\n") {
			t.Fatalf("%v %s", err, out)
		}
		err = filepath.WalkDir(root, func(at string, d fs.DirEntry, _ error) error {
			info, err := d.Info()
			if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				t.Errorf("as %d: %s is %s", uid, at, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		for _, attempt := range setIDAttempts {
			testkit.Attack(t, "setid", attempt, uid)
		}
	}
}
