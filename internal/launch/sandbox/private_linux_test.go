package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// inTemporary makes a folder in a temporary folder of the machine.
func inTemporary(t *testing.T, parent string) string {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp(parent, "ramet-test-"))(t)
	t.Cleanup(func() { RemoveAll(dir) })
	return dir
}

// A server of tmux that the user starts later would type into their shell, an agent would sign for the command. Neither
// the network nor another account makes a difference.
func TestTemporaryFoldersAreTheCommandsOwn(t *testing.T) {
	self := testkit.Must(os.Executable())(t) // a command sees this program, which go test puts into /tmp
	ours, _, _ := strings.Cut(strings.TrimPrefix(self, "/tmp/"), "/")
	accounts := []uint32{0}
	if os.Geteuid() == 0 {
		accounts = append(accounts, 61234)
	}
	for _, uid := range accounts {
		for _, network := range []string{"", "network"} {
			top := inTemporary(t, "/var/tmp")
			testkit.OK(t, errors.Join(os.Mkdir(top+"/work", 0o755), os.Mkdir(top+"/temp", 0o755), os.WriteFile(top+"/temp/cache", nil, 0o644)))
			if uid != 0 {
				testkit.OK(t, exec.Command("chown", "-R", fmt.Sprint(uid), top).Run())
			}
			if err := os.Chmod(top, 0o755); err != nil {
				t.Fatal(err)
			}
			tmux := inTemporary(t, "/tmp")
			l := testkit.Must(net.Listen("unix", filepath.Join(tmux, "default")))(t)
			defer l.Close()
			testkit.OK(t, errors.Join(os.Chmod(tmux, 0o777), os.Chmod(filepath.Join(tmux, "default"), 0o777)))
			name := filepath.Base(tmux)
			out, err := runAs(uid, top+"/temp", "boxed", top+"/work", `ls -A /tmp | grep -vx "`+ours+`"; ls -A /run; ls -A `+top+`/temp; echo $TMPDIR "$XDG_RUNTIME_DIR"
test -e /tmp/`+name+` && echo seen
mkdir /tmp/`+name+`; echo mine > /tmp/`+name+`/default; cat /tmp/`+name+`/default
touch /run/x 2>/dev/null && echo wrote; touch `+top+`/temp/x 2>/dev/null && echo wrote
cp /bin/true /tmp/program && /tmp/program && echo runs; mknod /tmp/null c 1 3 2>/dev/null && echo device; exit 0`, network)
			if want := "/tmp \nmine\nruns\n"; err != nil || out != want {
				t.Errorf("as %d %s: %v %q, want %q", uid, network, err, out, want)
			}
			for _, attempt := range []string{"see a socket of tmux", "put another one at its path", "see caches in $TMPDIR", "write to $TMPDIR", "write to /run", "make a device"} {
				testkit.Attack(t, "tmp", attempt+" "+network, uid)
			}
		}
	}
}

// What is bound after the command has started does not come into view either.
func TestALaterSocketInATemporaryFolderIsNotReached(t *testing.T) {
	r := newRoom(t)
	for _, network := range []bool{false, true} {
		out, later := newScreen(), fmt.Sprintf("/tmp/ramet-later-%d-%t", os.Getpid(), network)
		c := sh(r.root, `echo ready; while ! test -e go; do sleep 0.01; done; rm go; ls -d `+later+`; ls -A /tmp /run`)
		c.Output, c.Confine = out, r.box()
		c.Confine.Network = network
		p := testkit.Must(Start(t.Context(), c))(t)
		out.await(t, "ready")
		t.Cleanup(func() { os.RemoveAll(later) })
		testkit.OK(t, os.Mkdir(later, 0o755))
		l := testkit.Must(net.Listen("unix", filepath.Join(later, "s")))(t)
		defer l.Close()
		testkit.OK(t, os.WriteFile(r.root+"/go", nil, 0o600))
		if _, err := p.Wait(); err != nil || !strings.Contains(out.String(), "No such file") || !strings.Contains(out.String(), "/tmp:\n") || strings.Count(out.String(), "later") != 1 {
			t.Errorf("network %t: %v %q", network, err, out)
		}
		testkit.Attack(t, "tmp", fmt.Sprintf("see a socket bound later, network %t", network))
	}
}

