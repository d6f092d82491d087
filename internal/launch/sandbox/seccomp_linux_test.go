package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// playCalls tries system calls and says what came of each.
func playCalls() {
	try := func(name string, call uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		n, _, errno := unix.RawSyscall6(call, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno == 0 && int(n) > 2 {
			unix.Close(int(n))
		}
		what := "works"
		if errno != 0 {
			what = unix.ErrnoName(errno)
		}
		fmt.Println(name, what)
	}
	text := func(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }
	var params [256]byte
	at := uintptr(unsafe.Pointer(&params[0]))
	const userSession = ^uintptr(4) // KEY_SPEC_USER_SESSION_KEYRING, -5
	try("keyctl", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, userSession, 1)
	try("add_key", unix.SYS_ADD_KEY, text("user"), text("ramet-test"), text("x"), 1, userSession)
	try("request_key", unix.SYS_REQUEST_KEY, text("user"), text("ramet-test"), 0, 0)
	try("io_uring_setup", unix.SYS_IO_URING_SETUP, 1, at)
	try("bpf", unix.SYS_BPF, 0, at, 128)
	try("perf_event_open", unix.SYS_PERF_EVENT_OPEN, at, 0, ^uintptr(0), ^uintptr(0), 0)
	try("userfaultfd", unix.SYS_USERFAULTFD, 1)
	try("open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, 0, at, 0)
	try("setns", unix.SYS_SETNS, 0, 0)
	try("unshare-user", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	try("unshare-user-and-more", unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS|1<<32)
	try("works:unshare-files", unix.SYS_UNSHARE, unix.CLONE_FS)
	// Threads share memory, and a user namespace cannot: without the filter it is EINVAL, and nothing is started.
	try("clone-user", unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_VM|unix.CLONE_SIGHAND|unix.CLONE_THREAD, 0)
	try("mount", unix.SYS_MOUNT, text("none"), text("/"), text("tmpfs"), 0, 0)
	for _, s := range []struct {
		name                   string
		family, kind, protocol uintptr
	}{
		{"unix", unix.AF_UNIX, unix.SOCK_STREAM, 0}, {"inet", unix.AF_INET, unix.SOCK_STREAM, 0}, {"inet6", unix.AF_INET6, unix.SOCK_DGRAM, 0},
		{"route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, {"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0}, {"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0}, {"uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		{"netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, {"generic", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
	} {
		try(s.name, unix.SYS_SOCKET, s.family, s.kind, s.protocol)
	}
	try("pair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, at)
	try("vsock-pair", unix.SYS_SOCKETPAIR, unix.AF_VSOCK, unix.SOCK_STREAM, 0, at)
	// Half of a 64-bit argument decides: the kernel does not look at the other one.
	if unsafe.Sizeof(at) == 8 {
		try("vsock-high", unix.SYS_SOCKET, unix.AF_VSOCK|1<<32, unix.SOCK_STREAM, 0)
	}
	if runtime.GOARCH == "amd64" {
		try("x32", unix.SYS_GETPID|x32)
	}
	try("openat2", unix.SYS_OPENAT2, 0, text("f"), at, unix.SizeofOpenHow)
	try("clone3", unix.SYS_CLONE3, at, 0)
	// The high half of a mode is not looked at by the kernel, and without O_CREAT none of it is.
	const plain, setuid, setgid, create, temporary = 0o755, 0o4755, 0o2755 | 1<<32, unix.O_CREAT | unix.O_WRONLY, unix.O_TMPFILE | unix.O_WRONLY
	here := ^uintptr(unix.AT_FDCWD*-1) + 1
	try("works:openat-plain", unix.SYS_OPENAT, here, text("f"), create, plain)
	try("works:openat-existing", unix.SYS_OPENAT, here, text("f"), unix.O_RDONLY, setuid)
	os.Remove("d")
	try("works:mkdirat-plain", unix.SYS_MKDIRAT, here, text("d"), plain)
	try("works:fchmodat-plain", unix.SYS_FCHMODAT, here, text("f"), 0o1755)
	f, err := os.Create("f")
	if err != nil {
		fmt.Println("create f:", err)
	}
	for _, mode := range []uintptr{setuid, setgid} {
		try("openat", unix.SYS_OPENAT, here, text("g"), create, mode)
		try("openat-temporary", unix.SYS_OPENAT, here, text("."), temporary, mode)
		try("mkdirat", unix.SYS_MKDIRAT, here, text("e"), mode)
		try("mknodat", unix.SYS_MKNODAT, here, text("n"), mode|unix.S_IFREG, 0)
		try("fchmod", unix.SYS_FCHMOD, f.Fd(), mode)
		try("fchmodat", unix.SYS_FCHMODAT, here, text("f"), mode)
		try("fchmodat2", unix.SYS_FCHMODAT2, here, text("f"), mode, 0)
		if runtime.GOARCH == "amd64" { // elsewhere they do not exist
			try("open", 2, text("h"), create, mode)
			try("creat", 85, text("i"), mode)
			try("mkdir", 83, text("j"), mode)
			try("mknod", 133, text("k"), mode|unix.S_IFREG, 0)
			try("chmod", 90, text("f"), mode)
		}
	}
	// What tools need to look into their own children.
	try("ptrace", unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0)
}

func TestAConfinedCommandLacksSomeSystemCalls(t *testing.T) {
	r := newRoom(t)
	c := play(r.root, "calls")
	c.Confine = r.box()
	_, confined := run(t, c)
	c.Confine.Network = true
	_, online := run(t, c)
	if confined != online {
		t.Errorf("the network makes a difference:\n%s\n%s", confined, online)
	}
	for i, line := range slices.Collect(strings.Lines(confined)) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		want := "EPERM"
		if strings.HasPrefix(name, "works:") {
			want = "works"
		}
		switch name {
		case "unix", "inet", "inet6", "route", "pair", "ptrace":
			want = "works"
		case "vsock", "vsock-pair", "vsock-high", "alg", "packet":
			want = "EAFNOSUPPORT"
		case "uevent", "netfilter", "generic":
			want = "EPROTONOSUPPORT"
		case "x32", "openat2", "clone3":
			want = "ENOSYS"
		}
		if what != want {
			t.Errorf("%s: %s, want %s", name, what, want)
		}
		if want != "works" {
			testkit.Attack(t, "calls", fmt.Sprintf("%s (%d)", name, i))
		}
	}
	if n := strings.Count(confined, "\n"); n < 22+6+14+5 {
		t.Errorf("only %d calls were tried:\n%s", n, confined)
	}
}

func TestTheFilterIsShort(t *testing.T) {
	p := testkit.Must(buildFilter())(t)
	if len(p) > 255 { // jumps reach no further
		t.Errorf("%d instructions", len(p))
	}
}
