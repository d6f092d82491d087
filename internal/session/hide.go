package session

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"ramet/internal/fault"
)

// Hide takes the password of a database URL and the keys that were read out of an error,
// should any layer have repeated them.
func (s *Session) Hide(err error) error {
	known := []string{password(s.DB), password(s.Getenv("RAMET_DB"))}
	if s.conf != nil {
		known = append(known, password(s.conf.DB))
	}
	if s.keys != nil {
		known = slices.AppendSeq(known, maps.Values(s.keys.Values()))
	}
	for _, secret := range known {
		if secret == "" || !strings.Contains(err.Error(), secret) {
			continue
		}
		f, ok := fault.Of(err)
		if !ok {
			f = fault.New(fault.CodeOf(err), "%v", err)
		}
		c := *f
		c.Message = strings.ReplaceAll(c.Message, secret, "****")
		c.Hint = strings.ReplaceAll(c.Hint, secret, "****")
		c.Err = nil
		err = &c
	}
	return err
}

// password finds the password in a database URL.
func password(db string) string {
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
