package git

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Remote is another repository: a folder, or a URL.
type Remote struct {
	at     string // as git gets it
	scheme string // file, https, http, ssh, git
	host   string // with the port, if it has one; empty for a folder
	path   string // on the host, without the slash before it
	user   string // with token: who pushes
	token  string
}

// scp is the short form of an ssh address. One letter is a drive of Windows.
var scp = text.Regexp(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]{2,}|\[[0-9A-Fa-f:.]+\]):([^:].*)$`)

// Locate returns where a repository is. A folder that exists is a folder, whatever it is
// called. USAGE: an address that is not understood, or that git must not be given.
func Locate(address string) (Remote, error) {
	// Never the address itself in a refusal before it is known to hold no password.
	refuse := func(why, hint string) (Remote, error) {
		return Remote{}, fault.New(fault.Usage, "the repository's address %s", why).WithHint("%s", hint)
	}
	const forms = "name a folder, https://host/owner/name.git or git@host:owner/name.git"
	switch {
	case address == "":
		return refuse("is empty", forms)
	case strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse("holds a control character", forms)
	case strings.HasPrefix(address, "-"):
		return refuse("begins with a dash", "write ./ before the name of a folder")
	}
	if _, err := os.Stat(address); err == nil {
		return folder(address)
	}
	before, after, isURL := strings.Cut(address, "://")
	if strings.Contains(before, "::") {
		return refuse("names a program that git would run", forms)
	}
	if isURL {
		return locateURL(address, strings.ToLower(before), after, refuse)
	}
	if m := scp().FindStringSubmatch(address); m != nil && filepath.VolumeName(address) == "" && !strings.Contains(m[2], "/") {
		if strings.HasPrefix(m[1], "-") || strings.HasPrefix(m[2], "-") || strings.HasPrefix(m[3], "-") {
			return refuse("has a part that begins with a dash", forms)
		}
		path := strings.Trim(m[3], "/")
		if path == "" {
			return refuse("names no repository on its host", forms)
		}
		return Remote{at: address, scheme: "ssh", host: strings.ToLower(m[2]), path: path}, nil
	}
	return folder(address)
}

func locateURL(address, scheme, rest string, refuse func(why, hint string) (Remote, error)) (Remote, error) {
	if scheme == "file" {
		if !strings.HasPrefix(rest, "/") {
			return refuse("names a host for files", "name the folder itself")
		}
		return folder(filepath.FromSlash(rest))
	}
	switch scheme {
	case "https", "http", "ssh", "git":
	default:
		return refuse("has a protocol that is not allowed: "+text.Line(scheme, 20), "https, ssh, git and folders are")
	}
	u, err := url.Parse(address)
	if err != nil { // which repeats the address
		return refuse("is not a URL", "look for characters that do not belong there")
	}
	if _, has := u.User.Password(); has || scheme != "ssh" && tokenLike(u.User.Username()) {
		return refuse("holds a password", "leave it out; a credential helper of git, GITHUB_TOKEN or GITEA_TOKEN can have it")
	}
	if u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-") {
		return refuse("has no host", "https://host/owner/name.git is complete")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return refuse("has more than a path after its host", "leave out what follows ? or #")
	}
	path := strings.Trim(u.Path, "/")
	if path == "" || strings.HasPrefix(path, "-") {
		return refuse("names no repository on its host", "https://host/owner/name.git is complete")
	}
	return Remote{at: address, scheme: scheme, host: strings.ToLower(u.Host), path: path}, nil
}

// tokenLike reports whether the user of a URL is more than a name.
func tokenLike(user string) bool {
	for _, start := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"} {
		if strings.HasPrefix(user, start) {
			return true
		}
	}
	return len(user) >= 40
}

func folder(path string) (Remote, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return Remote{}, fault.New(fault.StorageIO, "find %s: %w", path, err)
	}
	return Remote{at: at, scheme: "file", path: filepath.ToSlash(at)}, nil
}

// String returns the address. It holds no password.
func (r Remote) String() string { return r.at }

// GoString hides the token as well.
func (r Remote) GoString() string { return r.at }

// Local reports whether it is a folder of this machine.
func (r Remote) Local() bool { return r.scheme == "file" }

// Host returns where it is, with a port if the address has one; empty for a folder.
func (r Remote) Host() string { return r.host }

// Scheme is file, https, http, ssh or git.
func (r Remote) Scheme() string { return r.scheme }

// Path returns the repository on its host: owner/name, with .git if the address has it.
func (r Remote) Path() string { return r.path }

// WithToken lets git sign in with a token. It is used over https only, and over http on
// this machine, and never for another host.
func (r Remote) WithToken(user, token string) Remote {
	name := r.host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	if r.scheme == "https" || r.scheme == "http" && (name == "localhost" || ip != nil && ip.IsLoopback()) {
		r.user, r.token = user, token
	}
	return r
}

// helper hands the token to git. It is a credential helper, and not askpass, so that git
// asks it for this host alone, and never gives the token to another helper to keep.
const helper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$RAMET_GIT_USER" "$RAMET_GIT_TOKEN"; }; f`

