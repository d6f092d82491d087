package permit

import (
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/text"
)

var (
	// wrappers start the program that they are given.
	wrappers = sync.OnceValue(func() []string {
		return strings.Fields(`env sudo doas su pkexec runuser gosu su-exec setpriv chroot nsenter unshare nice ionice nohup setsid
		stdbuf timeout time command builtin exec xargs parallel find watch script flock chrt taskset strace ltrace gdb valgrind ssh
		busybox toybox npx pnpx bunx dlx docker podman nerdctl kubectl nix-shell nix firejail bwrap systemd-run at batch tmux
		screen expect unbuffer catchsegv perf entr fd rg caffeinate arch sg uvx pipx sshpass fakeroot proot rlwrap hyperfine chronic
		numactl prlimit setarch linux32 linux64 torsocks proxychains proxychains4 dotenv cross-env doppler aws-vault chamber run0 dzdo`)
	})
	// runners start the program that stands behind one of these words.
	runners = map[string]string{"uv": "run", "poetry": "run", "pdm": "run", "hatch": "run", "rye": "run", "pipenv": "run", "conda": "run", "mamba": "run", "op": "run",
		"bundle": "exec", "npm": "exec x", "pnpm": "exec dlx", "yarn": "exec dlx", "bun": "x", "mise": "exec x", "asdf": "exec", "direnv": "exec"}
	// lines are the options of programs whose values are lines for a shell, or programs.
	lines = sync.OnceValue(func() map[string]string {
		const tar, editor = "--to-command -I --use-compress-program --checkpoint-action -F --info-script --new-volume-script --rsh-command", "-c --cmd"
		return map[string]string{"env": "-S --split-string", "script": "-c --command", "flock": "-c --command", "su": "-c --command", "tar": tar, "gtar": tar, "bsdtar": tar,
			"rsync": "-e --rsh --rsync-path", "vim": editor, "vi": editor, "nvim": editor, "ex": editor, "view": editor, "gvim": editor, "man": "-P --pager", "zip": "-TT --unzip-command",
			"sort": "--compress-program", "split": "--filter", "ssh": "-o", "scp": "-o", "sftp": "-o", "make": "--eval", "gmake": "--eval", "go": "-exec -toolexec -vettool",
			"nc": "-e -c", "ncat": "-e -c --exec --sh-exec", "xterm": "-e", "fzf": "--preview", "rg": "--pre", "fd": "-x -X --exec --exec-batch"}
	})
	interpreters = strings.Fields("python perl ruby node nodejs php lua tclsh rscript")
	// executed are the variables whose values programs run.
	executed = text.Regexp(`^((GIT_|MAN)?PAGER|(GIT_|GIT_SEQUENCE_)?EDITOR|VISUAL|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|(GIT|SSH|SUDO)_ASKPASS|BROWSER|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|RSYNC_RSH|BASH_ENV)$`)
	shells   = sync.OnceValue(func() []string {
		return strings.Fields("sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd")
	})
	deleters = sync.OnceValue(func() []string { return strings.Fields("rm unlink rmdir rimraf del erase rd remove-item grm") })
	enders   = sync.OnceValue(func() []string {
		return strings.Fields("shred srm wipefs dropdb dropuser truncate dd fdisk parted sgdisk blkdiscard")
	})
	powers = sync.OnceValue(func() []string {
		return strings.Fields(`sudo doas su pkexec runuser gosu su-exec setpriv chroot nsenter unshare newgrp sg chown chgrp setcap
		visudo usermod useradd userdel groupadd passwd chpasswd mount umount insmod modprobe rmmod sysctl iptables nft systemctl
		service launchctl reboot shutdown halt poweroff crontab at systemd-run sudoedit sudo-rs run0 dzdo`)
	})
	forcing    = sync.OnceValue(func() []string { return strings.Fields("rm mv cp ln unlink npm shred grm") })
	containers = sync.OnceValue(func() []string { return strings.Fields("docker podman nerdctl") })
)

