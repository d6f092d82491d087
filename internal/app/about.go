package app

import (
	"runtime"
	"runtime/debug"

	"ramet/internal/face/cli"
)

// What a release says of itself. They are variables because the release sets them when it
// links (tools/release); a build without it takes commit, date and modified from what Go
// wrote into the binary.
var (
	version  = "0.1.0-dev" // what this source is, or will be once it is released
	commit   = ""
	date     = "" // the commit's, RFC 3339
	modified = "" // "true" where the source differed from the commit
)

func about() cli.Version {
	v := cli.Version{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Revision: commit, Date: date, Modified: modified == "true"}
	if commit != "" {
		return v
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		fromBuild(&v, info)
	}
	return v
}

// fromBuild takes what Go knows of the source, which is nothing outside a checkout.
func fromBuild(v *cli.Version, info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
}