// A project below /tmp is at its path, and what is around it is not.
func TestAProjectBelowTmpIsSeen(t *testing.T) {
	testkit.OK(t, Available())
	top := inTemporary(t, "/tmp")
	work, shown := top+"/deep/er/work", top+"/deep/shown"
	testkit.OK(t, errors.Join(os.MkdirAll(work+"/.git", 0o755), os.MkdirAll(shown, 0o755), os.WriteFile(top+"/deep/secret", nil, 0o644),
		os.WriteFile(shown+"/file", []byte("shown\n"), 0o644), os.WriteFile(work+"/.git/config", nil, 0o644)))
	c := sh(work, `cat `+shown+`/file; ls `+top+`/deep; echo x > new; for f in .git/config `+shown+`/file `+shown+`/new `+top+`/other; do (echo x > $f) 2>/dev/null && echo wrote $f; done
mv `+top+` /tmp/elsewhere 2>/dev/null && echo moved; rm -rf `+top+` 2>/dev/null; ls -d `+work)
	c.Confine = &Box{Write: []string{work}, Keep: []string{work + "/.git"}, Show: []string{shown, top + "/missing"}}
	_, out := run(t, c)
	if want := "shown\ner\nshown\n" + work + "\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	for _, name := range []string{work + "/.git/config", shown + "/file", top + "/deep/secret"} {
		testkit.Must(os.Stat(name))(t)
		testkit.Attack(t, "tmp", "change or remove "+strings.TrimPrefix(name, top)+" around a project below /tmp")
	}
}

// The folder of an agent stays from one command to the next, and what one leaves there leads the next nowhere.
func TestATemporaryFolderStays(t *testing.T) {
	r := newRoom(t)
	kept, work := visibleFolder(t), inTemporary(t, "/tmp")
	script := func(text string) string {
		t.Helper()
		c := sh(work, text)
		c.Confine = r.box()
		c.Confine.Write, c.Confine.Temp, c.Confine.Hide = append(c.Confine.Write, work), kept, append(c.Confine.Hide, filepath.Dir(kept)+"/no", kept)
		got, out := run(t, c)
		if got.ExitCode != 0 {
			t.Errorf("%s: %+v %q", text, got, out)
		}
		return out
	}
	script("echo first > /tmp/left; ls -A " + kept)
	if out := script("cat /tmp/left; ls -A " + kept); out != "first\n" {
		t.Errorf("%q", out)
	}
	before, name := r.state(t), filepath.Base(work)
	for i, plant := range []func() error{
		func() error { return os.Symlink(r.outside, filepath.Join(kept, name)) },
		func() error { return os.WriteFile(filepath.Join(kept, name), nil, 0o600) },
	} {
		testkit.OK(t, errors.Join(os.RemoveAll(filepath.Join(kept, name)), plant()))
		script("echo x > " + work + "/file; pwd")
		if after := r.state(t); after != before {
			t.Errorf("a link was followed:\n%s", after)
		}
		if info := testkit.Must(os.Lstat(filepath.Join(kept, name)))(t); !info.IsDir() {
			t.Error(info.Mode())
		}
		testkit.Attack(t, "tmp", fmt.Sprintf("plant %d where the project will be", i))
	}
	if entries := testkit.Must(os.ReadDir(filepath.Join(kept, name)))(t); len(entries) != 0 {
		t.Errorf("more than an empty folder stays: %v", entries)
	}
	c := sh(work, "true")
	c.Confine = &Box{Temp: r.root + "/link"}
	if p, err := Start(t.Context(), c); p != nil || !fault.Is(err, fault.Denied) {
		t.Errorf("%v", err)
	}
	testkit.Attack(t, "tmp", "a link as the agent's folder")
}

// TestTmpItselfIsNotAFolderToWrite tests the refusal of a workspace that the command's own folder would replace.
func TestTmpItselfIsNotAFolderToWrite(t *testing.T) {
	out, err := runAs(0, "", "boxed", "/tmp", "echo work > ramet-written; ls ramet-written")
	if _, gone := os.Lstat("/tmp/ramet-written"); gone == nil || err == nil || !strings.Contains(out, "work in a folder below /tmp") && !strings.Contains(out, "cannot be a workspace") {
		t.Errorf("%q, %v", out, err)
	}
}
