// Package web is the page of ramet: its files, built from web/ and held in the
// binary, and the handler that serves them.
//
// What it promises:
//
//   - It serves index.html at / and what is under /assets/, and nothing else: no
//     listing, no path out of the folder, no other method than GET and HEAD.
//   - The names of assets hold a hash of their content, so they may be kept for ever;
//     the page itself is asked for anew each time, and has an ETag.
//   - The page runs under Policy: no inline code, nothing from elsewhere, no frame
//     around it. It reads and writes through the API of its own origin alone.
//   - Building ramet needs no Node: dist is kept beside the sources, and a test
//     builds it again and compares (RAMET_WEB_REBUILD=1).
//
// The handler decides nothing about access; whoever mounts it does. The page itself
// holds no secrets.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// Policy is the Content-Security-Policy that the page needs, and all that it needs.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed dist
var dist embed.FS

// Files are the page as it is served, index.html at the top.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// types are the media types of what a build makes. They are ours, for those of the
// machine may be anything.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler serves the page.
func Handler() http.Handler { return handler(Files()) }

type file struct {
	body  []byte
	mime  string
	etag  string
	cache string
}

func handler(from fs.FS) http.Handler {
	files := map[string]file{}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || types[path.Ext(name)] == "" {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		f := file{body, types[path.Ext(name)], `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`, "no-cache"}
		if strings.HasPrefix(name, "assets/") {
			f.cache = "public, max-age=31536000, immutable"
		}
		if name == "index.html" {
			name = ""
		}
		files["/"+name] = f
		return nil
	})
	if err != nil {
		panic(err) // they are in the binary
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		f, ok := files[r.URL.Path]
		switch {
		case !ok:
			http.Error(w, "no such page; ramet's page is at /", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		default:
			h.Set("Content-Type", f.mime)
			h.Set("Cache-Control", f.cache)
			h.Set("ETag", f.etag)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
		}
	})
}
