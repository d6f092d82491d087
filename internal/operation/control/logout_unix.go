//go:build unix

package control

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// systemFolders lists the folders in which programs of systemd are looked up, whatever PATH says; lingerFolder lists the
// users whose user manager outlives their sessions. Tests replace both.
var (
	systemFolders = []string{"/usr/bin", "/bin", "/run/current-system/sw/bin"}
	lingerFolder  = "/var/lib/systemd/linger"
)

// CheckLogout asks logind whether it ends the processes of a user at logout. If so, program is the
// systemd-run that starts the kernel in a scope of the user manager. The note, for doctor, says what ends
// the kernel at logout all the same.
func CheckLogout(ctx context.Context, getenv func(string) string) (program, note string) {
	folder := getenv("XDG_RUNTIME_DIR")
	if _, err := os.Stat(filepath.Join(folder, "systemd")); folder == "" || err != nil {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ask := []string{findSystemProgram("busctl"), "get-property", "org.freedesktop.login1", "/org/freedesktop/login1",
		"org.freedesktop.login1.Manager", "KillUserProcesses"}
	cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Probe, Command: sandbox.Command{Args: ask}})
	if err != nil {
		return "", ""
	}
	if kills, err := cmd.Output(); err != nil || strings.TrimSpace(string(kills)) != "b true" {
		return "", ""
	}
	program = findSystemProgram("systemd-run")
	if program == "" {
		return "", "logind ends the kernel at logout. To keep it, set KillUserProcesses=no in logind.conf."
	}
	if !isFile(filepath.Join(lingerFolder, getenv("USER"))) {
		note = "logind ends the kernel when your last session ends. To keep it, run `loginctl enable-linger`."
	}
	return program, note
}

func findSystemProgram(name string) string {
	for _, folder := range systemFolders {
		if path := filepath.Join(folder, name); isFile(path) {
			return path
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
