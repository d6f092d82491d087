package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// playPoor is a user whom the kernel allows no namespaces, as on systems that switch
// them off: it says what it gets.
func playPoor() {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println("forbid namespaces:", err)
		os.Exit(1)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil { // of this thread, from which we fork
		fmt.Println("drop privileges:", err)
		os.Exit(1)
	}
	err := Available()
	fmt.Printf("confined: %t %v\n", fault.Is(err, fault.Denied), err)
	mark := "TREE=" + newMark()
	out := newScreen()
	cmd := sh("/", stubborn, mark)
	cmd.Output = out
	p, err := Start(context.Background(), cmd)
	if err != nil {
		fmt.Println("start:", err)
		os.Exit(1)
	}
	for !strings.Contains(out.String(), "ready") {
		<-out.more
	}
	for alive(mark) <= 4 { // the test that started this process ends it otherwise
		runtime.Gosched()
	}
	stood := alive(mark) > 4
	p.Kill()
	r, err := p.Wait()
	fmt.Printf("contained by %+v: %t %+v %v %d\n", p.way, stood, r, err, alive(mark))
}

func TestWithoutUserNamespaces(t *testing.T) {
	id := os.Geteuid()
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE}}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65534, HostID: id, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 65534, HostID: os.Getegid(), Size: 1}}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=poor")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	want := "contained by {Spaces:false User:false}: true {ExitCode:137 Signal:killed Killed:true Notes:} <nil> 0\n"
	if err != nil || !strings.HasPrefix(string(out), "confined: true commands cannot be confined") || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}

func BenchmarkStart(b *testing.B) {
	for name, box := range map[string]*Box{"contained": nil, "confined": {Write: []string{b.TempDir()}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := Command{Args: []string{"/bin/true"}, Dir: "/", Confine: box}
				p, err := Start(b.Context(), cmd)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
