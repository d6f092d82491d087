package session

import (
	"net/url"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
)

// Hide takes the password of a database URL and the keys that were read out of an error,
// should any layer have repeated them.
func (s *Session) Hide(err error) error {
	known := []string{findPassword(s.DB), findPassword(s.Getenv("RAMET_DB"))}
	if s.conf != nil {
		known = append(known, findPassword(s.conf.DB))
	}
	if s.keys != nil {
		for _, key := range s.keys.Values() {
			if len(key) >= secret.MinValue { // who needs none writes "none", which is a word
				known = append(known, key)
			}
		}
	}
	for _, hidden := range known {
		if hidden == "" || !strings.Contains(err.Error(), hidden) {
			continue
		}
		f, ok := fault.Of(err)
		if !ok {
			f = fault.New(fault.CodeOf(err), "%v", err)
		}
		c := *f
		c.Message = strings.ReplaceAll(c.Message, hidden, "****")
		c.Hint = strings.ReplaceAll(c.Hint, hidden, "****")
		c.Err = nil
		err = &c
	}
	return err
}

// findPassword finds the password in a database URL.
func findPassword(db string) string {
	u, err := url.Parse(db)
	if err != nil {
		return ""
	}
	if u.User != nil {
		if p, ok := u.User.Password(); ok {
			return p
		}
	}
	return u.Query().Get("password")
}
