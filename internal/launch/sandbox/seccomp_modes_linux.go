package sandbox

import "golang.org/x/sys/unix"

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
