package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that a confined command does not have: ways around files
// and namespaces (keyrings, handles, programs in the kernel), and parts of the kernel
// that often had holes and that no build needs. Other programs know such answers from
// containers.
var refused = []uint32{
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // keyrings belong to users, not to namespaces
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // opens sockets that no filter sees
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_SETNS,
}

// unknown are system calls that the filter answers as an older kernel would: their arguments
// are in memory, which it cannot read. Programs fall back to openat and clone.
var unknown = []uint32{unix.SYS_OPENAT2, unix.SYS_CLONE3}

// families are the kinds of sockets that it has, besides that part of netlink which asks
// for routes and addresses: without it programs do not find their own loopback. Others,
// such as those between a virtual machine and its host, know no namespaces.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// architectures are those whose calls have the numbers that this binary knows.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64, "ppc64le": unix.AUDIT_ARCH_PPC64LE,
}

// x32 marks a second set of numbers for the same calls on amd64.
const x32 = 0x40000000

// Where the kernel puts what a filter looks at.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetFirst  = 16 // the lower half of the first argument
	offsetSecond = 24
	offsetThird  = 32
	offsetFourth = 40
)

// buildFilter returns the program that the kernel runs before each call of the command.
func buildFilter() (program, error) {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("no filter of system calls is known for %s: %w", runtime.GOARCH, unix.ENOSYS)
	}
	var p program
	p.load(offsetArch)
	p.unless(arch, unix.ENOSYS) // programs for another one, such as of 32 bits
	p.load(offsetNumber)
	if runtime.GOARCH == "amd64" {
		p.from(x32, unix.ENOSYS)
	}
	for _, call := range refused {
		p.on(call, unix.EPERM)
	}
	for _, call := range unknown {
		p.on(call, unix.ENOSYS)
	}
	p.refuseUserNamespaces()
	p.refuseSetID(currentModeCalls)
	p.refuseSetID(olderModeCalls)
	p.sockets()
	p.allow()
	return p, nil
}

type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	least  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	result = unix.BPF_RET | unix.BPF_K
)

func (p *program) load(offset uint32) { p.add(load, offset, 0, 0) }
func (p *program) allow()             { p.add(result, unix.SECCOMP_RET_ALLOW, 0, 0) }
func (p *program) fail(e unix.Errno)  { p.add(result, unix.SECCOMP_RET_ERRNO|uint32(e), 0, 0) }

// on, unless and from refuse what is, is not, or is at least a value.
func (p *program) on(value uint32, e unix.Errno)     { p.add(equal, value, 0, 1); p.fail(e) }
func (p *program) unless(value uint32, e unix.Errno) { p.add(equal, value, 1, 0); p.fail(e) }
func (p *program) from(value uint32, e unix.Errno)   { p.add(least, value, 0, 1); p.fail(e) }

// sockets refuses other families, and other protocols of netlink. It is the last part:
// what is no socket jumps over it.
func (p *program) sockets() {
	var in program // what is done with a call that makes a socket
	in.load(offsetFirst)
	for _, family := range families {
		in.add(equal, family, 0, 1)
		in.allow()
	}
	in.add(equal, unix.AF_NETLINK, 1, 0)
	in.fail(unix.EAFNOSUPPORT)
	in.load(offsetThird)
	in.unless(unix.NETLINK_ROUTE, unix.EPROTONOSUPPORT)
	p.add(equal, unix.SYS_SOCKETPAIR, 1, 0)
	p.add(equal, unix.SYS_SOCKET, 0, uint8(len(in)))
	*p = append(*p, in...)
}

// restrictCalls binds this thread, and what it starts, to the filter forever.
func restrictCalls() error {
	p, err := buildFilter()
	if err != nil {
		return err
	}
	return p.install()
}

// install binds this thread, and what it starts, to a filter forever.
func (p program) install() error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}

// refuseUserNamespaces answers EPERM to calls that would make a user namespace: a process that has one of its own
// reaches parts of the kernel that are meant for root. It expects the number of the call in the accumulator, and
// leaves it there. clone3, whose flags are in memory, is unknown.
func (p *program) refuseUserNamespaces() {
	var check program
	check.load(offsetFirst)
	check.add(anyBit, unix.CLONE_NEWUSER, 0, 1)
	check.fail(unix.EPERM)
	check.allow()
	p.add(equal, unix.SYS_CLONE, 1, 0)
	p.add(equal, unix.SYS_UNSHARE, 0, uint8(len(check)))
	*p = append(*p, check...)
}

// setID are the mode bits that let a program run with its owner's or group's rights: a setuid
// copy of a shell hands the user's account to everyone who can reach it. Only mode arguments
// are checked, so that new directories still inherit setgid from their parent.
const setID = unix.S_ISUID | unix.S_ISGID

// needsMode are the flags of open with which its mode argument counts.
const needsMode = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// modeCalls are system calls that set a file mode.
type modeCalls struct {
	numbers     []uint32
	flags, mode uint32 // offsets of the arguments; flags 0: mode always counts
}

// currentModeCalls exist on every architecture; olderModeCalls on some.
var currentModeCalls = []modeCalls{
	{numbers: []uint32{unix.SYS_FCHMOD}, mode: offsetSecond},
	{numbers: []uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT}, mode: offsetThird},
	{numbers: []uint32{unix.SYS_OPENAT}, flags: offsetThird, mode: offsetFourth},
}

// refuseSetID answers EPERM to calls that would set one of the setID bits. It expects the
// number of the call in the accumulator, and leaves it there.
func (p *program) refuseSetID(calls []modeCalls) {
	for _, c := range calls {
		var check program
		if c.flags != 0 {
			check.load(c.flags)
			check.add(anyBit, needsMode, 1, 0)
			check.allow()
		}
		check.load(c.mode)
		check.add(anyBit, setID, 0, 1)
		check.fail(unix.EPERM)
		check.allow()
		for i, number := range c.numbers {
			toCheck, toNext := len(c.numbers)-1-i, 0
			if toCheck == 0 {
				toNext = len(check)
			}
			p.add(equal, number, uint8(toCheck), uint8(toNext))
		}
		*p = append(*p, check...)
	}
}
