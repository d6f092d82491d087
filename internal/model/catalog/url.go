package catalog

import (
	"net/url"
	"strings"

	"ramet/internal/base/fault"
)

// cloud returns where Google's cloud is asked: its location decides.
func (v Vendor) cloud() string {
	switch at := v.Place(); at {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + at + ".rep.googleapis.com"
	default:
		return "https://" + at + "-aiplatform.googleapis.com"
	}
}

// Place returns the location in Google's cloud.
func (v Vendor) Place() string {
	if v.Location == "" {
		return "global"
	}
	return v.Location
}

// Below returns the path of the models in Google's cloud, of one who made them.
func (v Vendor) Below(publisher string) string {
	return "/v1/projects/" + url.PathEscape(v.Project) + "/locations/" + url.PathEscape(v.Place()) + "/publishers/" + publisher + "/models/"
}

// URL returns the base URL under which the vendor is asked: the given one or, if that is
// empty, its usual one. OpenAI's protocols stand below /v1, which people leave out.
func (v Vendor) URL(given string) (string, error) {
	base := given
	if base == "" {
		base = v.Base
	}
	if base == "" && v.Google {
		base = v.cloud()
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
		if u.Path = "/v1"; v.Under != "" {
			u.Path = v.Under
		}
	}
	return strings.TrimRight(u.String(), "/"), nil
}
