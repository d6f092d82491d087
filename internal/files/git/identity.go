package git

import (
	"context"
	"strings"
)

// Identity is in whose name a commit is made.
type Identity struct{ Name, Email string }

// ours is the identity for commits that nothing outside ramet sees.
var ours = Identity{"ramet", "ramet@localhost"}

// UserIdentity returns the user, as git is configured: in the repository, where it is a folder of
// this machine, and in the user's own files. Without both a name and an address it is ramet.
func UserIdentity(ctx context.Context, of Remote) Identity {
	var c Command
	c.User = true
	if of.Local() {
		c.Dir = of.Path()
	}
	read := func(key string) string {
		out, err := c.Run(ctx, "config", "--get", key)
		if err != nil && c.Dir != "" {
			out, err = Command{User: true}.Run(ctx, "config", "--global", "--get", key)
		}
		if err != nil {
			return ""
		}
		return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
			if r < 0x20 || r == '<' || r == '>' {
				return ' '
			}
			return r
		}, out)), " ")
	}
	user := Identity{read("user.name"), read("user.email")}
	if user.Name == "" || user.Email == "" {
		return ours
	}
	return user
}
