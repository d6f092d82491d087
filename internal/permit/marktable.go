package permit

import (
	"slices"
	"strings"

	"ramet/internal/late"
)

var (
	// wrappers start the program that they are given.
	wrappers = late.Value[[]string]{Make: func() []string {
		return strings.Fields(`env sudo doas su pkexec runuser gosu su-exec setpriv chroot nsenter unshare nice ionice nohup setsid
		stdbuf timeout time command builtin exec xargs parallel find watch script flock chrt taskset strace ltrace gdb valgrind ssh
		busybox toybox npx pnpx bunx dlx docker podman nerdctl kubectl nix-shell nix firejail bwrap systemd-run at batch tmux
		screen expect unbuffer catchsegv perf entr fd rg caffeinate arch sg`)
	}}
	shells = late.Value[[]string]{Make: func() []string {
		return strings.Fields("sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd")
	}}
	deleters = late.Value[[]string]{Make: func() []string { return strings.Fields("rm unlink rmdir rimraf del erase rd remove-item grm") }}
	enders   = late.Value[[]string]{Make: func() []string {
		return strings.Fields("shred srm wipefs dropdb dropuser truncate dd fdisk parted sgdisk blkdiscard")
	}}
	powers = late.Value[[]string]{Make: func() []string {
		return strings.Fields(`sudo doas su pkexec runuser gosu su-exec setpriv chroot nsenter unshare newgrp sg chown chgrp setcap
		visudo usermod useradd userdel groupadd passwd chpasswd mount umount insmod modprobe rmmod sysctl iptables nft systemctl
		service launchctl reboot shutdown halt poweroff crontab at systemd-run`)
	}}
	forcing    = late.Value[[]string]{Make: func() []string { return strings.Fields("rm mv cp ln unlink npm shred grm") }}
	containers = late.Value[[]string]{Make: func() []string { return strings.Fields("docker podman nerdctl") }}
)

// outwards are words that let a program change what others see, or what no rule brings
// back; * is the program whatever it is told.
var outwards = late.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"npm": "publish unpublish deprecate dist-tag owner access", "pnpm": "publish unpublish", "yarn": "publish", "bun": "publish",
		"lerna": "publish version", "changeset": "publish", "semantic-release": "*", "np": "*", "release-it": "*",
		"cargo": "publish yank owner", "twine": "upload", "poetry": "publish", "uv": "publish", "hatch": "publish", "flit": "publish",
		"pdm": "publish", "gem": "push yank", "dotnet": "push", "nuget": "push delete", "mix": "hex.publish", "stack": "upload",
		"cabal": "upload", "luarocks": "upload", "dart": "publish", "flutter": "publish", "pod": "push", "vsce": "publish",
		"ovsx": "publish", "snapcraft": "upload push release", "goreleaser": "release", "mvn": "deploy release:perform release:prepare",
		"docker": "push prune rm rmi --push", "podman": "push prune rm rmi", "nerdctl": "push prune rm rmi", "buildah": "push", "skopeo": "copy delete",
		"helm":    "push install upgrade uninstall delete rollback",
		"kubectl": "apply delete replace patch create scale drain cordon rollout edit set annotate label run",
		"oc":      "apply delete replace patch create", "terraform": "apply destroy import state taint", "tofu": "apply destroy import state taint",
		"pulumi": "up destroy import", "cdk": "deploy destroy", "sam": "deploy delete", "serverless": "deploy remove", "sls": "deploy remove",
		"fly": "deploy destroy", "flyctl": "deploy destroy", "vercel": "*", "netlify": "deploy", "firebase": "deploy", "heroku": "*",
		"wrangler": "deploy publish delete", "gcloud": "deploy delete create", "az": "delete create", "ansible-playbook": "*",
		"hg": "push", "svn": "commit ci import", "jj": "push", "bzr": "push", "darcs": "push",
		"gh":   "create merge delete close edit upload run rerun set remove transfer archive rename comment review reopen lock sync --method -X -f -F --field --raw-field --input",
		"glab": "create merge delete close update upload run set", "hub": "push create merge release pull-request", "arc": "land diff",
		"aws": "rm cp mv sync", "gsutil": "rm cp mv rsync", "rclone": "sync copy move delete purge", "s3cmd": "put del sync",
		"scp": "*", "sftp": "*", "ftp": "*", "lftp": "*", "mail": "*", "sendmail": "*", "redis-cli": "flushall flushdb del",
	}
}}