// outwards are words that let a program change what others see, or what no rule brings
// back; * is the program whatever it is told.
var outwards = map[string]string{
	"npm": "publish unpublish deprecate dist-tag owner access pu pub publ publi publis unp unpu unpub unpubl unpubli unpublis", "pnpm": "publish unpublish", "yarn": "publish", "bun": "publish",
	"lerna": "publish version", "changeset": "publish", "semantic-release": "*", "np": "*", "release-it": "*",
	"cargo": "publish yank owner", "twine": "upload", "poetry": "publish", "uv": "publish", "hatch": "publish", "flit": "publish",
	"pdm": "publish", "gem": "push yank", "dotnet": "push", "nuget": "push delete", "mix": "hex.publish", "stack": "upload",
	"cabal": "upload", "luarocks": "upload", "dart": "publish", "flutter": "publish", "pod": "push", "vsce": "publish",
	"ovsx": "publish", "snapcraft": "upload push release", "goreleaser": "release", "mvn": "deploy release:perform release:prepare",
	"docker": "push prune rm rmi --push", "podman": "push prune rm rmi", "nerdctl": "push prune rm rmi", "buildah": "push", "skopeo": "copy delete",
	"docker-compose": "push rm", "crane": "push copy delete tag append", "oras": "push copy attach", "ko": "publish apply build", "cosign": "sign attach",
	"deno": "publish deploy", "jsr": "publish", "lein": "deploy release", "mkdocs": "gh-deploy", "surge": "*", "ghp-import": "*", "gh-pages": "*", "fastlane": "*",
	"helmfile": "apply sync destroy delete", "kamal": "deploy setup remove", "cap": "deploy", "railway": "up down", "eas": "submit update", "p4": "submit", "sl": "push", "gt": "submit",
	"http": "post put patch delete", "https": "post put patch delete", "xh": "post put patch delete", "xhs": "post put patch delete",
	"helm":    "push install upgrade uninstall delete rollback",
	"kubectl": "apply delete replace patch create scale drain cordon rollout edit set annotate label run",
	"oc":      "apply delete replace patch create", "terraform": "apply destroy import state taint", "tofu": "apply destroy import state taint",
	"pulumi": "up destroy import", "cdk": "deploy destroy", "sam": "deploy delete", "serverless": "deploy remove", "sls": "deploy remove",
	"fly": "deploy destroy", "flyctl": "deploy destroy", "vercel": "*", "netlify": "deploy", "firebase": "deploy", "heroku": "*",
	"wrangler": "deploy publish delete", "gcloud": "deploy delete create", "az": "delete create", "ansible-playbook": "*",
	"hg": "push", "svn": "commit ci import", "jj": "push", "bzr": "push", "darcs": "push",
	"gh":   "create merge delete close edit upload run rerun set remove transfer archive rename comment review reopen lock sync --method -X -f -F --field --raw-field --input",
	"glab": "create merge delete close update upload run set --method -X -f -F --field --raw-field --input", "hub": "push create merge release pull-request --method -X -f -F --field --raw-field --input", "arc": "land diff",
	"aws": "rm cp mv sync rb deploy publish invoke", "gsutil": "rm cp mv rsync", "rclone": "sync copy move delete purge", "s3cmd": "put del sync",
	"scp": "*", "sftp": "*", "ftp": "*", "lftp": "*", "mail": "*", "sendmail": "*", "redis-cli": "flushall flushdb del",
}

// runs are programs that do what a project calls by a name, which may say what it does.
var runs = strings.Fields("make gmake just task rake npm pnpm yarn bun invoke inv nox tox ant mage gradle gradlew mvn mvnw cargo composer poe mise nx turbo sbt")

var outwardName = text.Regexp(`(?i)(^|[:_./-])(push|publish\w*|release\w*|deploy\w*|upload\w*|destroy|uninstall|ship)([:_./-]|$)`)

