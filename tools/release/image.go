package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// descriptor points to a blob of an image layout.
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
	Notes     map[string]string `json:"annotations,omitempty"`
}

// layout is an OCI image layout in the making: blobs by digest.
type layout struct{ files Tree }

func (l *layout) add(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.files = append(l.files, File{Path: "blobs/sha256/" + sum, Mode: 0o644, Data: data})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

func (l *layout) addJSON(mediaType string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	return l.add(mediaType, text), err
}

// image makes an OCI image layout with ramet alone, in one layer; nobody's daemon is asked.
func (r *Release) image(made, platform string, tree Tree) error {
	goos, arch, _ := strings.Cut(platform, "/")
	program := Tree{{Path: "usr/bin/ramet", Mode: 0o755, Data: tree.find("bin/ramet")}}
	for _, f := range tree {
		if strings.HasPrefix(f.Path, docs) {
			program = append(program, File{Path: "usr/" + f.Path, Mode: f.Mode, Data: f.Data})
		}
	}
	program.sort()
	var plain, layer bytes.Buffer
	if err := program.tar(&plain, "", r.Stamp.Date); err != nil {
		return err
	}
	if err := zipped(&layer, func(w io.Writer) error { _, err := w.Write(plain.Bytes()); return err }); err != nil {
		return err
	}
	const vendor = "application/vnd.oci.image."
	var l layout
	layerAt := l.add(vendor+"layer.v1.tar+gzip", layer.Bytes())
	config, err := l.addJSON(vendor+"config.v1+json", map[string]any{
		"created": r.Stamp.Date.Format(time.RFC3339), "architecture": arch, "os": goos,
		"config": map[string]any{"Entrypoint": []string{"/usr/bin/ramet"}, "Env": []string{"PATH=/usr/bin:/bin", "RAMET_HOME=/data"},
			"User": "65532:65532", "WorkingDir": "/work", "Labels": map[string]string{"org.opencontainers.image.version": r.Version,
				"org.opencontainers.image.revision": r.Stamp.Commit, "org.opencontainers.image.licenses": "MIT"}},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))}},
		"history": []map[string]any{{"created": r.Stamp.Date.Format(time.RFC3339), "created_by": "ramet/tools/release"}},
	})
	if err != nil {
		return err
	}
	manifest, err := l.addJSON(vendor+"manifest.v1+json", map[string]any{"schemaVersion": 2,
		"mediaType": vendor + "manifest.v1+json", "config": config, "layers": []descriptor{layerAt}})
	if err != nil {
		return err
	}
	manifest.Platform = map[string]string{"os": goos, "architecture": arch}
	manifest.Notes = map[string]string{"org.opencontainers.image.ref.name": r.Version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": vendor + "index.v1+json", "manifests": []descriptor{manifest}})
	if err != nil {
		return err
	}
	l.files = append(l.files, File{Path: "index.json", Mode: 0o644, Data: index},
		File{Path: "oci-layout", Mode: 0o644, Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	l.files.sort()
	return create(filepath.Join(made, r.name(platform)+".oci.tar"), func(w io.Writer) error { return l.files.tar(w, "", r.Stamp.Date) })
}