// runs are programs that do what a project calls by a name, which may say what it does.
var runs = late.Words("make gmake just task rake npm pnpm yarn bun invoke inv nox tox ant mage gradle gradlew mvn mvnw cargo composer poe mise nx turbo sbt")

var outwardName = late.Regexp(`(?i)(^|[:_./-])(push|publish\w*|release\w*|deploy\w*|upload\w*|destroy|uninstall|ship)([:_./-]|$)`)

// outward marks what goes to others.
func (m *marker) outward(name string, rest []arg) {
	words := strings.Fields(outwards.Get()[name])
	at := slices.IndexFunc(rest, func(a arg) bool { return slices.Contains(words, a.text) })
	switch {
	case slices.Contains(words, "*"):
		m.add(publishes + " (" + name + ")")
	case at >= 0:
		m.add(publishes + " (" + name + " " + rest[at].text + ")")
	}
	for _, a := range rest {
		switch {
		case slices.Contains(runs.Get(), name) && outwardName.Get().MatchString(a.text) && !strings.HasPrefix(a.text, "-"):
			m.add(publishes + ", by its name (" + name + " " + a.text + ")")
		case name == "aws" && (strings.HasPrefix(a.text, "delete-") || strings.HasPrefix(a.text, "put-") || strings.HasPrefix(a.text, "terminate-")):
			m.add(publishes + " (aws " + a.text + ")")
		case name == "rsync" && strings.Contains(a.text, ":"):
			m.add(publishes + " (rsync to or from another machine)")
		case name == "curl" && sends.Get().MatchString(a.text), name == "wget" && (strings.HasPrefix(a.text, "--post") || strings.HasPrefix(a.text, "--method") || strings.HasPrefix(a.text, "--body")):
			m.add(publishes + " (" + name + " " + a.text + ")")
		}
	}
}

// sends are the options with which curl sends more than a question.
var sends = late.Regexp(`^(-[a-zA-Z]*[dFTX].*|--data.*|--form.*|--json|--upload-file|--request|--url-query)$`)

// inline are programs that take code as an argument, with the options that say so.
var inline = late.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"python": "c", "python2": "c", "python3": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "deno": "", "bun": "e",
		"php": "r", "lua": "e", "awk": "", "gawk": "", "mawk": "", "sed": "", "osascript": "e", "psql": "c", "mysql": "e", "mariadb": "e", "sqlite3": "", "mongosh": "", "mongo": ""}
}}

var (
	codeDeletes = late.Regexp(`(?i)rmtree|rm_rf?\b|rmSync|rmdirSync|rm\s*\([^)]*recursive|remove_tree|FileUtils\.rm|\bdrop\s+(table|database|schema|index|view)|\btruncate\s+\w|\bdelete\s+from|dropDatabase|deleteMany`)
	codeRuns    = late.Regexp("(?i)os\\.system|subprocess|popen|child_process|\\bexec\\w*\\b|\\bsystem\\b|\\bspawn|shell_exec|passthru|%x|`|\\beval\\b|do shell script")
)

// code marks code that is given as an argument, by what it names.
func (m *marker) code(name string, rest []arg) {
	known, ok := inline.Get()[name]
	if !ok {
		if base := strings.TrimRight(name, "0123456789."); base == "python" || base == "ruby" || base == "php" || base == "lua" {
			known, ok = inline.Get()[base]
		}
	}
	given := known == ""
	for i := 0; i < len(known); i++ {
		given = given || short(rest, known[i])
	}
	if !ok || !given {
		return
	}
	for _, a := range rest {
		if codeDeletes.Get().MatchString(a.text) {
			m.add(deletes + " (in the code for " + name + ")")
		}
		if codeRuns.Get().MatchString(a.text) || a.open && len(rest) == 1 {
			m.add(fed + " (the code for " + name + ")")
		}
	}
}