// outward marks what goes to others.
func (m *marker) outward(name string, rest []arg) {
	words := strings.Fields(outwards[name])
	at := slices.IndexFunc(rest, func(a arg) bool { return slices.ContainsFunc(words, a.says) })
	switch {
	case slices.Contains(words, "*"):
		m.add(publishes + " (" + name + ")")
	case at >= 0:
		m.add(publishes + " (" + name + " " + rest[at].text + ")")
	}
	for _, a := range rest {
		switch {
		case slices.Contains(runs, name) && outwardName().MatchString(a.text) && !strings.HasPrefix(a.text, "-"):
			m.add(publishes + ", by its name (" + name + " " + a.text + ")")
		case name == "aws" && changes().MatchString(a.text):
			m.add(publishes + " (aws " + a.text + ")")
		case name == "rsync" && strings.Contains(a.text, ":"):
			m.add(publishes + " (rsync to or from another machine)")
		case name == "curl" && sends().MatchString(a.text), name == "wget" && (strings.HasPrefix(a.text, "--post") || strings.HasPrefix(a.text, "--method") || strings.HasPrefix(a.text, "--body")):
			m.add(publishes + " (" + name + " " + a.text + ")")
		}
	}
}

// says reports whether it is a word, however it is written, or an option with or without its value.
func (a arg) says(word string) bool {
	switch {
	case !strings.HasPrefix(word, "-"):
		return strings.EqualFold(a.text, word)
	case strings.HasPrefix(word, "--"):
		return a.text == word || strings.HasPrefix(a.text, word+"=")
	}
	return strings.HasPrefix(a.text, word)
}

// changes are the commands of aws that change something.
var changes = text.Regexp(`^(delete|put|terminate|create|update|modify|run|start|stop|reboot|remove|revoke|authorize|attach|detach|send|batch-write|deregister)-`)

// sends are the options with which curl sends more than a question.
var sends = text.Regexp(`^(-[a-zA-Z]*[dFTX].*|--data.*|--form.*|--json|--upload-file|--request|--url-query)$`)

// inline are programs that take code as an argument, with the options that say so.
var inline = map[string]string{"python": "c", "python2": "c", "python3": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "deno": "", "bun": "e",
	"php": "r", "lua": "e", "awk": "", "gawk": "", "mawk": "", "sed": "", "osascript": "e", "psql": "c", "mysql": "e", "mariadb": "e", "sqlite3": "", "mongosh": "", "mongo": ""}

var (
	codeDeletes = text.Regexp(`(?i)rmtree|rm_rf?\b|rmSync|rmdirSync|rm\s*\([^)]*recursive|remove_tree|FileUtils\.rm|\bdrop\s+(table|database|schema|index|view)|\btruncate\s+\w|\bdelete\s+from|dropDatabase|deleteMany`)
	codeRuns    = text.Regexp("(?i)os\\.system|subprocess|popen|child_process|\\bexec\\w*\\b|\\bsystem\\b|\\bspawn|shell_exec|passthru|%x|`|\\beval\\b|do shell script")
)

// code marks code that is given as an argument, by what it names.
func (m *marker) code(name string, rest []arg) {
	known, ok := inline[name]
	if !ok {
		if base := strings.TrimRight(name, "0123456789."); base == "python" || base == "ruby" || base == "php" || base == "lua" {
			known, ok = inline[base]
		}
	}
	given := known == ""
	for i := 0; i < len(known); i++ {
		given = given || hasShortOption(rest, known[i])
	}
	if !ok || !given {
		return
	}
	for _, a := range rest {
		if strings.HasPrefix(a.text, "-") && len(a.text) > 2 && strings.Contains(known, a.text[1:2]) { // -e'code'
			a.text = a.text[2:]
		}
		if codeDeletes().MatchString(a.text) {
			m.add(deletes + " (in the code for " + name + ")")
		}
		if codeRuns().MatchString(a.text) || a.open && len(rest) == 1 {
			m.add(fed + " (the code for " + name + ")")
		}
	}
}
