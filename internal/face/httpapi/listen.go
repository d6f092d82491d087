package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// DefaultAddr is the default address of ramet's server.
const DefaultAddr = "127.0.0.1:8765"

// Listen opens an address. One that others can reach is refused (USAGE) unless the user
// said so; one that is taken is LOCKED, and says by whom where the system tells.
func Listen(ctx context.Context, addr string, allowRemote bool) (net.Listener, error) {
	name, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "%.80q is not an address", addr).WithHint("write HOST:PORT, such as %s", DefaultAddr)
	}
	if !allowRemote {
		if name, err = loopback(ctx, name); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(name, port))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		by := ""
		if who := holders(port); who != "" {
			by = " by " + who
		}
		return nil, fault.New(fault.Locked, "address %s is in use%s", addr, by).
			WithHint("end that process, or choose another address with --addr")
	case errors.Is(err, os.ErrPermission):
		return nil, fault.New(fault.Denied, "listen on %s: %w", addr, err).WithHint("choose a port above 1023 with --addr")
	}
	return nil, fault.New(fault.Usage, "listen on %s: %w", addr, err)
}

// loopback gives the address of a name that only this machine reaches. What was checked
// is what is listened on, whatever the name means a moment later.
func loopback(ctx context.Context, name string) (string, error) {
	remote := fault.New(fault.Usage, "%.80q can be reached by other machines", name).
		WithHint("use 127.0.0.1, or say --allow-remote if everybody who has the token may drive these agents; the line is not encrypted")
	if name == "" {
		return "", remote // all addresses
	}
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip", name)
	if err != nil || len(ips) == 0 {
		return "", fault.New(fault.Usage, "%.80q is not a host that is known here", name).WithHint("use 127.0.0.1")
	}
	first := ips[0]
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return "", remote
		}
		if ip.To4() != nil {
			first = ip
		}
	}
	return first.String(), nil
}

// holders names the processes that listen on a port, as far as /proc tells: it shows the
// open files of our own processes only.
func holders(port string) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listening(table, port) {
			inodes["socket:["+inode+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return ""
	}
	var who []string
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || !inodes[target] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(file))
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		one := fmt.Sprintf("%s (process %s)", text.Line(strings.TrimSpace(string(name)), 40), filepath.Base(dir))
		if len(who) == 0 || who[len(who)-1] != one {
			who = append(who, one)
		}
	}
	return strings.Join(who, ", ")
}

// listening reads the sockets that listen on a port from a table of /proc/net.
func listening(table, port string) (inodes []string) {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	suffix := fmt.Sprintf(":%04X", number)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		const address, state, inode, listen = 1, 3, 9, "0A"
		fields := strings.Fields(lines.Text())
		if len(fields) > inode && fields[state] == listen && strings.HasSuffix(fields[address], suffix) {
			inodes = append(inodes, fields[inode])
		}
	}
	return inodes
}