// command is git that may reach the remote, and settings for its arguments.
func (r Remote) command(ctx context.Context, c Command) (Command, []string) {
	c.User = true
	set := []string{"-c", "protocol.version=2", "-c", "http.lowSpeedLimit=100", "-c", "http.lowSpeedTime=60",
		"-c", "push.gpgSign=false", "-c", "push.followTags=false", "-c", "push.recurseSubmodules=no", "-c", "fetch.recurseSubmodules=false",
		"-c", "fetch.fsckObjects=false", "-c", "fetch.writeCommitGraph=false", "-c", "fetch.showForcedUpdates=false"}
	switch r.scheme {
	case "file":
		c.Allow = []string{"file"}
		return c, set
	case "http":
		c.Allow = []string{"http", "https"}
	default:
		c.Allow = []string{"https", "ssh", "git"} // the user's configuration may prefer another one
	}
	if r.token != "" {
		set = append(set, "-c", "credential.helper=", "-c", "credential."+r.scheme+"://"+r.host+".helper="+helper)
		c.Env = append(c.Env, "RAMET_GIT_USER="+r.user, "RAMET_GIT_TOKEN="+r.token)
		c.Hide = append(c.Hide, r.token)
	}
	if os.Getenv("GIT_SSH_COMMAND") == "" && os.Getenv("GIT_SSH") == "" {
		own, _ := Command{Dir: c.Dir, User: true}.Run(ctx, "config", "--get", "core.sshCommand")
		if strings.TrimSpace(own) == "" { // it must not ask on the terminal, nor wait forever
			c.Env = append(c.Env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15")
		}
	}
	return c, set
}

// run runs git, which may reach the remote.
func (r Remote) run(ctx context.Context, c Command, args ...string) (string, error) {
	c, set := r.command(ctx, c)
	out, err := c.Run(ctx, append(set, args...)...)
	return out, r.explain(err)
}

// explain makes what git says about a remote clearer.
func (r Remote) explain(err error) error {
	because := func(code fault.Code, what, hint string) error {
		f := fault.New(code, "%s %s: %w", r, what, err)
		return f.WithHint("%s", hint)
	}
	switch {
	case err == nil:
		return nil
	case !fault.Is(err, fault.Failed):
		return err
	case said(err, "could not read Username", "could not read Password", "Authentication failed", "Permission denied", "returned error: 401", "returned error: 403", "Host key verification failed"):
		return because(fault.Denied, "does not let us in", "it does not exist, or needs credentials: a helper of git, an ssh key, GITHUB_TOKEN or GITEA_TOKEN")
	case said(err, "epository not found", "not found", "does not exist", "does not appear to be a git repository"):
		return because(fault.NotFound, "is not a repository", "look at its address")
	case said(err, "not allowed"):
		return because(fault.Denied, "is reached by a protocol that is not allowed", "https, ssh, git and folders are")
	}
	return because(fault.Failed, "is not reached", "look at the network and at the address, then repeat")
}

// nowhere names where git runs that needs no repository. Others can write the temporary folder, and
// git would look for a repository there.
const nowhere = string(filepath.Separator)

// refs returns what a remote answers about some references.
func (r Remote) refs(ctx context.Context, patterns ...string) (map[string]string, string, error) {
	if err := r.exists(); err != nil {
		return nil, "", err
	}
	out, err := r.run(ctx, Command{Dir: nowhere}, append([]string{"ls-remote", "--symref", "--quiet", "--", r.at}, patterns...)...)
	if err != nil {
		return nil, "", err
	}
	refs, branch := map[string]string{}, ""
	for line := range strings.Lines(out) {
		value, ref, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if to, isLink := strings.CutPrefix(value, "ref: "); ok && isLink {
			branch = strings.TrimPrefix(to, "refs/heads/")
		} else if ok && CheckCommit(value) == nil {
			refs[ref] = value
		}
	}
	return refs, branch, nil
}

// exists refuses a folder that is not there or is no repository.
func (r Remote) exists() error {
	if !r.Local() {
		return nil
	}
	info, err := os.Stat(r.at)
	if err != nil {
		return fault.New(fault.NotFound, "there is no repository %s: %w", r.at, err).WithHint("name a folder that exists, or a URL")
	}
	if !info.IsDir() {
		return fault.New(fault.NotFound, "%s is not a git repository but a file", r.at).WithHint("name its folder")
	}
	return nil
}

// RemoteHead returns the commit of the default branch of a remote, and the name of that
// branch, which is empty where the remote has a commit checked out without a branch.
// CONFLICT: it has none.
func RemoteHead(ctx context.Context, r Remote) (commit, branch string, err error) {
	refs, branch, err := r.refs(ctx, "HEAD")
	if err != nil {
		return "", "", err
	}
	if commit = refs["HEAD"]; commit != "" {
		return commit, branch, nil
	}
	if refs, _, err = r.refs(ctx); err != nil {
		return "", "", err
	}
	if len(refs) > 0 {
		return "", "", fault.New(fault.Conflict, "the default branch of %s is empty", r).WithHint("check out a branch with commits there")
	}
	return "", "", fault.New(fault.Conflict, "the repository %s is empty", r).WithHint("commit something first")
}

// RemoteBranch returns the commit that a branch of a remote has; ok is false where there is
// no such branch.
func RemoteBranch(ctx context.Context, r Remote, branch string) (commit string, ok bool, err error) {
	if err := checkBranch(ctx, branch); err != nil {
		return "", false, err
	}
	refs, _, err := r.refs(ctx, "refs/heads/"+branch)
	commit, ok = refs["refs/heads/"+branch]
	return commit, ok, err
}

// checkBranch refuses what cannot be the name of a branch.
func checkBranch(ctx context.Context, branch string) error {
	_, err := Run(ctx, nowhere, "check-ref-format", "refs/heads/"+branch)
	if failure(err) {
		return err
	}
	if err != nil || strings.HasPrefix(branch, "-") || strings.ContainsAny(branch, "*?[") {
		return fault.New(fault.InvalidName, "%.80q is not a name for a branch", branch).WithHint("letters, digits, - _ . and / between them")
	}
	return nil
}

// Push gives a branch of a remote a commit. The branch must have the commit was, or not
// exist where that is empty: CONFLICT if not, unless it has the new one already. After an
// answer that was lost the remote is asked; UNKNOWN_OUTCOME if it does not tell.
// FORGE_REFUSED: the remote does not want it.
func Push(ctx context.Context, t Tree, to Remote, branch, commit, was string) error {
	if err := checkBranch(ctx, branch); err != nil {
		return err
	}
	if err := CheckCommit(commit); err != nil {
		return err
	}
	if err := to.exists(); err != nil {
		return err
	}
	c, err := t.courier(ctx, commit)
	if err != nil {
		return err
	}
	defer os.RemoveAll(c.Dir)
	ref := "refs/heads/" + branch
	args := []string{"push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--force-with-lease=" + ref + ":" + was}
	if to.Local() {
		// Hooks of the other side would be ours to run.
		args = append(args, "--receive-pack=git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true receive-pack")
	}
	_, err = to.run(ctx, c, append(args, "--", to.at, commit+":"+ref)...)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && fault.Is(err, fault.Cancelled) {
		return err
	}
	now, _, lookup := RemoteBranch(ctx, to, branch)
	switch {
	case lookup == nil && now == commit:
		return nil // it arrived, whatever was said about it
	case lookup != nil && fault.Is(err, fault.Denied):
		return err // repeating changes nothing for a user who is not let in
	case lookup != nil:
		return fault.New(fault.UnknownOutcome, "whether %s has the branch %s is not known: %w", to, branch, err).
			WithHint("look at it there, then resume with --redo")
	case now != was:
		return fault.New(fault.Conflict, "the branch %s of %s has another commit, %.12s", branch, to, now).
			WithHint("choose another name for the branch, or remove that one")
	case said(err, "[rejected]", "[remote rejected]", "hook declined", "protected branch", "! "):
		return fault.New(fault.ForgeRefused, "%s does not take the branch %s: %s", to, branch, reason(err)).
			WithHint("it may be protected, or a rule there forbids it: choose another branch")
	}
	return err
}

// courier returns git in an empty repository that sees the tree's objects and nothing else of
// it: what the tree's configuration says about ssh, helpers and addresses must not
// decide where the user's credentials go. The caller removes its folder.
func (t Tree) courier(ctx context.Context, commit string) (Command, error) {
	from, err := filepath.Abs(filepath.Join(t.git(), "objects"))
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "find %s: %w", t.git(), err)
	}
	dir, err := os.MkdirTemp("", "ramet-push-")
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "push: make a temporary folder: %w", err)
	}
	if _, err := Run(ctx, dir, "init", "--quiet", "--bare", "--template=", "--object-format="+format(commit), "."); err != nil {
		os.RemoveAll(dir)
		return Command{}, err
	}
	return Command{Dir: dir, Env: []string{"GIT_DIR=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(from) + `"`}}, nil
}

// reason returns what git says about the reference.
func reason(err error) string {
	f, _ := fault.Of(err)
	for line := range strings.Lines(f.Err.Error()) {
		if strings.Contains(line, "rejected]") {
			return strings.TrimSpace(line)
		}
	}
	return f.Message
}
