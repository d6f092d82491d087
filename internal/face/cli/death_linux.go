package cli

import "syscall"

// dieWithUs ends the command when ramet is killed and can pass nothing on.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
