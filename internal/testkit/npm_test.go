package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// What npm says without a network leaves a test out; what is wrong with the packages does not.
func TestTheNetworkIsNoFault(t *testing.T) {
	for said, want := range map[string]bool{
		"npm error code ECONNREFUSED\nnpm error syscall connect":  true,
		"npm error code ENOTFOUND\nnpm error syscall getaddrinfo": true,
		"npm error code E503\nnpm error 503 Service Unavailable":  true,
		"npm error code EINTEGRITY\nnpm error sha512-x":           false,
		"npm error code ERESOLVE":                                 false,
		"npm error code EUSAGE":                                   false,
	} {
		if got := offline.MatchString(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

func TestWithoutARegistryATestIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json":      `{"name":"x","dependencies":{"left-pad":"1.3.0"}}`,
		"package-lock.json": `{"name":"x","lockfileVersion":3,"packages":{}}`,
		".npmrc":            "registry=http://127.0.0.1:9\nfetch-retries=0\ncache=" + filepath.Join(dir, "cache") + "\n",
	} {
		OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	FindNode(t)
	if install(t, dir) == "" {
		t.Error("packages are said to be installed")
	}
}
