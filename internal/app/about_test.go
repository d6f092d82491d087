package app

import (
	"runtime/debug"
	"testing"
)

// What Go wrote into the binary is told, and what the release says goes before it.
func TestWhatABinarySaysOfItself(t *testing.T) {
	v := about()
	v.Revision, v.Date, v.Modified = "", "", false
	fromBuild(&v, &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}})
	if v.Revision != "abc" || v.Date != "2026-01-02T03:04:05Z" || !v.Modified {
		t.Errorf("built: %+v", v)
	}
	defer func() { commit, date, modified = "", "", "" }()
	commit, date, modified = "def", "2027-01-02T03:04:05Z", ""
	if v = about(); v.Revision != "def" || v.Date != "2027-01-02T03:04:05Z" || v.Modified {
		t.Errorf("released: %+v", v)
	}
}
