package catalog

import (
	"net/url"
	"strings"

	"ramet/internal/fault"
)

// URL is the base URL under which the vendor is asked: the given one or, if that is
// empty, its usual one. OpenAI's protocols stand below /v1, which people leave out.
func (v Vendor) URL(given string) (string, error) {
	base := given
	if base == "" {
		base = v.Base
	}
	if base == "" {
		return "", fault.New(fault.InvalidConfig, "%s has no usual address", v.Name).WithHint("set %s", v.BaseVariable())
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// It is not repeated: there may be a password in it.
		return "", fault.New(fault.InvalidConfig, "%s is no URL with http or https and a host", v.BaseVariable()).
			WithHint("correct it, or leave it out")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.InvalidConfig, "%s has a query or a fragment", v.BaseVariable()).WithHint("leave it out")
	}
	if strings.Trim(u.Path, "/") == "" && (v.Protocol == Chat || v.Protocol == Responses) {
		if u.Path = "/v1"; v.Below != "" {
			u.Path = v.Below
		}
	}
	return strings.TrimRight(u.String(), "/"), nil
}
