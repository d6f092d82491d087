package cli

import (
	"os"
	"os/exec"
	"runtime"
)

// examineInstallation tells which program this is, where it lies, and what its platform
// lacks. None of it is wrong in itself; it is what a report of a bug has to say.
func examineInstallation(out *checkup, v Version) {
	out.add("program", v.String(), nil)
	exe, err := os.Executable()
	if found, lookErr := exec.LookPath("ramet"); err == nil && lookErr == nil && !sameFile(exe, found) {
		exe += "; the shell finds " + found
	}
	out.add("installed", exe, err)
	out.add("platform", v.Platform+": "+platform(runtime.GOOS), nil)
}

// platform describes ramet's features on an operating system (docs/platforms.md).
func platform(goos string) string {
	switch goos {
	case "linux":
		return "everything, as far as the kernel allows it"
	case "darwin":
		return "no box, so every command is asked for; no PID namespace, so a process that leaves its group survives a kill"
	case "windows":
		return "compiled, not tried; no box, so every command is asked for; no groups of processes, so what a command started survives a kill; no states of files"
	default:
		return "not tried; no box, so every command is asked for"
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
