package sandbox

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// kind classifies a name, and so how it is judged.
type kind string

const (
	repository      kind = "repository" // of git: .git, or a folder that git takes for a bare one
	guardAttributes kind = "attributes" // of git
	own             kind = "ramet"      // a folder of ours
	settings        kind = "settings"   // a folder of which some files act
	acting          kind = "acting"     // a file that acts
	lines           kind = "lines"      // a file of settings, some of which act
	hooks           kind = "hooks"      // a folder whose programs git runs
	top             kind = "top"        // a part of the folder itself, which git takes for a repository
	part            kind = "part"       // the same, where git does not yet
	deep            kind = "deep"       // a folder that lies so deep that it is not looked into
)

// names are the ones that are looked after, in small letters.
var names = sync.OnceValue(func() map[string]kind {
	all := map[string]kind{".git": repository, ".gitattributes": guardAttributes, ".ramet": own, ".husky": hooks}
	// Editors and agents that read a folder when they are opened in it.
	for _, n := range strings.Fields(".vscode .zed .idea .fleet .claude .agents .cursor .gemini .codex .opencode .goose .windsurf .devcontainer .kiro .aider .helix .theia") {
		all[n] = settings
	}
	// Shells, direnv, editors, debuggers and interpreters that execute a file of this name
	// where they stand, and what a shell executes in a home.
	for _, n := range strings.Fields(`.envrc .autoenv .mcp.json mcp.json opencode.json opencode.jsonc .devcontainer.json
		.pnpmfile.cjs .pnpmfile.mjs .bazeliskrc .autoenv.zsh .autoenv_leave.zsh .autoenv.leave .rvmrc .lazy.lua .ycm_extra_conf.py .dir-locals-2.el
		.pdbrc .ghci .ocamlinit .iex.exs .erlang .renviron .rdata
		.exrc .vimrc .nvimrc .nvim.lua .lvimrc .dir-locals.el .gdbinit .lldbinit .rprofile .irbrc .pryrc .psqlrc .sqliterc
		.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .login .kshrc .inputrc
		.gitconfig .tmux.conf .screenrc .xinitrc .xprofile .xsession .xsessionrc .pam_environment`) {
		all[n] = acting
	}
	for n := range formats() {
		if !strings.Contains(n, "/") {
			all[n] = lines
		}
	}
	return all
})

// parts are the names of which git makes a repository, in small letters: a HEAD, and either objects and
// refs or a commondir that says where those are. Whatever has the name will do: a link, a file.
var parts = []string{"head", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "info", "modules", "worktrees"}

// takesForRepository reports whether git takes a folder for a repository that has these parts.
func takesForRepository(has func(part string) bool) bool {
	return has("head") && (has("commondir") || has("objects") && has("refs"))
}

// CompletesGuard reports whether a folder with something of this name in it is one that git takes for a
// repository, of which the name is a part.
func CompletesGuard(name string, has func(name string) bool) bool {
	name = strings.ToLower(name)
	return slices.Contains(parts, name) && takesForRepository(func(part string) bool {
		return part == name || has(part) || has(strings.ToUpper(part))
	})
}

// harmlessIn are the files of a settings folder that only describe.
var harmlessIn = map[string]bool{"extensions.json": true, "readme.md": true, ".gitignore": true, ".gitkeep": true}

// ofRamet reports whether a name in a folder of ours does nothing by itself: ramet writes
// such while commands run. Runs are data until they are resumed; the trash is not read by
// what it holds.
func ofRamet(name string) bool {
	return name == "runs" || name == "trash" || name == ".gitignore" || strings.HasPrefix(strings.TrimPrefix(name, "."), "agent-history.")
}

// kindOf returns the kind of a name, as a file system could take it that does not tell
// capital letters.
func kindOf(name string) (kind, bool) {
	if name == "" || name[0] != '.' && name[0]|0x20 != 'm' && name[0]|0x20 != 'o' {
		return "", false
	}
	k, ok := names()[strings.ToLower(name)]
	return k, ok
}

// FirstActing returns the first of some paths, with slashes, that other programs execute or obey
// unasked once all of them are written, by its name or as a part of a folder that git takes for a
// repository; empty if none is. exists reports what already exists.
func FirstActing(paths []string, exists func(path string) bool) string {
	there := map[string]bool{}
	for _, p := range paths {
		for at := p; at != "."; at = path.Dir(at) {
			there[strings.ToLower(at)] = true
		}
	}
	for _, p := range paths {
		if ActsByName(p) {
			return p
		}
		for at := p; at != "."; at = path.Dir(at) {
			dir, name := path.Split(at)
			if CompletesGuard(name, func(other string) bool { return there[strings.ToLower(dir+other)] || exists(dir+other) }) {
				return p
			}
		}
	}
	return ""
}

// ActsByName reports whether a file of this path, with slashes, is one that other programs execute or
// obey unasked, or lies in a folder of such.
func ActsByName(file string) bool {
	parts := strings.Split(file, "/")
	for i, name := range parts {
		k, ok := kindAt(path.Join(parts[:i]...), name, i < len(parts)-1)
		switch {
		case !ok:
		case k == settings && i == len(parts)-2 && harmlessIn[strings.ToLower(parts[i+1])]:
		case k == own && i < len(parts)-1 && ofRamet(parts[i+1]):
		default:
			return true
		}
	}
	return false
}
